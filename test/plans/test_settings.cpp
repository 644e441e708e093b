// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>

#include "base/letters.hpp"
#include "tuning/rules.hpp"
#include "tuning/selection.hpp"
#include "tuning/settings.hpp"
#include "tuning/text.hpp"

namespace hcoll {
namespace {

Settings parse(const Environment& environment, std::vector<std::string>& warnings) {
    return parse_settings(environment, warnings);
}

TEST(Sizes, AreReadAndWritten) {
    EXPECT_EQ(parse_size("0"), 0U);
    EXPECT_EQ(parse_size("128k"), 131072U);
    EXPECT_EQ(parse_size("16MB"), 16777216U);
    EXPECT_EQ(parse_size("2g"), 2147483648U);
    for (const char* wrong : {"", "k", "-1", "1.5k", "4kk", "4 k", "99999999999999999999", "17179869184G"})
        EXPECT_FALSE(parse_size(wrong)) << wrong;
    for (const std::uint64_t bytes : {0ULL, 1ULL, 1024ULL, 1536ULL, 1048576ULL, 3221225472ULL})
        EXPECT_EQ(parse_size(size_text(bytes)), bytes);
}

TEST(Words, TheNearestIsFoundIfItIsNear) {
    const std::string_view words[] = {"binomial", "chain", "binary"};
    EXPECT_EQ(nearest("chian", words), "chain");
    EXPECT_EQ(nearest("binominal", words), "binomial");
    EXPECT_EQ(nearest("quicksort", words), "");
}

TEST(SettingsText, TheDefaultsAreValidAndReadBack) {
    for (const Setting& setting : settings_registry()) {
        Settings settings;
        const std::string text = setting.text(settings);
        EXPECT_FALSE(setting.parse(settings, text)) << setting.name;
        EXPECT_EQ(setting.text(settings), text);
    }
}

TEST(SettingsText, AlgorithmAndParametersAreRead) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_BCAST", "chain:segment=128k,sends=3"},
                                     {"LIBHCOLL_ALLREDUCE", "reduce_bcast:tree=chain"},
                                     {"LIBHCOLL_BARRIER", "dissemination:radix=3"}},
                                    warnings);
    EXPECT_TRUE(warnings.empty());
    EXPECT_EQ(settings.choice(Collective::bcast).algorithm->name, "chain");
    EXPECT_EQ(settings.choice(Collective::bcast).parameters.pipeline.segment_bytes, 131072U);
    EXPECT_EQ(settings.choice(Collective::bcast).parameters.pipeline.sends, 3U);
    EXPECT_EQ(settings.choice(Collective::bcast).parameters.pipeline.receives, 4U);
    EXPECT_EQ(settings.choice(Collective::allreduce).parameters.tree.shape, TreeShape::chain);
    EXPECT_EQ(settings.choice(Collective::barrier).algorithm->name, "dissemination");
    EXPECT_EQ(settings.choice(Collective::barrier).parameters.radix, 3);
}

TEST(SettingsText, EveryCollectiveHasASettingOfItsName) {
    for (std::size_t i = 0; i < collective_count; ++i) {
        std::vector<std::string> warnings;
        const std::string name = "LIBHCOLL_" + to_upper(collective_names[i].name);
        const Settings settings = parse({{name, "vendor"}}, warnings);
        EXPECT_TRUE(warnings.empty()) << name;
        EXPECT_EQ(settings.choice(static_cast<Collective>(i)).kind, AlgorithmChoice::Kind::vendor) << name;
    }
}

struct Mistake {
    const char* name;
    const char* value;
    const char* expected;  // in the warning
};

