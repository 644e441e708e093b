// SPDX-License-Identifier: BSD-3-Clause
// What a table says of a layout and a length that need not be ones that were measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "plan_cases.hpp"
#include "table_cases.hpp"

namespace hcoll::test {
namespace {

TEST(TableLookUp, ChangesWhereCostsCross) {
    Table table;
    // Latency 1 and 10 us, 1 GB/s and 4 GB/s: they cross at 12,000 bytes; measured at powers of 16 only.
    for (std::uint64_t bytes = 16; bytes <= 16 << 20; bytes *= 16) {
        const auto size = static_cast<double>(bytes);
        std::vector<TableCandidate> all = {
            {"binomial", 1e-6 + size / 1e9}, {"chain", 1e-5 + size / 4e9}, {"vendor", 1}};
        if (all[1].seconds < all[0].seconds) std::swap(all[0], all[1]);
        table.entries.push_back(point(4, 8, bytes, all));
    }
    const auto rows = look_up(table, bcast, 4, 8, anything);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].choice, "binomial");
    EXPECT_EQ(rows[1].choice, "chain");
    EXPECT_EQ(rows[1].largest_bytes, no_bound);
    // Between 4 KB and 64 KB, where straight lines in log space cross: within a third of where the costs do.
    EXPECT_NEAR(std::log2(static_cast<double>(rows[0].largest_bytes)), std::log2(12000.0), 0.6);
}

// A crossing at a power of two is there, whatever the last bit of a logarithm.
TEST(TableLookUp, HasCrossingsAtTheNearestByte) {
    for (int from = 0; from < 30; ++from)
        for (int quarter = 1; quarter < 5; ++quarter) {
            // Straight lines over the logarithm, one three times as steep as the other.
            const double ratio = 1.1 + 0.1 * from;
            Table table;
            table.entries = {point(4, 8, std::uint64_t{1} << from, {{"binomial", 1}, {"chain", ratio}}),
                             point(4, 8, std::uint64_t{1} << (from + 4 * quarter),
                                   {{"chain", 1}, {"binomial", std::pow(ratio, 3)}})};
            const auto rows = look_up(table, bcast, 4, 8, anything);
            const auto binomial =
                std::find_if(rows.begin(), rows.end(), [](const TableRow& row) { return row.choice == "binomial"; });
            ASSERT_NE(binomial, rows.end());
            EXPECT_EQ(binomial->largest_bytes, std::uint64_t{1} << (from + quarter));
        }
}

TEST(TableLookUp, TakesTheMiddleWhereTimesAreNotKnown) {
    Table table;
    table.entries = {point(4, 8, 64, {{"binomial", 0}}), point(4, 8, 1 << 20, {{"chain", 0}})};
    const auto rows = look_up(table, bcast, 4, 8, anything);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_NEAR(static_cast<double>(rows[0].largest_bytes), 8192, 2);
}

TEST(TableLookUp, InterpolatesCostsOverNodesAndRanks) {
    // Seconds grow with nodes for one, and with the logarithm for the other: they cross near 8 nodes.
    const auto entry = [](int nodes, int ranks) {
        const double flat = nodes;
        const double tree = 3 * std::log2(nodes) * (ranks == 2 ? 1 : 1.1);
        std::vector<TableCandidate> all = {{"flat", flat}, {"binomial", tree}};
        if (tree < flat) std::swap(all[0], all[1]);
        return point(nodes, ranks, 8, all);
    };
    Table table;
    for (const int nodes : {2, 16})
        for (const int ranks : {2, 8}) table.entries.push_back(entry(nodes, ranks));
    EXPECT_EQ(look_up(table, bcast, 2, 4, anything).front().choice, "flat");
    EXPECT_EQ(look_up(table, bcast, 3, 4, anything).front().choice, "flat");
    EXPECT_EQ(look_up(table, bcast, 12, 4, anything).front().choice, "binomial");
    EXPECT_EQ(look_up(table, bcast, 16, 8, anything).front().choice, "binomial");
    EXPECT_EQ(look_up(table, bcast, 16, 8, anything).front().why, "table  (16 x 8)");
}

TEST(TableLookUp, GoesNoFurtherThanAFactorOfTwo) {
    Table table;
    table.entries = {point(4, 8, 8, {{"chain", 1}}), point(8, 8, 8, {{"chain", 1}})};
    EXPECT_FALSE(look_up(table, bcast, 2, 8, anything).empty());
    EXPECT_FALSE(look_up(table, bcast, 16, 16, anything).empty());
    EXPECT_FALSE(look_up(table, bcast, 6, 4, anything).empty());
    EXPECT_TRUE(look_up(table, bcast, 17, 8, anything).empty());
    EXPECT_TRUE(look_up(table, bcast, 4, 17, anything).empty());
    EXPECT_TRUE(look_up(table, bcast, 4, 3, anything).empty());
    EXPECT_TRUE(look_up(table, bcast, 1, 8, anything).empty()) << "one node is another family";
    EXPECT_TRUE(look_up(table, {Collective::reduce, false}, 4, 8, anything).empty());
    EXPECT_TRUE(look_up(table, {Collective::bcast, true}, 4, 8, anything).empty());
    table.entries = {point(1, 8, 8, {{"chain", 1}})};
    EXPECT_TRUE(look_up(table, bcast, 2, 8, anything).empty());
}

