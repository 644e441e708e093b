// SPDX-License-Identifier: BSD-3-Clause
// Which candidates are tried in a place (tuning/trial_candidates.hpp): few, the MPI library's among them, and none that is hopeless there.
#include "tuning/trial_candidates.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan_cases.hpp"
#include "tuning/model_rules.hpp"
#include "tuning/selection.hpp"

namespace hcoll::test {
namespace {

Settings with(TuneMode mode) {
    Settings settings;
    settings.tune = mode;
    return settings;
}

std::vector<std::string> others_of(const Settings& settings, Collective collective, const Placement& placement,
                                   bool has_shared_memory, std::uint64_t bytes) {
    const DecisionTable usual =
        make_decision_table(settings, VendorKind::mpich, collective, placement, has_shared_memory);
    const TrialTable table = make_trial_table(settings, collective, placement,
                                              has_shared_memory ? NodeMemory::copied_once : NodeMemory::apart, usual);
    std::vector<std::string> names;
    if (const TrialRange* range = trials_at(table, bytes); range != nullptr)
        for (const Decision& each : range->others) names.push_back(each.what);
    return names;
}

TEST(TrialCandidates, TheMpiLibraryIsAlwaysOneOfFewWithoutATable) {
    for (const int nodes : {1, 2, 4, 17, 64})
        for (const int ranks_per_node : {1, 2, 4, 8, 48}) {
            if (nodes * ranks_per_node == 1) continue;
            const Layout layout = block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks_per_node));
            for (const Collective collective :
                 {Collective::bcast, Collective::reduce, Collective::allreduce, Collective::barrier})
                for (const std::uint64_t bytes : {8U, 1000U, 100'000U, 10'000'000U}) {
                    const bool shares = nodes == 1;
                    const DecisionTable usual = make_decision_table(with(TuneMode::automatic), VendorKind::mpich,
                                                                    collective, *layout.placement, shares);
                    const auto others =
                        others_of(with(TuneMode::automatic), collective, *layout.placement, shares, bytes);
                    EXPECT_LE(others.size(), 3U);
                    EXPECT_GE(others.size(), 1U) << nodes << " x " << ranks_per_node;
                    const bool is_there = std::find(others.begin(), others.end(), "vendor") != others.end();
                    EXPECT_EQ(is_there, decide(usual, bytes).is_own());
                }
        }
}

// A single try of a candidate for other lengths, a ring of thousands of ranks for a short message, would cost what hundreds of calls do.
TEST(TrialCandidates, NoneIsForLengthsThatAreFarAway) {
    for (const auto& [nodes, ranks_per_node] : {std::pair{4, 4}, std::pair{17, 2}, std::pair{64, 4}}) {
        const Layout layout = block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks_per_node), 2);
        for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce})
            for (const std::uint64_t bytes :
                 {std::uint64_t{8}, std::uint64_t{1} << 10, std::uint64_t{32} << 10, std::uint64_t{1} << 20}) {
                std::vector<double> seconds;
                for (const std::string& each :
                     others_of(with(TuneMode::automatic), collective, *layout.placement, false, bytes))
                    if (each != "vendor")
                        seconds.push_back(
                            modelled_seconds(collective, each, *layout.placement, bytes, default_machine()));
                ASSERT_FALSE(seconds.empty());
                const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
                EXPECT_LE(*most, 6 * *least)
                    << nodes << " x " << ranks_per_node << ' ' << name_of(collective) << ' ' << bytes;
            }
    }
}

TEST(TrialCandidates, NothingIsTriedWhereASettingSaysWhatRuns) {
    const Layout layout = block_layout({4, 4});
    Settings settings = with(TuneMode::automatic);
    ASSERT_FALSE(
        parse_choice(Collective::bcast, "chain", settings.choices[static_cast<std::size_t>(Collective::bcast)]));
    EXPECT_TRUE(others_of(settings, Collective::bcast, *layout.placement, false, 1000).empty());
    EXPECT_FALSE(others_of(settings, Collective::allreduce, *layout.placement, false, 1000).empty());
    settings.reproducible = true;
    EXPECT_TRUE(others_of(settings, Collective::allreduce, *layout.placement, false, 1000).empty());
    for (const TuneMode mode : {TuneMode::table, TuneMode::off})
        EXPECT_TRUE(others_of(with(mode), Collective::barrier, *layout.placement, false, 0).empty());
}