TEST(SettingsText, EveryMistakeGivesOneWarningThatSaysWhatIsValid) {
    for (const Mistake& mistake :
         {Mistake{"LIBHCOLL_BCASTT", "chain", "did you mean LIBHCOLL_BCAST?"},
          Mistake{"LIBHCOLL_BCAST", "chian", "did you mean chain?"},
          Mistake{"LIBHCOLL_BCAST", "recursive_doubling", "valid are auto, vendor, shared, flat, chain, ring,"},
          Mistake{"LIBHCOLL_BCAST", "chain:segmnt=4k", "did you mean segment?"},
          Mistake{"LIBHCOLL_BCAST", "chain:segment", "write segment=128k"},
          Mistake{"LIBHCOLL_BCAST", "chain:sends=0", "a number from 1 to 64"},
          Mistake{"LIBHCOLL_BCAST", "chain:segment=4x", "a size from 0 to 1G"},
          Mistake{"LIBHCOLL_BCAST", "vendor:segment=4k", "'vendor' has no parameters"},
          Mistake{"LIBHCOLL_ALLREDUCE", "reduce_bcast:tree=oak", "k_nomial or two_tree"},
          Mistake{"LIBHCOLL_BARRIER", "disemination", "did you mean dissemination?"},
          Mistake{"LIBHCOLL_BARRIER", "linear:segment=4k", "linear has no parameters"},
          Mistake{"LIBHCOLL_BCAST", "shared:segment=4k", "shared has no parameter 'segment' but single_copy"},
          Mistake{"LIBHCOLL_BCAST", "shared:single_copy", "write shared:single_copy=64k"},
          Mistake{"LIBHCOLL_BCAST", "shared:single_copy=2G", "a size from 0 to 1G"},
          Mistake{"LIBHCOLL_SINGLE_COPY", "cms", "did you mean cma?"},
          Mistake{"LIBHCOLL_SHARED_BUFFER", "1k", "from 64k to 64M, nor auto"},
          Mistake{"LIBHCOLL_IBCAST", "shared", "no algorithm for ibcast; valid are auto, vendor, flat,"},
          Mistake{"LIBHCOLL_IREDUCE", "han:network=vendor", "cannot run in the background"},
          Mistake{"LIBHCOLL_IALLREDUCE", "rnig", "did you mean ring?"},
          Mistake{"LIBHCOLL_PROGRESS", "thred", "did you mean thread?"},
          Mistake{"LIBHCOLL_PROGRESS_CORES", "3-1", "a list of cores like 2,4-6"},
          Mistake{"LIBHCOLL_PROGRESS_CORES", "two", "a list of cores like 2,4-6"},
          Mistake{"LIBHCOLL_ENABLE", "maybe", "neither 0 nor 1"},
          Mistake{"LIBHCOLL_LOG", "wran", "did you mean warn?"},
          Mistake{"LIBHCOLL_REPORT", "2", "ends in .json"},
          Mistake{"LIBHCOLL_SETUP_CALLS", "2G", "from 0 to 1G"},
          Mistake{"LIBHCOLL_SETUP_CALLS", "soon", "auto"}}) {
        std::vector<std::string> warnings;
        const Settings settings = parse({{mistake.name, mistake.value}}, warnings);
        ASSERT_EQ(warnings.size(), 1U) << mistake.name << "=" << mistake.value;
        EXPECT_NE(warnings[0].find(mistake.expected), std::string::npos) << warnings[0];
        EXPECT_EQ(agreed_text(settings), agreed_text(Settings{})) << "the default must stay in force";
    }
}

TEST(SettingsText, WhatModuleFilesSetIsNoMistake) {
    std::vector<std::string> warnings;
    parse({{"LIBHCOLL_ROOT", "/opt/libhcoll"}, {"LIBHCOLL_DIR", "/opt/libhcoll"}, {"LIBHCOLL_VERSION", "1.2"}},
          warnings);
    EXPECT_EQ(warnings, std::vector<std::string>());
    parse({{"LIBHCOLL_ROOTS", "2"}}, warnings);
    EXPECT_EQ(warnings.size(), 1U);
}

// Where a file or folder may be named, no word for off is taken for one.
TEST(SettingsText, FilesAreOffInAnyWord) {
    const std::array<std::pair<const char*, std::string Settings::*>, 3> files = {
        {{"LIBHCOLL_LEARN", &Settings::learn_file},
         {"LIBHCOLL_TABLE", &Settings::table_file},
         {"LIBHCOLL_TRACE", &Settings::trace_folder}}};
    for (const auto& [name, value] : files) {
        std::vector<std::string> warnings;
        for (const char* off : {"off", "OFF", "0", "no", "false"})
            EXPECT_EQ(parse({{name, off}}, warnings).*value, "off") << name << '=' << off;
        EXPECT_EQ(parse({{name, "./0"}}, warnings).*value, "./0");
        EXPECT_TRUE(warnings.empty());
        EXPECT_EQ(parse({{name, "1"}}, warnings).*value, Settings{}.*value);
        ASSERT_EQ(warnings.size(), 1U);
        EXPECT_NE(warnings[0].find("nor the name of a f"), std::string::npos);
    }
    std::vector<std::string> warnings;
    EXPECT_EQ(parse({{"LIBHCOLL_TABLE", "Auto"}}, warnings).table_file, "auto");
    EXPECT_TRUE(warnings.empty());
}