// A tuner that was interrupted has measured short messages only at its last layout.
TEST(TableLookUp, SaysNothingOfMuchLongerMessagesThanALayoutWasMeasuredWith) {
    Table table;
    for (std::uint64_t bytes = 8; bytes <= 16 << 20; bytes *= 2)
        table.entries.push_back(point(4, 8, bytes, {{bytes < 65536 ? "binomial" : "chain", 1}}));
    table.entries.push_back(point(8, 8, 8, {{"flat", 1}}));
    table.entries.push_back(point(8, 8, 16, {{"flat", 1}}));
    auto rows = look_up(table, bcast, 8, 8, anything);
    EXPECT_EQ(chosen_at(rows, 8), "flat");
    EXPECT_EQ(chosen_at(rows, 32), "flat");
    EXPECT_EQ(chosen_at(rows, 33), "binomial") << "as the layout of half as many nodes says";
    EXPECT_EQ(chosen_at(rows, 16 << 20), "chain");
    EXPECT_EQ(rows.back().largest_bytes, no_bound);
    // Nobody near goes further.
    rows = look_up(table, bcast, 16, 8, anything);
    EXPECT_EQ(chosen_at(rows, 32), "flat");
    EXPECT_EQ(chosen_at(rows, 33), "");
    EXPECT_EQ(chosen_at(rows, no_bound), "");
    // What is long is like what is longer.
    table.entries.push_back(point(8, 8, 1 << 20, {{"flat", 1}}));
    EXPECT_EQ(chosen_at(look_up(table, bcast, 8, 8, anything), no_bound), "flat");
}

// What a program has learned of the one length that it calls.
TEST(TableLookUp, SaysNothingOfLengthsThatAreFarFromThoseThatWereMeasured) {
    Table table;
    table.entries = {point(1, 4, 4096, {{"chain", 1}})};
    const auto rows = look_up(table, bcast, 1, 4, anything);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(chosen_at(rows, 0), "");
    EXPECT_EQ(chosen_at(rows, 2047), "");
    EXPECT_EQ(chosen_at(rows, 2048), "chain");
    EXPECT_EQ(chosen_at(rows, 8192), "chain");
    EXPECT_EQ(chosen_at(rows, 8193), "");
    EXPECT_EQ(chosen_at(rows, no_bound), "");
    // What is short is like what is shorter, and what is long like what is longer.
    for (const std::uint64_t bytes : {64, 128}) {
        table.entries = {point(1, 4, bytes, {{"chain", 1}})};
        EXPECT_EQ(chosen_at(look_up(table, bcast, 1, 4, anything), 0), "chain") << bytes;
    }
    for (const std::uint64_t bytes : {std::uint64_t{512} << 10, std::uint64_t{1} << 20, std::uint64_t{1} << 63}) {
        table.entries = {point(1, 4, bytes, {{"chain", 1}})};
        EXPECT_EQ(chosen_at(look_up(table, bcast, 1, 4, anything), no_bound), "chain") << bytes;
    }
    // A Barrier has no length that could be far away.
    table.entries = {point(1, 4, 0, {{"dissemination", 1}})};
    table.entries.front().call.collective = Collective::barrier;
    EXPECT_EQ(look_up(table, {Collective::barrier, false}, 1, 4, anything).size(), 1U);
}

TEST(TableLookUp, TakesWhatALayoutSaysNothingOfFromThoseThatDo) {
    Table table;
    table.entries = {point(8, 8, 1 << 20, {{"flat", 1}})};
    for (std::uint64_t bytes = 8; bytes <= 16 << 20; bytes *= 2)
        table.entries.push_back(point(4, 8, bytes, {{bytes < 65536 ? "binomial" : "chain", 1}}));
    auto rows = look_up(table, bcast, 8, 8, anything);
    EXPECT_EQ(chosen_at(rows, 8), "binomial");
    EXPECT_EQ(chosen_at(rows, (512 << 10) - 1), "chain");
    EXPECT_EQ(chosen_at(rows, 512 << 10), "flat");
    EXPECT_EQ(chosen_at(rows, no_bound), "flat");
    // Between a layout of short messages and one of long ones nobody says anything of those in the middle.
    table.entries = {point(4, 8, 8, {{"binomial", 1}}), point(8, 8, 1 << 20, {{"flat", 1}})};
    rows = look_up(table, bcast, 6, 8, anything);
    EXPECT_EQ(chosen_at(rows, 16), "binomial");
    EXPECT_EQ(chosen_at(rows, 17), "");
    EXPECT_EQ(chosen_at(rows, (512 << 10) - 1), "");
    EXPECT_EQ(chosen_at(rows, 512 << 10), "flat");
}