TEST(TrialCandidates, ATableSaysWhoIsNextBest) {
    const Layout layout = block_layout({4, 4});
    std::vector<std::string> mistakes;
    Settings settings = with(TuneMode::automatic);
    settings.table = std::make_shared<const Table>(parse_table(
        R"({"format": "libhcoll table", "version": 1, "entries": [
            {"collective": "bcast", "nodes": 2, "ranks_per_node": 4, "bytes": 1024, "choice": "chain", "seconds": 1e-5,
             "vendor_seconds": 3e-5, "others": [{"choice": "binomial", "seconds": 2e-5}]}]})",
        "t", mistakes));
    ASSERT_TRUE(mistakes.empty()) << mistakes.front();
    const auto others = others_of(settings, Collective::bcast, *layout.placement, false, 1024);
    ASSERT_GE(others.size(), 2U);
    EXPECT_EQ(others[0], "vendor");
    EXPECT_TRUE(others[1].starts_with("binomial")) << others[1];
}

Decision shared(std::uint64_t single_copy) {
    AlgorithmChoice choice;
    choice.kind = AlgorithmChoice::Kind::shared;
    choice.single_copy = single_copy;
    return decision_of(choice, "a test");
}

// Who copies once where nobody can, or from another length on, runs the same as who does not: none is tried against itself.
TEST(TrialCandidates, NobodyIsTriedAgainstItself) {
    const Layout layout = block_layout({2});
    const auto others = [&](std::uint64_t usual, NodeMemory memory, std::uint64_t bytes) {
        const TrialTable table = make_trial_table(with(TuneMode::automatic), Collective::bcast, *layout.placement,
                                                  memory, {{.decision = shared(usual)}});
        std::vector<std::string> names;
        for (const Decision& each : trials_at(table, bytes)->others) names.push_back(each.what);
        return names;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(others(0, NodeMemory::copied_once, 1 << 20), (Names{"vendor", "shared:single_copy=32k"}));
    EXPECT_EQ(others(64 << 10, NodeMemory::copied_once, 1 << 20), (Names{"vendor", "shared"}));
    EXPECT_EQ(others(0, NodeMemory::copied_once, 1 << 10), Names{"vendor"});
    EXPECT_EQ(others(0, NodeMemory::shared, 1 << 20), Names{"vendor"});
    EXPECT_EQ(others(64 << 10, NodeMemory::shared, 1 << 20), Names{"vendor"});
}

// What other jobs have found fastest is where a place begins; where that cannot be had, with what is usual.
TEST(TrialCandidates, APlaceBeginsWithACandidateThatIsThere) {
    const Layout layout = block_layout({4});
    std::vector<std::string> mistakes;
    Settings settings = with(TuneMode::automatic);
    settings.learned = std::make_shared<const Table>(parse_table(
        R"({"format": "libhcoll table", "version": 1, "entries": [
            {"collective": "bcast", "nodes": 1, "ranks_per_node": 4, "bytes": 1048576, "choice": "shared:single_copy=32k",
             "seconds": 1e-5, "vendor_seconds": 3e-5}]})",
        "t", mistakes));
    ASSERT_TRUE(mistakes.empty()) << mistakes.front();
    for (const NodeMemory memory : {NodeMemory::apart, NodeMemory::shared, NodeMemory::copied_once}) {
        const TrialTable table = make_trial_table(settings, Collective::bcast, *layout.placement, memory,
                                                  {{.decision = memory == NodeMemory::apart ? Decision{} : shared(0)}});
        for (const TrialRange& range : table) EXPECT_LE(range.first, static_cast<int>(range.others.size()));
        const TrialRange* range = trials_at(table, 1 << 20);
        if (memory != NodeMemory::copied_once) {
            EXPECT_TRUE(range == nullptr || range->first == PlaceLearning::usual);
            continue;
        }
        ASSERT_NE(range, nullptr);
        EXPECT_EQ(range->first, 2);
        EXPECT_EQ(range->others[1].what, "shared:single_copy=32k");
    }
}

// `shared` over several nodes is as if nobody had asked for it.
TEST(TrialCandidates, ASettingThatCannotBeHadIsNone) {
    Settings settings = with(TuneMode::automatic);
    ASSERT_FALSE(
        parse_choice(Collective::bcast, "shared", settings.choices[static_cast<std::size_t>(Collective::bcast)]));
    const Layout one = block_layout({4});
    EXPECT_TRUE(others_of(settings, Collective::bcast, *one.placement, true, 1000).empty());
    const Layout several = block_layout({4, 4});
    EXPECT_FALSE(others_of(settings, Collective::bcast, *several.placement, false, 1000).empty());
}

TEST(TrialCandidates, BlocksAreTriedInAMachinesFirstWeekOnly) {
    const Layout layout = block_layout({4, 4});
    for (const Collective collective : {Collective::gather, Collective::scatter, Collective::allgather}) {
        EXPECT_TRUE(others_of(with(TuneMode::automatic), collective, *layout.placement, false, 1000).empty());
        EXPECT_FALSE(others_of(with(TuneMode::learn), collective, *layout.placement, false, 1000).empty());
    }
}

}  // namespace
}  // namespace hcoll::test
