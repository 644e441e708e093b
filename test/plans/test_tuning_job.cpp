// SPDX-License-Identifier: BSD-3-Clause
// What a tuner is asked for, in which parts of a job it measures, and the file that it goes on with.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../support/temporary_folder.hpp"
#include "plan_cases.hpp"
#include "tuner/table_output.hpp"
#include "tuner/tune_options.hpp"
#include "tuner/tuning.hpp"

namespace hcoll::test {
namespace {

TuneOptions options_of(std::vector<std::string> words) {
    words.insert(words.begin(), "hcoll-tune");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    TuneOptions options;
    int status = 0;
    EXPECT_TRUE(read_tune_options(static_cast<int>(arguments.size()), arguments.data(), true, options, status));
    return options;
}

// A communicator's ranks are in the order of the job's; what they are placed like has to be, too.
TEST(Allocation, LayoutsHaveTheirRanksInOrder) {
    for (const int nodes : {1, 2, 3, 5})
        for (const int ranks : {2, 7, 12}) {
            const Layout job = cyclic_layout(ranks, nodes);
            const Placement& allocation = *job.placement;
            for (const SubLayout& layout : sub_layouts(allocation, {}, {})) {
                const std::vector<int> chosen = ranks_of(allocation, layout);
                ASSERT_EQ(chosen.size(), static_cast<std::size_t>(layout.ranks()));
                EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end())) << ranks << " on " << nodes;
                const Placement placement = placement_of(allocation, chosen);
                EXPECT_EQ(placement.nodes(), layout.nodes);
                for (int i = 0; i < layout.ranks(); ++i)
                    for (int k = 0; k < layout.ranks(); ++k)
                        EXPECT_EQ(placement.link(i, k), allocation.link(chosen[static_cast<std::size_t>(i)],
                                                                        chosen[static_cast<std::size_t>(k)]));
            }
        }
}

TEST(TuneOptions, NameEachPointOnce) {
    const TuneOptions options = options_of({"--sizes", "64k,8,65536,8", "--nodes", "2,1,2", "--ranks-per-node", "4,4",
                                            "--collectives", "bcast,reduce,bcast"});
    EXPECT_EQ(options.sizes, (std::vector<std::uint64_t>{8, 65536}));
    EXPECT_EQ(options.nodes, (std::vector<int>{1, 2}));
    EXPECT_EQ(options.ranks_per_node, (std::vector<int>{4}));
    EXPECT_EQ(options.calls.size(), 2U);
}

// Blocks are bounded by what all of them are together: of fewer ranks there are longer ones.
TEST(Tuning, HasMemoryForTheLongestMessageOfEachLayout) {
    const TuneOptions options = options_of({"--collectives", "allgather,bcast", "--sizes", "8,4M,16M"});
    const std::vector<SubLayout> layouts = {{1, 2}, {1, 4}, {1, 6}};
    const std::uint64_t memory = most_bytes_of(options, layouts);
    for (const SubLayout& layout : layouts)
        for (const TableCall& call : options.calls)
            for (const std::uint64_t bytes : sizes_of(options, call, layout))
                EXPECT_GE(memory,
                          has_blocks(call.collective) ? bytes * static_cast<std::uint64_t>(layout.ranks()) : bytes)
                    << call.name() << " " << bytes << " on " << layout.ranks_per_node;
    EXPECT_EQ(memory, std::uint64_t{64} << 20);
}

class ResumedTable : public ::testing::Test {
protected:
    ResumedTable() {
        table_.vendor = VendorKind::mpich;
        table_.origin = {{"cpu", "a"}, {"interconnect", "ethernet"}, {"mpi_version", "MPICH 4.0"}, {"date", "today"}};
    }

    std::string path() const { return folder_.path() + "/table.json"; }
    static TableEntry entry() {
        return {.call = {Collective::bcast, false},
                .nodes = {1, 1},
                .ranks_per_node = {4, 4},
                .bytes = {8, 8},
                .candidates = {{"chain", 1e-6}, {"vendor", 2e-6}},
                .why = {}};
    }

    TemporaryFolder folder_;
    Table table_;
};

