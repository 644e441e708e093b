// SPDX-License-Identifier: BSD-3-Clause
// Tables of machines: what stands in a file, what is wrong with it, and what is chosen between the points that were measured.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "../support/temporary_folder.hpp"
#include "plan_cases.hpp"
#include "tuning/find_table.hpp"
#include "tuning/selection.hpp"

namespace hcoll::test {
namespace {

constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();
constexpr TableCall bcast{Collective::bcast, false};

std::string file_with(std::string_view entries) {
    return std::string("{\n  \"format\": \"libhcoll table\",\n  \"version\": 1,\n  \"entries\": [\n") +
           std::string(entries) + "\n  ]\n}\n";
}
constexpr int first_line_of_entries = 5;

Table parse(std::string_view text, std::vector<std::string>& mistakes) { return parse_table(text, "m.json", mistakes); }

Table parse_well(std::string_view entries) {
    std::vector<std::string> mistakes;
    Table table = parse(file_with(entries), mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.front();
    return table;
}

TableEntry point(int nodes, int ranks, std::uint64_t bytes, std::vector<TableCandidate> candidates) {
    return {.call = bcast,
            .nodes = {nodes, nodes},
            .ranks_per_node = {ranks, ranks},
            .bytes = {bytes, bytes},
            .candidates = std::move(candidates),
            .why = {}};
}

bool anything(std::string_view) { return true; }

const std::string& chosen_at(const std::vector<TableRow>& rows, std::uint64_t bytes) {
    auto row = rows.begin();
    while (row->largest_bytes < bytes) ++row;
    return row->choice;
}

TEST(TableFile, IsReadBackAsItWasWritten) {
    Table table;
    table.name = "m.json";
    table.vendor = VendorKind::openmpi;
    table.origin = {{"cluster", "mycluster"}, {"cpu", "a \"fast\" one"}};
    table.entries = {point(4, 16, 8, {{"han:segment=8k", 3.25e-6}, {"vendor", 4e-6}, {"chain", 7e-6}}),
                     point(1, 16, 65536, {{"shared:single_copy=32k", 1e-5}})};
    table.entries[0].spread = 0.02;
    table.entries[0].why = "fastest of 3";
    TableEntry rule = point(1, 1, 0, {{"vendor", 0}});
    rule.call = {Collective::allreduce, true};
    rule.nodes = {2, 8};
    rule.ranks_per_node = {1, std::numeric_limits<int>::max()};
    rule.bytes = {0, no_bound};
    table.entries.push_back(rule);
    std::vector<std::string> mistakes;
    const std::string text = table_json(table);
    const Table read = parse(text, mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.front() << '\n' << text;
    EXPECT_EQ(table_json(read), text);
    ASSERT_EQ(read.entries.size(), 3U);
    EXPECT_EQ(read.vendor, VendorKind::openmpi);
    EXPECT_EQ(read.entries[0].candidates.size(), 3U);
    EXPECT_EQ(read.entries[2].ranks_per_node, rule.ranks_per_node);
    EXPECT_EQ(read.entries[2].bytes, rule.bytes);
    EXPECT_EQ(read.entries[2].call, rule.call);
}

TEST(TableFile, NamesEveryMistakeWithItsLineAndLosesNothingElse) {
    constexpr std::string_view good =
        R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "binomial"})";
    struct Mistake {
        std::string_view entry;
        std::string_view part;
    };
    constexpr Mistake cases[] = {
        {R"({"collective": "bcats", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})",
         "'bcats' is no collective; valid are bcast"},
        {R"({"nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})", "\"collective\" has to be bcast"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "binominal"})",
         "did you mean binomial?"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "chain:segment=x"})",
         "'x' is no value for segment"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "auto"})",
         "a table chooses"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": 3})",
         "\"choice\" has to be"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "shared"})",
         "communicators of one node"},
        {R"({"collective": "ibcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "han:network=vendor"})",
         "cannot run in the background"},
        {R"({"collective": "bcast", "nodes": 0, "ranks_per_node": 4, "bytes": 16, "choice": "chain"})",
         "\"nodes\" has to be a number from 1 on"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": -4, "bytes": 16, "choice": "chain"})",
         "\"ranks_per_node\" has to be a number from 1 on"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": [64, 8], "choice": "chain"})",
         "\"bytes\" has to be a number from 0 on"},
        {R"({"collective": "bcast", "nodes": 3000000000, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})",
         "\"nodes\" has to be"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "choice": "chain"})", "\"bytes\" has to be"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "chain", "seconds": -1})",
         "\"seconds\" has to be a number that is not negative"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "chain", "others": 1})",
         "\"others\" has to be a list"},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 16, "choice": "chain", "others": [{"choice": "flat"}]})",
         "each of \"others\""},
        {R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})",
         "this is also said in line 5"},
        {R"(17)", "an entry is an object"},
    };
    for (const Mistake& each : cases) {
        std::vector<std::string> mistakes;
        const Table table = parse(file_with(std::string(good) + ",\n" + std::string(each.entry)), mistakes);
        ASSERT_EQ(mistakes.size(), 1U) << each.entry << (mistakes.empty() ? "" : mistakes.back());
        EXPECT_NE(mistakes.front().find(each.part), std::string::npos) << mistakes.front();
        const int line = each.entry == "17" ? first_line_of_entries - 1 : first_line_of_entries + 1;
        EXPECT_TRUE(mistakes.front().starts_with("m.json, line " + std::to_string(line))) << mistakes.front();
        ASSERT_EQ(table.entries.size(), 1U) << each.entry;
        EXPECT_EQ(table.entries.front().chosen().choice, "binomial");
    }
    // What is one entry too much does no harm to the entry.
    std::vector<std::string> mistakes;
    const Table table =
        parse(file_with(R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain",
            "secnods": 1, "comment": "mine"})"),
              mistakes);
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_NE(mistakes.front().find("m.json, line 6: an entry has no \"secnods\"; did you mean \"seconds\"?"),
              std::string::npos)
        << mistakes.front();
    EXPECT_EQ(table.entries.size(), 1U);
}