TEST(SettingsText, CoresAreReadAndWritten) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_PROGRESS_CORES", "2,4-6,9"}}, warnings);
    EXPECT_TRUE(warnings.empty());
    EXPECT_EQ(settings.progress_cores, (std::vector<int>{2, 4, 5, 6, 9}));
    const auto registry = settings_registry();
    const auto setting = std::find_if(registry.begin(), registry.end(),
                                      [](const Setting& each) { return each.name == "LIBHCOLL_PROGRESS_CORES"; });
    ASSERT_NE(setting, registry.end());
    EXPECT_EQ(setting->text(settings), "2,4-6,9");
}

TEST(SettingsText, WhatIsAgreedReachesOtherRanksWhole) {
    std::vector<std::string> warnings;
    const Settings sent = parse({{"LIBHCOLL_ENABLE", "0"},
                                 {"LIBHCOLL_REDUCE", "chain:segment=1,sends=64,receives=1"},
                                 {"LIBHCOLL_BARRIER", "hierarchical:radix=5,node=flat"},
                                 {"LIBHCOLL_BCAST", "shared:single_copy=64k"},
                                 {"LIBHCOLL_SINGLE_COPY", "xpmem"},
                                 {"LIBHCOLL_SETUP_CALLS", "17"},
                                 {"LIBHCOLL_LOG", "debug"}},
                                warnings);
    Settings received;
    adopt_agreed_text(agreed_text(sent), received);
    EXPECT_EQ(agreed_text(received), agreed_text(sent));
    EXPECT_EQ(received.choice(Collective::bcast).single_copy, 64U << 10);
    EXPECT_EQ(received.single_copy, SingleCopyWay::xpmem);
    EXPECT_EQ(received.log, LogLevel::warn) << "printing is each process's own";
}

TEST(Selection, ASettingHoldsForAllSizesAndWhatNoRuleCoversIsTheVendors) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_BCAST", "chain"}, {"LIBHCOLL_REDUCE", "vendor"}}, warnings);
    for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi})
        for (const int ranks : {2, 3, 1000}) {
            const DecisionTable chain =
                make_decision_table(settings, vendor, Collective::bcast, Placement::one_node(ranks), false);
            for (const std::uint64_t bytes : {1ULL, 1ULL << 20, 1ULL << 40})
                EXPECT_EQ(decide(chain, bytes).algorithm->name, "chain");
            EXPECT_EQ(
                decide(make_decision_table(settings, vendor, Collective::reduce, Placement::one_node(ranks), false), 8)
                    .algorithm,
                nullptr);
            const DecisionTable rules =
                make_decision_table(settings, vendor, Collective::allreduce, Placement::one_node(ranks), false);
            EXPECT_EQ(rules.back().largest_bytes, ~0ULL);
            EXPECT_NE(decide(rules, 1ULL << 50).why, "");
        }
}

