// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules: they are valid, in order, and those that were modelled are what the model says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plan_cases.hpp"
#include "tuning/model_rules.hpp"
#include "tuning/rules.hpp"

namespace hcoll::test {
namespace {

const Settings by_model = [] {
    Settings settings;
    settings.rules = RuleSet::model;
    return settings;
}();

TEST(Rules, ThatWereMeasuredNameAlgorithmsThatExistAndStandInOrder) {
    const MeasuredRule* previous = nullptr;
    for (const MeasuredRule& rule : measured_rules()) {
        AlgorithmChoice choice;
        EXPECT_FALSE(parse_choice(rule.collective, rule.choice, choice)) << rule.choice;
        EXPECT_LE(rule.fewest_ranks, rule.most_ranks);
        const bool follows = previous != nullptr && previous->vendor == rule.vendor &&
                             previous->collective == rule.collective && previous->nodes == rule.nodes &&
                             previous->fewest_ranks == rule.fewest_ranks;
        // Behind all sizes over shared memory stand the rules for where there is none.
        const bool begins_anew = previous != nullptr && previous->choice.starts_with("shared") &&
                                 !rule.choice.starts_with("shared") && previous->largest_bytes == ~std::uint64_t{0};
        EXPECT_TRUE(!follows || begins_anew || previous->largest_bytes < rule.largest_bytes);
        previous = &rule;
    }
}

// Ranks may have room for more than the root sends: by their own length they all have to find the same.
TEST(Rules, OfAScatterAreTheSameForAllLengths) {
    for (const MeasuredRule& rule : measured_rules()) {
        if (rule.collective != Collective::scatter) continue;
        EXPECT_EQ(rule.largest_bytes, std::numeric_limits<std::uint64_t>::max()) << rule.choice;
    }
}

TEST(Rules, ThatWereModelledCoverEverySizeAtEveryPlaceByWhatTheModelChoosesFrom) {
    for (const ModelledRule& rule : modelled_rules()) {
        const auto candidates = model_candidates(rule.collective);
        EXPECT_NE(std::find(candidates.begin(), candidates.end(), rule.choice), candidates.end()) << rule.choice;
    }
    for (const int nodes : {2, 3, 16, 17, 64, 65, 300})
        for (const int ranks_per_node : {1, 2, 3, 8}) {
            const Layout layout = block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks_per_node));
            for (const Collective collective :
                 {Collective::bcast, Collective::reduce, Collective::allreduce, Collective::barrier}) {
                const DecisionTable table =
                    make_decision_table(by_model, VendorKind::mpich, collective, *layout.placement, false);
                EXPECT_EQ(table.back().largest_bytes, ~std::uint64_t{0});
                for (std::size_t i = 0; i < table.size(); ++i) {
                    EXPECT_NE(table[i].decision.algorithm, nullptr);
                    EXPECT_EQ(table[i].decision.why, "built-in rule (model)");
                    EXPECT_TRUE(i == 0 || table[i - 1].largest_bytes < table[i].largest_bytes);
                }
            }
        }
}