TEST(TableFile, ThatIsNoneIsRefusedInOneSentence) {
    for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
             {"{", "line 1: this is no JSON"},
             {"{\n\"format\": \"libhcoll table\",\n,", "line 3: this is no JSON"},
             {file_with("").substr(0, 60), "this is no JSON"},
             {"[]", "it has no \"format\": \"libhcoll table\""},
             {"{\"format\": \"other\"}", "it has no \"format\""},
             {"{\n\"format\": \"libhcoll table\",\n\"version\": 2}", "line 3: \"version\" has to be 1"},
             {"{\"format\": \"libhcoll table\", \"version\": 1}", "a table has \"entries\""},
             {"{\"format\": \"libhcoll table\",\n\"mpi\": \"lam\", \"version\": 1, \"entries\": []}",
              "line 2: \"mpi\" has to be"}}) {
        std::vector<std::string> mistakes;
        EXPECT_TRUE(parse(text, mistakes).entries.empty());
        ASSERT_EQ(mistakes.size(), 1U) << text;
        EXPECT_NE(mistakes.front().find(part), std::string::npos) << mistakes.front();
        EXPECT_NE(mistakes.front().find("the table is not used"), std::string::npos) << mistakes.front();
    }
}

TEST(TableFile, ThatCannotBeReadIsNamed) {
    const TemporaryFolder own_folder;
    const std::string& folder = own_folder.path();
    const std::string empty = folder + "/empty.json";
    std::ofstream(empty) << "\n\n";
    const std::string large = folder + "/large.json";
    std::ofstream(large) << "{}";
    std::filesystem::resize_file(large, std::uint64_t{100} << 20);
    const std::string none = folder + "/nothing.json";
    std::ofstream(none) << file_with("");
    const std::string pipe = folder + "/pipe.json";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const auto& [path, part] :
         std::vector<std::pair<std::string, std::string>>{{folder, "is a folder"},
                                                          {folder + "/none.json", "cannot be read"},
                                                          {empty, "is empty"},
                                                          {large, "a table has 16M at most"},
                                                          {none, "has no entries"},
                                                          {pipe, "is no file"}}) {
        std::vector<std::string> mistakes;
        EXPECT_EQ(find_table(path, folder, VendorKind::mpich, mistakes), nullptr);
        ASSERT_EQ(mistakes.size(), 1U) << path;
        EXPECT_NE(mistakes.front().find(path), std::string::npos);
        EXPECT_NE(mistakes.front().find(part), std::string::npos) << mistakes.front();
    }
}