TEST_F(ResumedTable, IsOneThatTheSameLibraryMeasuredOnTheSameMachine) {
    TableOutput first(path(), table_);
    EXPECT_EQ(first.resume(), std::nullopt) << "nothing is there yet";
    first.add(entry());
    ASSERT_TRUE(first.write());
    TableOutput same(path(), table_);
    EXPECT_EQ(same.resume(), std::nullopt);
    EXPECT_EQ(keys_of(same.table()), (std::set<std::string>{key_of({Collective::bcast, false}, {1, 4}, 8)}));
    Table of_other_library = table_;
    of_other_library.vendor = VendorKind::openmpi;
    std::vector<Table> others = {of_other_library};
    for (std::size_t i = 0; i < 3; ++i) {
        others.push_back(table_);
        others.back().origin[i].second += " other";
    }
    for (const Table& other : others) {
        TableOutput output(path(), other);
        const auto problem = output.resume();
        ASSERT_TRUE(problem);
        EXPECT_NE(problem->find("name another --output"), std::string::npos) << *problem;
        EXPECT_TRUE(output.table().entries.empty());
    }
    Table tomorrow = table_;
    tomorrow.origin.back().second = "tomorrow";
    EXPECT_EQ(TableOutput(path(), tomorrow).resume(), std::nullopt);
}

// Whoever forgets --resume has not lost hours of measuring.
TEST_F(ResumedTable, IsKeptWhereItIsNotGoneOnWith) {
    const auto entries_in = [](const std::string& file) {
        std::vector<std::string> mistakes;
        const auto table = read_table(file, mistakes);
        return table ? table->entries.size() : 0;
    };
    TableOutput first(path(), table_);
    first.add(entry());
    TableEntry longer = entry();
    longer.bytes = {16, 16};
    first.add(longer);
    ASSERT_TRUE(first.write() && first.write());
    EXPECT_FALSE(std::filesystem::exists(path() + ".old"));
    TableOutput second(path(), table_);
    second.add(entry());
    ASSERT_TRUE(second.write() && second.write());
    EXPECT_EQ(entries_in(path()), 1U);
    EXPECT_EQ(entries_in(path() + ".old"), 2U);
    TableOutput third(path(), table_);
    ASSERT_EQ(third.resume(), std::nullopt);
    ASSERT_TRUE(third.write());
    EXPECT_EQ(entries_in(path() + ".old"), 2U);
}

// Two jobs with one output: one goes on, and the other one's is beside it.
TEST_F(ResumedTable, IsNotFoughtFor) {
    TableOutput first(path(), table_);
    TableOutput second(path(), table_);
    first.add(entry());
    ASSERT_TRUE(first.write());
    ASSERT_TRUE(second.write()) << "what was there before it is kept beside it";
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(first.write());
        EXPECT_NE(first.why_not_written().find("somebody else writes"), std::string::npos);
        EXPECT_TRUE(second.write());
    }
    std::size_t files = 0;
    for (const auto& each : std::filesystem::directory_iterator(std::filesystem::path(path()).parent_path()))
        files += each.path().string().starts_with(path()) ? 1 : 0;
    EXPECT_EQ(files, 3U);
}

// A group's file stays the group's, and a link leads to it as before.
TEST_F(ResumedTable, StaysWhereItIsAndAsItIs) {
    using std::filesystem::perms;
    const std::string file = folder_.path() + "/elsewhere.json";
    TableOutput made(file, table_);
    made.add(entry());
    ASSERT_TRUE(made.write());
    const perms of_group = perms::owner_read | perms::owner_write | perms::group_read | perms::group_write;
    std::filesystem::permissions(file, of_group);
    std::filesystem::create_symlink(file, path());
    TableOutput output(path(), table_);
    ASSERT_EQ(output.resume(), std::nullopt);
    ASSERT_TRUE(output.write());
    EXPECT_TRUE(std::filesystem::is_symlink(path()));
    EXPECT_EQ(std::filesystem::status(file).permissions(), of_group);
    std::vector<std::string> mistakes;
    EXPECT_EQ(read_table(file, mistakes)->entries.size(), 1U);
}

// The command that made it may have a path in any encoding.
TEST_F(ResumedTable, IsReadBackWhateverIsInItsCommand) {
    table_.origin.emplace_back("command", "hcoll-tune --output caf\xe9/\xff.json");
    TableOutput output(path(), table_);
    output.add(entry());
    ASSERT_TRUE(output.write());
    std::vector<std::string> mistakes;
    const auto read = read_table(path(), mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.front();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->entries.size(), 1U);
}

}  // namespace
}  // namespace hcoll::test