// A table of few rows cannot be the best everywhere; it must be near on the whole, and nowhere far.
TEST(Rules, ThatWereModelledAreNowhereFarFromTheBestOfTheModel) {
    double worst = 1;
    double logarithms = 0;
    int points = 0;
    for (const int nodes : {2, 3, 4, 8, 12, 16, 32})
        for (const int ranks_per_node : {1, 2, 4, 6, 16, 32}) {
            if (nodes * ranks_per_node > many_ranks * 3 / 16) continue;
            // In the order of nodes, and dealt out to them in turn.
            const Layout layout = ranks_per_node % 4 == 0
                                      ? cyclic_layout(nodes * ranks_per_node, nodes, 2)
                                      : block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks_per_node),
                                                     ranks_per_node > 1 ? 2 : 1);
            const Placement& placement = *layout.placement;
            for (const Collective collective :
                 {Collective::bcast, Collective::reduce, Collective::allreduce, Collective::barrier}) {
                const DecisionTable table =
                    make_decision_table(by_model, VendorKind::mpich, collective, placement, false);
                const std::uint64_t longest = nodes * ranks_per_node <= 16 ? 16U << 20 : 2U << 20;
                const std::uint64_t most_bytes = has_message(collective) ? longest : 8;
                for (std::uint64_t bytes = 8; bytes <= most_bytes; bytes *= 8) {
                    const auto choices = modelled_choices(collective, placement, bytes, default_machine());
                    double chosen = 0;
                    for (const ModelledChoice& choice : choices) {
                        AlgorithmChoice parsed;
                        ASSERT_FALSE(parse_choice(collective, choice.choice, parsed));
                        if (choice_text(parsed) == decide(table, bytes).what) chosen = choice.seconds;
                    }
                    ASSERT_GT(chosen, 0) << decide(table, bytes).what;
                    const double ratio = chosen / choices.front().seconds;
                    EXPECT_LE(ratio, 2.0)
                        << name_of(collective) << ' ' << nodes << 'x' << ranks_per_node << ' ' << bytes << ": "
                        << decide(table, bytes).what << " instead of " << choices.front().choice;
                    worst = std::max(worst, ratio);
                    logarithms += std::log(ratio);
                    ++points;
                }
            }
        }
    const double mean = std::exp(logarithms / points);
    std::printf("built-in rules against the model at %d points: %.2f times the best on average, %.2f at worst\n",
                points, mean, worst);
    EXPECT_LE(mean, 1.1);
}

// They run without any setting (docs/results/measured.md, "Non-blocking"): whoever changes the rules measures them again.
TEST(Rules, OfNonBlockingCollectivesOnSmallClustersAreThoseThatWereMeasured) {
    struct Case {
        Collective collective;
        std::uint64_t bytes;
        std::string_view choice;
    };
    const Case cases[] = {{Collective::bcast, 65'535, "vendor"},
                          {Collective::bcast, 65'536, "topology_tree:segment=8k"},
                          {Collective::bcast, 16 << 20, "topology_tree:segment=8k"},
                          {Collective::reduce, 65'536, "topology_tree:segment=8k"},
                          {Collective::reduce, 512 << 10, "topology_tree:segment=8k"},
                          {Collective::reduce, 16 << 20, "topology_tree:segment=32k"},
                          {Collective::allreduce, 128 << 10, "multi_leader:leaders=32"},
                          {Collective::allreduce, 16 << 20, "multi_leader:leaders=2,exchange=ring"}};
    for (const int nodes : {2, 4})
        for (const int ranks_per_node : {2, 4}) {
            const Layout layout = block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks_per_node));
            for (const Case& each : cases) {
                const DecisionTable table =
                    make_nonblocking_table(Settings{}, VendorKind::openmpi, each.collective, *layout.placement, 1);
                AlgorithmChoice choice;
                ASSERT_FALSE(parse_choice(each.collective, each.choice, choice));
                EXPECT_EQ(decide(table, each.bytes).what, choice_text(choice))
                    << name_of(each.collective) << ' ' << each.bytes << ' ' << nodes << 'x' << ranks_per_node;
            }
        }
}

// Where two copies are found to be faster than one.
TEST(Rules, CanDoWithoutSingleCopies) {
    DecisionTable table =
        make_decision_table(Settings{}, VendorKind::mpich, Collective::bcast, Placement::one_node(2), true);
    Decision& decision = table.back().decision;
    ASSERT_TRUE(decision.shared);
    EXPECT_NE(decision.single_copy, 0);
    EXPECT_NE(decision.what, "shared");
    decision.do_without_single_copy();
    EXPECT_EQ(decision.single_copy, 0);
    EXPECT_EQ(decision.what, "shared");
    Decision vendor{.parameters = {}, .what = "vendor", .why = ""};
    vendor.do_without_single_copy();
    EXPECT_EQ(vendor.what, "vendor");
}

}  // namespace
}  // namespace hcoll::test