TEST(TableFile, IsFoundByTheNameOfTheMachineAndOnlyUnderItsLibrary) {
    const TemporaryFolder own_folder;
    const std::string& folder = own_folder.path();
    const std::string entry =
        R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})";
    std::vector<std::string> mistakes;
    EXPECT_EQ(find_table("auto", folder, VendorKind::mpich, mistakes), nullptr);
    const std::vector<std::string> names = table_file_names(machine_name(), VendorKind::mpich);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
        std::ofstream(folder + "/" + *name) << file_with(entry);
        const auto found = find_table("auto", folder, VendorKind::mpich, mistakes);
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->name, *name);
    }
    EXPECT_EQ(find_table("off", folder, VendorKind::mpich, mistakes), nullptr);
    EXPECT_TRUE(mistakes.empty());
    Table table = parse_well(entry);
    table.vendor = VendorKind::openmpi;
    const std::string path = folder + "/of_openmpi.json";
    std::ofstream(path) << table_json(table);
    EXPECT_NE(find_table(path, folder, VendorKind::openmpi, mistakes), nullptr);
    EXPECT_TRUE(mistakes.empty());
    EXPECT_EQ(find_table(path, folder, VendorKind::mpich, mistakes), nullptr);
    ASSERT_EQ(mistakes.size(), 1U);
    EXPECT_NE(mistakes.front().find("under another MPI library"), std::string::npos) << mistakes.front();
    // A file of mistakes does not fill the screen.
    mistakes.clear();
    std::string wrong;
    for (int i = 0; i < 100; ++i) wrong += "{},\n";
    std::ofstream(path) << file_with(wrong + entry);
    EXPECT_NE(find_table(path, folder, VendorKind::mpich, mistakes), nullptr);
    EXPECT_EQ(mistakes.size(), 6U);
    EXPECT_NE(mistakes.back().find("95 more mistakes"), std::string::npos) << mistakes.back();
}

TEST(TableNames, AreOfLettersDigitsAndDashes) {
    const auto names =
        table_file_names({.cluster = "abc", .fabric = "infiniband", .cpu = "epyc-9654"}, VendorKind::openmpi);
    EXPECT_EQ(names,
              (std::vector<std::string>{"abc-openmpi.json", "abc.json", "infiniband-epyc-9654-openmpi.json",
                                        "infiniband-epyc-9654.json", "infiniband-openmpi.json", "infiniband.json"}));
}

// ---- for other ranks ----