TEST(Selection, InTheBackgroundRunsWhatASettingSaysOrWhatIsLongAndCrossesNodes) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_IBCAST", "chain"}, {"LIBHCOLL_BCAST", "vendor"}}, warnings);
    EXPECT_FALSE(settings.leave_all_to_vendor());
    const std::vector<Seat> seats = {{0, 0}, {0, 0}, {1, 0}, {1, 0}};
    const Placement two_nodes(seats);
    for (const Placement& placement : {Placement::one_node(4), two_nodes}) {
        const DecisionTable chain =
            make_nonblocking_table(settings, VendorKind::openmpi, Collective::bcast, placement, 1);
        EXPECT_EQ(decide(chain, 1).algorithm->name, "chain");
        EXPECT_EQ(decide(chain, 1).why, "setting LIBHCOLL_IBCAST");
    }
    const DecisionTable inside =
        make_nonblocking_table(settings, VendorKind::openmpi, Collective::allreduce, Placement::one_node(4), 1);
    const DecisionTable across =
        make_nonblocking_table(settings, VendorKind::openmpi, Collective::allreduce, two_nodes, 1);
    for (const std::uint64_t bytes : {8ULL, 1ULL << 20, 1ULL << 40}) EXPECT_FALSE(decide(inside, bytes).is_own());
    EXPECT_FALSE(decide(across, 8).is_own());
    const DecisionTable reduce = make_nonblocking_table({}, VendorKind::mpich, Collective::reduce, two_nodes, 1);
    EXPECT_TRUE(decide(reduce, 1 << 20).is_own());
    for (const SizeRange& range : reduce) {
        EXPECT_LE(range.decision.parameters.pipeline.segment_bytes, 16U << 10) << range.decision.what;
    }
    EXPECT_TRUE(decide(across, 1 << 20).is_own());
    for (const SizeRange& range : across) {
        EXPECT_FALSE(range.decision.shared);
        EXPECT_FALSE(range.decision.wants_leaders());
    }
}

TEST(Selection, SharedMemoryRunsOnlyWhereRanksHaveIt) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_BCAST", "shared"}}, warnings);
    EXPECT_TRUE(warnings.empty());
    const Placement node = Placement::one_node(64);
    const auto table_of = [&](Collective collective, const Placement& placement, bool has_shared_memory) {
        return make_decision_table(settings, VendorKind::mpich, collective, placement, has_shared_memory);
    };
    const Decision shared = decide(table_of(Collective::bcast, node, true), 1000);
    EXPECT_TRUE(shared.shared && shared.is_own() && shared.algorithm == nullptr);
    EXPECT_EQ(shared.why, "setting LIBHCOLL_BCAST");
    EXPECT_FALSE(decide(table_of(Collective::bcast, node, false), 1000).is_own());
    // A built-in rule.
    EXPECT_TRUE(decide(table_of(Collective::allreduce, Placement::one_node(8), true), 8).shared);
    EXPECT_FALSE(decide(table_of(Collective::allreduce, Placement::one_node(8), false), 8).is_own());
    EXPECT_EQ(decide(table_of(Collective::reduce, Placement::one_node(2), false), 8).algorithm->name, "binomial");
    EXPECT_TRUE(decide(table_of(Collective::barrier, Placement::one_node(8), true), 0).shared);
    EXPECT_EQ(decide(table_of(Collective::barrier, Placement::one_node(2), false), 0).algorithm->name, "dissemination");
    EXPECT_FALSE(decide(table_of(Collective::barrier, Placement::one_node(3), false), 0).is_own());
    for (const SizeRange& range : table_of(Collective::bcast, Placement({{0, 0, 0}, {1, 0, 0}}), false))
        EXPECT_FALSE(range.decision.shared);
    EXPECT_EQ(parse({{"LIBHCOLL_ALLREDUCE", "shared"}, {"LIBHCOLL_REPRODUCIBLE", "1"}}, warnings).reproducible, true);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("shared gives other bits"), std::string::npos);
}

TEST(Selection, SingleCopiesAreAPartOfTheChoice) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_BCAST", "shared:single_copy=64K"}}, warnings);
    EXPECT_TRUE(warnings.empty());
    const auto table_of = [&](Collective collective) {
        return make_decision_table(settings, VendorKind::openmpi, collective, Placement::one_node(2), true);
    };
    EXPECT_EQ(decide(table_of(Collective::bcast), 8).single_copy, 64U << 10);
    EXPECT_EQ(decide(table_of(Collective::bcast), 8).what, "shared:single_copy=64k");
    EXPECT_GT(decide(table_of(Collective::allreduce), 8).single_copy, 0U) << "rules name them, too";
}