TEST(TableLookUp, PassesOverNodesThatWereMeasuredWithOtherNumbersOfRanks) {
    Table table;
    table.entries = {point(4, 48, 8, {{"chain", 1}}), point(8, 1, 8, {{"flat", 1}}), point(8, 2, 8, {{"flat", 1}})};
    EXPECT_EQ(chosen_at(look_up(table, bcast, 8, 48, anything), 8), "chain");
    EXPECT_EQ(chosen_at(look_up(table, bcast, 8, 2, anything), 8), "flat");
}

// Tables of before name single copies by the length that they were measured at.
TEST(TableLookUp, CopiesOnceBetweenTwoLengthsThatWereMeasuredSo) {
    Table table;
    table.entries = {
        point(1, 8, 64 << 10, {{"shared:single_copy=64k", 1e-5}, {"shared", 1.6e-5}, {"vendor", 1.9e-5}}),
        point(1, 8, 128 << 10, {{"shared:single_copy=128k", 2e-5}, {"shared", 3.2e-5}, {"vendor", 3.8e-5}})};
    const auto rows = look_up(table, bcast, 1, 8, anything);
    for (const std::uint64_t bytes : {std::uint64_t{64} << 10, std::uint64_t{100000}, std::uint64_t{256} << 10})
        EXPECT_EQ(chosen_at(rows, bytes), "shared:single_copy=1") << bytes;
    // What programs have learned has one name at all lengths.
    table.entries = {point(1, 8, 32 << 10, {{"shared:single_copy=32k", 1e-5}, {"vendor", 1.05e-5}, {"shared", 1.4e-5}}),
                     point(1, 8, 64 << 10, {{"shared:single_copy=32k", 2e-5}, {"vendor", 2.1e-5}, {"shared", 3e-5}})};
    for (const std::uint64_t bytes : {32 << 10, 50000, 128 << 10})
        EXPECT_EQ(chosen_at(look_up(table, bcast, 1, 8, anything), bytes), "shared:single_copy=32k") << bytes;
}

TEST(TableLookUp, PassesOverWhatCannotRun) {
    Table table;
    table.entries = {point(1, 8, 8, {{"shared", 1e-6}, {"binomial", 2e-6}, {"vendor", 3e-6}}),
                     point(1, 8, 1024, {{"shared", 1e-6}, {"vendor", 2e-6}, {"binomial", 3e-6}}),
                     point(1, 8, 2048, {{"shared", 1e-6}})};
    const auto rows = look_up(table, bcast, 1, 8, [](std::string_view choice) { return choice != "shared"; });
    EXPECT_EQ(chosen_at(rows, 8), "binomial");
    EXPECT_EQ(chosen_at(rows, 1024), "vendor");
    EXPECT_EQ(chosen_at(rows, 4096), "vendor");
    EXPECT_EQ(chosen_at(look_up(table, bcast, 1, 8, anything), 8), "shared");
}

TEST(TableLookUp, TakesNoCallFromTheVendorForNothing) {
    Table table;
    table.entries = {point(4, 8, 8, {{"chain", 1.0}, {"vendor", 1.01}}),
                     point(4, 8, 4096, {{"chain", 1.0}, {"vendor", 1.5}})};
    const auto rows = look_up(table, bcast, 4, 8, anything);
    EXPECT_EQ(chosen_at(rows, 8), "vendor");
    EXPECT_EQ(chosen_at(rows, 4096), "chain");
    // What somebody chose in spite of the times holds.
    table.entries = {point(4, 8, 8, {{"vendor", 2.0}, {"chain", 1.0}})};
    EXPECT_EQ(look_up(table, bcast, 4, 8, anything).front().choice, "vendor");
    table.entries = {point(4, 8, 8, {{"binary", 2.0}, {"ring", 1.9}, {"chain", 1.0}, {"vendor", 1.0}})};
    EXPECT_EQ(look_up(table, bcast, 4, 8, anything).front().choice, "binary");
}