TEST(TableOnTheWire, IsTheSameThereAndShort) {
    Table table;
    table.name = "a;b\n.json";
    table.vendor = VendorKind::mpich;
    // As many candidates as hcoll-tune writes, and many a choice of its own.
    for (int nodes = 1; nodes <= 512; nodes *= 2)
        for (int ranks = 1; ranks <= 8; ranks *= 2)
            for (int bytes = 0; bytes < 25; ++bytes)
                table.entries.push_back(
                    point(nodes, ranks, std::uint64_t{8} << bytes,
                          {{fmt::format("han:network=two_tree,node=chain,segment={}", table.entries.size() / 5),
                            1.2345678e-5 * bytes},
                           {"vendor", 2.345678e-5 * bytes},
                           {"topology_tree:segment=32k", 3.3e-5},
                           {"scatter_allgather", 9.9999999e3},
                           {fmt::format("chain:segment={}k", 1 + bytes), 4.4e-15}}));
    ASSERT_EQ(table.entries.size(), 1000U);
    TableEntry rule = point(1, 1, 0, {{"vendor", 0}});
    rule.nodes = {2, std::numeric_limits<int>::max()};
    rule.bytes = {0, no_bound};
    table.entries.push_back(rule);
    const std::string text = wire_text(table);
    EXPECT_LE(text.size(), 64U << 10);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto read = parse_wire_text(text);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, "a_b_.json");
    EXPECT_EQ(read->vendor, table.vendor);
    ASSERT_EQ(read->entries.size(), table.entries.size());
    for (std::size_t i = 0; i < table.entries.size(); ++i) {
        const TableEntry& mine = table.entries[i];
        const TableEntry& other = read->entries[i];
        EXPECT_TRUE(mine.call == other.call && mine.nodes == other.nodes &&
                    mine.ranks_per_node == other.ranks_per_node && mine.bytes == other.bytes);
        ASSERT_EQ(mine.candidates.size(), other.candidates.size());
        for (std::size_t k = 0; k < mine.candidates.size(); ++k) {
            EXPECT_EQ(mine.candidates[k].choice, other.candidates[k].choice);
            EXPECT_NEAR(mine.candidates[k].seconds, other.candidates[k].seconds, 1e-4 * mine.candidates[k].seconds);
        }
    }
    EXPECT_EQ(wire_text(*read), text);
    for (const std::string_view wrong :
         {"", "name", "name;mpich;;bcast 1 1 8 0ABCD", "n;;a;;bcast 1 1 8", "n;;a;;bcast 1 1 8 ",
          "n;;a;;bcast x 1 8 0ABCD", "n;;a;;bcast 1 1 8 0ABC", "n;;a;;bcast 1 1 8 0zBCD", "n;;a;;bcast 1 1 8 1ABCD",
          "n;;a;;bcast 1 1 8 0AB:D", "n;;a;;= 1 1 8 0ABCD"})
        EXPECT_FALSE(parse_wire_text(wrong)) << wrong;
}

// One rank reads the file, the others what it sends them: who has other digits finds other crossings.
TEST(TableOnTheWire, IsLookedUpAlikeByTheRankThatHasReadTheFile) {
    std::mt19937_64 random(test_seed());
    const TemporaryFolder own_folder;
    const std::string& folder = own_folder.path();
    std::uniform_real_distribution<double> seconds(1e-6, 1.1e-6);
    for (int run = 0; run < 20; ++run) {
        Table table;
        for (std::uint64_t bytes = 8; bytes < 64 << 20; bytes *= 8)
            table.entries.push_back(point(
                4, 8, bytes, {{"chain", seconds(random)}, {"binomial", seconds(random)}, {"binary", seconds(random)}}));
        const std::string path = folder + "/table.json";
        std::ofstream(path) << table_json(table);
        std::vector<std::string> mistakes;
        const auto read = find_table(path, folder, VendorKind::mpich, mistakes);
        ASSERT_NE(read, nullptr);
        const auto sent = parse_wire_text(wire_text(*read));
        ASSERT_TRUE(sent);
        const auto here = look_up(*read, bcast, 4, 8, anything);
        const auto there = look_up(*sent, bcast, 4, 8, anything);
        ASSERT_EQ(here.size(), there.size());
        for (std::size_t i = 0; i < here.size(); ++i) {
            EXPECT_EQ(here[i].choice, there[i].choice);
            EXPECT_EQ(here[i].largest_bytes, there[i].largest_bytes);
        }
        EXPECT_EQ(read->says_of, sent->says_of);
    }
}

TEST(TableOnTheWire, TellsOfWhichBlockingCollectivesItSaysAnything) {
    Table table;
    table.entries = {point(1, 4, 8, {{"ring", 1}}), point(1, 4, 8, {{"ring", 1}})};
    table.entries[0].call = {Collective::allgather, false};
    table.entries[1].call = {Collective::reduce, true};
    const auto read = parse_wire_text(wire_text(table));
    ASSERT_TRUE(read);
    for (std::size_t i = 0; i < collective_count; ++i)
        EXPECT_EQ(read->says_of[i], static_cast<Collective>(i) == Collective::allgather);
}