// Where a single copy is no faster, built-in rules do without: not what somebody has measured here, or asked for.
TEST(Selection, TellsBuiltInRulesFromTablesAndSettings) {
    const Placement node = Placement::one_node(2);
    const auto decision = [&](const Settings& settings) {
        return decide(make_decision_table(settings, VendorKind::openmpi, Collective::allreduce, node, true), 1 << 20);
    };
    Settings settings;
    EXPECT_TRUE(decision(settings).is_own() && decision(settings).is_of_rule);
    Table table;
    table.entries = {{.call = {Collective::allreduce, false},
                      .nodes = {1, 1},
                      .ranks_per_node = {2, 2},
                      .bytes = {1 << 20, 1 << 20},
                      .candidates = {{"shared:single_copy=32k", 1e-5}, {"vendor", 2e-5}},
                      .why = {}}};
    settings.table = std::make_shared<const Table>(table);
    EXPECT_EQ(decision(settings).single_copy, 32U << 10);
    EXPECT_FALSE(decision(settings).is_of_rule);
    std::vector<std::string> warnings;
    EXPECT_FALSE(decision(parse({{"LIBHCOLL_ALLREDUCE", "shared:single_copy=32k"}}, warnings)).is_of_rule);
}

TEST(Selection, RulesHoldForTheirRanksAndSizesOnly) {
    const Settings settings;
    const DecisionTable two =
        make_decision_table(settings, VendorKind::mpich, Collective::allreduce, Placement::one_node(2), false);
    EXPECT_EQ(decide(two, 8).algorithm, nullptr);
    EXPECT_EQ(decide(two, 9).algorithm->name, "recursive_doubling");
    EXPECT_EQ(decide(two, 131072).algorithm->name, "recursive_doubling");
    EXPECT_EQ(decide(two, 131073).algorithm, nullptr);
    EXPECT_EQ(
        decide(make_decision_table(settings, VendorKind::mpich, Collective::allreduce, Placement::one_node(3), false),
               1024)
            .algorithm,
        nullptr);
}

TEST(Selection, RulesForSeveralNodesHoldWhereTheyWereMeasured) {
    constexpr std::uint64_t longest = 16 << 20;
    for (int nodes = 2; nodes < 10; ++nodes)
        for (int ranks = 1; ranks < 10; ++ranks) {
            std::vector<Seat> seats;
            for (int node = 0; node < nodes; ++node)
                for (int rank = 0; rank < ranks; ++rank) seats.push_back({.node = node, .socket = 0, .core = rank});
            for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi})
                for (std::size_t i = 0; i < collective_count; ++i) {
                    const auto collective = static_cast<Collective>(i);
                    const bool was_measured = collective == Collective::allreduce && nodes == 4 && ranks == 4;
                    EXPECT_EQ(
                        decide(make_decision_table({}, vendor, collective, Placement(seats), false), longest).is_own(),
                        was_measured)
                        << name_of(collective) << " on " << nodes << " x " << ranks;
                }
        }
}

TEST(Selection, AmongNeighborsRunsWhatKeepsToThem) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_SPARSE", "1"},
                                     {"LIBHCOLL_BCAST", "binomial"},
                                     {"LIBHCOLL_REDUCE", "ring:segment=4k"},
                                     {"LIBHCOLL_BARRIER", "vendor"},
                                     {"LIBHCOLL_IREDUCE", "split_tree:tree=linear"}},
                                    warnings);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("LIBHCOLL_BCAST: binomial"), std::string::npos) << warnings[0];
    const std::vector<Seat> seats = {{0, 0}, {1, 0}, {0, 0}, {1, 0}, {2, 0}, {0, 0}, {1, 0}};
    const Placement placement(seats);
    const auto check = [&](const DecisionTable& table, Collective collective, std::string_view name) {
        for (const std::uint64_t bytes : {1ULL, 1ULL << 40}) {
            Decision decision = decide(table, bytes);
            ASSERT_NE(decision.algorithm, nullptr) << name_of(collective);
            EXPECT_TRUE(is_between_neighbors(*decision.algorithm, decision.parameters)) << decision.what;
            decision.note_order(placement);
            EXPECT_TRUE(decision.keeps_order) << decision.what;
            if (!name.empty()) {
                EXPECT_EQ(decision.algorithm->name, name);
            }
        }
    };
    const DecisionTable split = make_nonblocking_table(settings, VendorKind::openmpi, Collective::reduce, placement, 1);
    EXPECT_GE(decide(split, 1).parameters.split, 0) << "chosen by the model here, too";
    for (std::size_t i = 0; i < collective_count; ++i) {
        const auto collective = static_cast<Collective>(i);
        const DecisionTable table = make_decision_table(settings, VendorKind::mpich, collective, placement, false);
        if (collective == Collective::barrier)
            EXPECT_EQ(decide(table, 1).algorithm, nullptr);
        else
            check(table, collective, collective == Collective::reduce ? "ring" : "");
        if (i < nonblocking_count)
            check(make_nonblocking_table(settings, VendorKind::openmpi, collective, placement, 1), collective,
                  collective == Collective::reduce ? "split_tree" : "");
    }
}