TEST(TableLookUp, PutsRulesBeforePointsAndLeavesTheRestToOthers) {
    Table table = parse_well(
        R"({"collective": "bcast", "nodes": [2, 64], "ranks_per_node": [1, null], "bytes": ["1k", "64k"], "choice": "chain"},
           {"collective": "bcast", "nodes": [2, 64], "ranks_per_node": [1, null], "bytes": ["1M", null], "choice": "two_tree"})");
    auto rows = look_up(table, bcast, 5, 3, anything);
    EXPECT_EQ(chosen_at(rows, 1023), "");
    EXPECT_EQ(chosen_at(rows, 1024), "chain");
    EXPECT_EQ(chosen_at(rows, 65536), "chain");
    EXPECT_EQ(chosen_at(rows, 65537), "");
    EXPECT_EQ(chosen_at(rows, no_bound), "two_tree");
    EXPECT_TRUE(look_up(table, bcast, 65, 3, anything).empty());
    table.entries.push_back(point(4, 4, 8, {{"binomial", 1}}));
    rows = look_up(table, bcast, 5, 3, anything);
    EXPECT_EQ(chosen_at(rows, 0), "binomial");
    EXPECT_EQ(chosen_at(rows, 2048), "chain");
    EXPECT_EQ(chosen_at(rows, 70000), "") << "far from 8 bytes";
    EXPECT_EQ(chosen_at(rows, 1 << 20), "two_tree");
}

// Random tables of costs: the choice at every measured point is the best one there, rows ascend, and what is chosen between two points is
// the best of them as the interpolation says, but for the rounding of boundaries to bytes.
TEST(TableLookUp, IsTheBestAtEveryPointOfRandomTables) {
    const std::uint64_t seed = test_seed();
    std::mt19937_64 random(seed);
    for (int run = 0; run < 300; ++run) {
        const std::string names[] = {"flat", "chain", "binary", "binomial", "vendor", "two_tree"};
        const auto candidates = 2 + random() % 5;
        Table table;
        for (std::uint64_t bytes = 1 + random() % 64; bytes < 1 << 20; bytes *= 2 + random() % 30) {
            std::vector<TableCandidate> all;
            for (std::size_t i = 0; i < candidates; ++i)
                all.push_back({names[i], 1e-6 * (1 + static_cast<double>(random() % 1000))});
            std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
            table.entries.push_back(point(4, 4, bytes, all));
        }
        const auto rows = look_up(table, bcast, 4, 4, anything);
        for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i - 1].largest_bytes, rows[i].largest_bytes);
        EXPECT_EQ(rows.back().largest_bytes, no_bound);
        for (const TableEntry& entry : table.entries) {
            const TableCandidate* chosen = entry.find(chosen_at(rows, entry.bytes.least));
            ASSERT_NE(chosen, nullptr);
            // The vendor keeps what is gained by little.
            EXPECT_LE(chosen->seconds, entry.chosen().seconds * (chosen->choice == "vendor" ? 1.0201 : 1.0001))
                << "run " << run << " of seed " << seed << ", " << entry.bytes.least << " bytes";
        }
        // Between two points: on the lower envelope of the lines.
        for (std::size_t i = 0; i + 1 < table.entries.size(); ++i) {
            const TableEntry& a = table.entries[i];
            const TableEntry& b = table.entries[i + 1];
            const double share = static_cast<double>(random() % 1000) / 1000;
            const double log_bytes = std::log2(static_cast<double>(a.bytes.least)) * (1 - share) +
                                     std::log2(static_cast<double>(b.bytes.least)) * share;
            const auto bytes = static_cast<std::uint64_t>(std::exp2(log_bytes));
            if (bytes <= a.bytes.least || bytes >= b.bytes.least) continue;
            const auto cost = [&](std::string_view name, double at) {
                const double from = std::log2(static_cast<double>(a.bytes.least));
                const double to = std::log2(static_cast<double>(b.bytes.least));
                const double where = (at - from) / (to - from);
                const double handicap = name == "vendor" ? std::log2(1.02) : 0;
                return (1 - where) * std::log2(a.find(name)->seconds) + where * std::log2(b.find(name)->seconds) -
                       handicap;
            };
            // A boundary is a whole number of bytes: what is chosen is the best less than a byte from here.
            const std::string choice = chosen_at(rows, bytes);
            double least = std::log2(static_cast<double>(bytes) - 1);
            double most = std::log2(static_cast<double>(bytes) + 1);
            for (std::size_t k = 0; k < candidates; ++k) {
                const double before = cost(choice, least) - cost(names[k], least);
                const double after = cost(choice, most) - cost(names[k], most);
                const double where_equal = least + (most - least) * before / (before - after);
                if (before > 0 && after < 0) least = where_equal;
                if (before < 0 && after > 0) most = where_equal;
                EXPECT_TRUE(before <= 1e-9 || after <= 1e-9)
                    << names[k] << " and not " << choice << ", run " << run << " of seed " << seed;
            }
        }
    }
}

}  // namespace
}  // namespace hcoll::test