TEST(TableOnTheWire, IsAPartOfWhatRanksAgreeOn) {
    Settings settings;
    settings.table = std::make_shared<const Table>(
        parse_well(R"({"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain"})"));
    Settings other;
    adopt_agreed_text(agreed_text(settings), other);
    ASSERT_NE(other.table, nullptr);
    EXPECT_EQ(agreed_text(other), agreed_text(settings));
    adopt_agreed_text(agreed_text(Settings{}), other);
    EXPECT_EQ(other.table, nullptr);
}

// ---- look-up ----

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
            EXPECT_EQ(look_up(table, bcast, 4, 8, anything).front().largest_bytes,
                      std::uint64_t{1} << (from + quarter));
        }
}

TEST(TableLookUp, TakesTheMiddleWhereTimesAreNotKnown) {
    Table table;
    table.entries = {point(4, 8, 1024, {{"binomial", 0}}), point(4, 8, 16384, {{"chain", 0}})};
    const auto rows = look_up(table, bcast, 4, 8, anything);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_NEAR(static_cast<double>(rows[0].largest_bytes), 4096, 2);
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
    for (const std::uint64_t bytes :
         {std::uint64_t{64} << 10, std::uint64_t{100000}, std::uint64_t{128} << 10, no_bound})
        EXPECT_EQ(chosen_at(rows, bytes), "shared:single_copy=1") << bytes;
    // What programs have learned has one name at all lengths.
    table.entries = {point(1, 8, 32 << 10, {{"shared:single_copy=32k", 1e-5}, {"vendor", 1.05e-5}, {"shared", 1.4e-5}}),
                     point(1, 8, 64 << 10, {{"shared:single_copy=32k", 2e-5}, {"vendor", 2.1e-5}, {"shared", 3e-5}})};
    EXPECT_EQ(look_up(table, bcast, 1, 8, anything).size(), 1U);
    EXPECT_EQ(look_up(table, bcast, 1, 8, anything)[0].choice, "shared:single_copy=32k");
}