// A non-blocking call goes by its own setting, and by none of the blocking one's.
TEST(Selection, TheSameBitsForAnyPlacementAlsoInTheBackground) {
    const Placement placement({{0, 0, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 0}});
    const auto what_runs = [&](const Environment& environment, std::size_t warned_of = 0) {
        std::vector<std::string> warnings;
        const Settings settings = parse(environment, warnings);
        EXPECT_EQ(warnings.size(), warned_of);
        const DecisionTable table =
            make_nonblocking_table(settings, VendorKind::openmpi, Collective::allreduce, placement, 1);
        return decide(table, 1 << 20).what;
    };
    const auto is_reproducible = [](const std::string& what) { return what.starts_with("reproducible"); };
    EXPECT_TRUE(is_reproducible(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}})));
    EXPECT_TRUE(
        is_reproducible(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}, {"LIBHCOLL_ALLREDUCE", "recursive_doubling"}})));
    EXPECT_TRUE(is_reproducible(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}, {"LIBHCOLL_ALLREDUCE", "vendor"}})));
    EXPECT_TRUE(is_reproducible(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}, {"LIBHCOLL_IALLREDUCE", "ring"}}, 1)));
    EXPECT_EQ(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}, {"LIBHCOLL_IALLREDUCE", "vendor"}}), "vendor");
    EXPECT_TRUE(what_runs({{"LIBHCOLL_REPRODUCIBLE", "1"}, {"LIBHCOLL_IALLREDUCE", "recursive_doubling"}})
                    .starts_with("recursive_doubling"));
}

TEST(Settings, NeighborsAndTheSameBitsForAnyPlacementExcludeEachOther) {
    std::vector<std::string> warnings;
    const Settings settings = parse({{"LIBHCOLL_SPARSE", "1"}, {"LIBHCOLL_REPRODUCIBLE", "1"}}, warnings);
    EXPECT_FALSE(settings.sparse);
    EXPECT_TRUE(settings.reproducible);
    EXPECT_EQ(warnings.size(), 1U);
}

// Six ranks tell which algorithms do: with more of them it is the same.
TEST(Catalog, KnowsWhichAlgorithmsKeepToNeighbors) {
    for (const Algorithm& algorithm : algorithms()) {
        const bool expected = algorithm.name == "ring" || algorithm.name == "linear";
        const bool is_flat = algorithm.name == "linear" &&
                             (has_blocks(algorithm.collective) || algorithm.collective == Collective::barrier);
        const bool is_chain = algorithm.collective == Collective::bcast && algorithm.name == "chain";
        EXPECT_EQ(is_between_neighbors(algorithm, algorithm.defaults), (expected && !is_flat) || is_chain)
            << name_of(algorithm.collective) << " " << algorithm.name;
    }
    for (const int ranks : {7, 13})
        for (const Algorithm& algorithm : algorithms()) {
            if (!is_between_neighbors(algorithm, algorithm.defaults)) continue;
            const Placement placement = Placement::one_node(ranks);
            for (int root = 0; root < (has_root(algorithm.collective) ? ranks : 1); ++root) {
                const auto plans = plans_of_all_ranks(algorithm, algorithm.defaults,
                                                      {.root = root, .units = 99, .placement = &placement});
                for (int rank = 0; rank < ranks; ++rank)
                    for (const Step& step : plans[static_cast<std::size_t>(rank)].steps)
                        if (step.is_message()) {
                            EXPECT_TRUE(step.peer == (rank + 1) % ranks || rank == (step.peer + 1) % ranks)
                                << algorithm.name << ": " << rank << " and " << step.peer;
                        }
            }
        }
}

}  // namespace
}  // namespace hcoll
