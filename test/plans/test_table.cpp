// SPDX-License-Identifier: BSD-3-Clause
// Tables of machines: what stands in a file, what is wrong with it, and what it has communicators run. (What it says of layouts: test_table_lookup.cpp.)
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
#include "table_cases.hpp"
#include "tuning/find_table.hpp"
#include "tuning/selection.hpp"

namespace hcoll::test {
namespace {

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