TEST(TableLookUp, PassesOverWhatCannotRun) {
    Table table;
    table.entries = {point(1, 8, 8, {{"shared", 1e-6}, {"binomial", 2e-6}, {"vendor", 3e-6}}),
                     point(1, 8, 1024, {{"shared", 1e-6}, {"vendor", 2e-6}, {"binomial", 3e-6}}),
                     point(1, 8, 2048, {{"shared", 1e-6}})};
    const auto rows = look_up(table, bcast, 1, 8, [](std::string_view choice) { return choice != "shared"; });
    EXPECT_EQ(chosen_at(rows, 8), "binomial");
    EXPECT_EQ(chosen_at(rows, 1024), "vendor");
    EXPECT_EQ(chosen_at(rows, no_bound), "vendor");
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
    EXPECT_EQ(chosen_at(rows, 70000), "binomial");
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

// ---- decisions ----

TEST(TableDecisions, StandBetweenSettingsAndBuiltInRules) {
    const Layout layout = block_layout({4, 4});
    Settings settings;
    settings.table = std::make_shared<const Table>(parse_well(
        R"({"collective": "bcast", "nodes": [2, 4], "ranks_per_node": [1, 8], "bytes": ["1k", "64k"], "choice": "chain"},
           {"collective": "allreduce", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "nap", "seconds": 1, "vendor_seconds": 2},
           {"collective": "iallreduce", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "ring"})"));
    const auto blocking = [&](Collective collective) {
        return make_decision_table(settings, VendorKind::openmpi, collective, *layout.placement, false);
    };
    DecisionTable table = blocking(Collective::bcast);
    EXPECT_EQ(decide(table, 8).what, "vendor");
    EXPECT_EQ(decide(table, 8).why, "built-in rule (measured)");
    EXPECT_TRUE(decide(table, 4096).what.starts_with("chain"));
    EXPECT_EQ(decide(table, 4096).why, "table m.json (rule)");
    EXPECT_EQ(decide(table, 1 << 20).what, "vendor");
    EXPECT_TRUE(decide(blocking(Collective::allreduce), 8).what.starts_with("nap"));
    EXPECT_EQ(decide(blocking(Collective::reduce), 8).what, "vendor");
    table = make_nonblocking_table(settings, VendorKind::openmpi, Collective::allreduce, *layout.placement, 1);
    EXPECT_TRUE(decide(table, 8).what.starts_with("ring"));
    // A setting goes before.
    ASSERT_FALSE(parse_choice(Collective::bcast, "vendor", settings.choices[0]));
    EXPECT_EQ(decide(blocking(Collective::bcast), 4096).why, "setting LIBHCOLL_BCAST");
}

// By hand, with the time that there was at hand.
TEST(TableDecisions, HoldWithoutATimeOfTheChoice) {
    Settings settings;
    settings.table = std::make_shared<const Table>(parse_well(
        R"({"collective": "allreduce", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "ring", "vendor_seconds": 9},
           {"collective": "reduce", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "chain",
            "others": [{"choice": "binomial", "seconds": 2}]})"));
    const Layout layout = block_layout({4, 4});
    for (const auto& [collective, what] : {std::pair{Collective::allreduce, "ring"}, {Collective::reduce, "chain"}}) {
        const DecisionTable table =
            make_decision_table(settings, VendorKind::openmpi, collective, *layout.placement, false);
        EXPECT_TRUE(decide(table, 8).what.starts_with(what)) << decide(table, 8).what;
    }
}

TEST(TableDecisions, HaveANextBestForOperationsThatTheFirstCannotRun) {
    Settings settings;
    settings.table = std::make_shared<const Table>(parse_well(
        R"({"collective": "allreduce", "nodes": 2, "ranks_per_node": 4, "bytes": 8, "choice": "ring", "seconds": 1,
             "vendor_seconds": 9, "others": [{"choice": "recursive_doubling", "seconds": 2}]},
           {"collective": "allreduce", "nodes": 2, "ranks_per_node": 4, "bytes": 1048576, "choice": "ring", "seconds": 1, "vendor_seconds": 2,
             "others": [{"choice": "recursive_doubling", "seconds": 3}]})"));
    const Layout layout = block_layout({4, 4});
    const DecisionTable table =
        make_decision_table(settings, VendorKind::openmpi, Collective::allreduce, *layout.placement, false);
    ASSERT_TRUE(decide(table, 8).what.starts_with("ring"));
    ASSERT_NE(decide(table, 8).next_best, nullptr);
    EXPECT_TRUE(decide(table, 8).next_best->what.starts_with("recursive_doubling"));
    EXPECT_EQ(decide(table, 1 << 20).next_best, nullptr) << "the vendor is the next best there";
    for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].largest_bytes, table[i].largest_bytes);
}

// Without a table nothing over several nodes but what was measured leaves the vendor, unless the model is asked for.
TEST(TableDecisions, LeaveWhatIsOnlyModelledToTheVendor) {
    const Layout layout = block_layout(std::vector<int>(16, 8));
    Settings settings;
    for (std::size_t i = 0; i < collective_count; ++i) {
        const auto collective = static_cast<Collective>(i);
        for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi}) {
            for (const SizeRange& range : make_decision_table(settings, vendor, collective, *layout.placement, false))
                EXPECT_FALSE(range.decision.is_own()) << name_of(collective);
            if (i >= nonblocking_count) continue;
            for (const SizeRange& range : make_nonblocking_table(settings, vendor, collective, *layout.placement, 1))
                EXPECT_FALSE(range.decision.is_own()) << name_of(collective);
        }
    }
    settings.rules = RuleSet::model;
    EXPECT_TRUE(decide(make_decision_table(settings, VendorKind::mpich, Collective::bcast, *layout.placement, false), 8)
                    .is_own());
}

}  // namespace
}  // namespace hcoll::test
