// SPDX-License-Identifier: BSD-3-Clause
// The model of the split tree against its source and against the binomial tree's own edges, and what plans are made of it.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "algorithms/tree.hpp"
#include "plan_cases.hpp"
#include "tuning/selection.hpp"
#include "tuning/split_tree.hpp"

namespace hcoll::test {
namespace {

// Section 4 and figure 2 of the source: 64 cores, of which some compute and the others make progress.
TEST(SplitTree, IsSplitFurtherWhereFewerCoresMakeProgress) {
    constexpr int cores = 64;
    const auto expected = [](int ranks) { return ranks < 52 ? 0 : ranks < 58 ? 1 : ranks < 62 ? 2 : 3; };
    for (int ranks = 33; ranks < cores; ++ranks) EXPECT_EQ(best_split(ranks, cores - ranks), expected(ranks)) << ranks;
}

// A rank's level is that of its message to its parent: the subtree below it has as many levels less one.
TEST(SplitTree, CountsTheMessagesOfTheTree) {
    for (int ranks = 1; ranks <= 130; ++ranks) {
        std::vector<int> counted(static_cast<std::size_t>(split_tree_levels(ranks)) + 1, 0);
        for (int rank = 1; rank < ranks; ++rank) {
            const int parent = tree_node({TreeShape::binomial}, ranks, rank, 0).parent;
            ++counted[static_cast<std::size_t>(split_tree_levels(rank - parent)) + 1];
        }
        int sum = 0;
        for (int level = 1; level <= split_tree_levels(ranks); ++level) {
            EXPECT_EQ(split_tree_messages(ranks, level), counted[static_cast<std::size_t>(level)])
                << "level " << level << " of " << ranks;
            sum += split_tree_messages(ranks, level);
        }
        EXPECT_EQ(sum, ranks - 1);
    }
}

// The source's example, figure 1: 16 ranks have 15 messages in 4 steps. Folded onto one core these are 15 steps; with the first
// level in the ranks, 1 and 7.
TEST(SplitTree, OfSixteenRanksIsThatOfTheSource) {
    EXPECT_EQ(split_tree_levels(16), 4);
    EXPECT_EQ(split_tree_steps(16, 1, 0), 15);
    EXPECT_EQ(split_tree_steps(16, 1, 1), 8);
    EXPECT_EQ(split_tree_steps(16, 1, 4), 4);
    EXPECT_EQ(split_tree_steps(16, 16, 0), 4);
    EXPECT_EQ(split_tree_overlapped(16, 1, 1, 10), 11) << "what the ranks do is not overlapped, the rest is";
    EXPECT_EQ(split_tree_overlapped(16, 1, 1, 0), 8);
}

// The messages of the levels that the callers run, from the plans of all ranks: by sender and receiver.
using Edges = std::set<std::pair<int, int>>;
Edges edges_by_caller(const std::vector<Plan>& plans, StepKind kind, bool by_caller) {
    Edges edges;
    for (int rank = 0; rank < static_cast<int>(plans.size()); ++rank)
        for (const Step& step : plans[static_cast<std::size_t>(rank)].steps)
            if (step.kind == kind && step.by_caller == by_caller)
                edges.insert(kind == StepKind::send ? std::pair(rank, step.peer) : std::pair(step.peer, rank));
    return edges;
}

// Nothing that comes first waits for what does not: in a reduction the callers' steps, in a broadcast the background's.
void expect_parts_in_order(const std::vector<Plan>& plans) {
    for (const Plan& plan : plans)
        for (const Step& step : plan.steps)
            for (std::uint32_t next = 0; next < step.successors; ++next) {
                const Step& successor = plan.steps[plan.successors[step.first_successor + next]];
                const bool is_allowed = plan.callers_part == CallersPart::first
                                            ? step.by_caller || !successor.by_caller
                                            : successor.by_caller || !step.by_caller;
                EXPECT_TRUE(is_allowed || plan.callers_part == CallersPart::none);
            }
}

// Both ends of a message have the same opinion of it, one level more is some messages more, and at last all messages of the tree are
// the callers'. The one that takes an ordered result to another root is not of the tree.
void expect_cuts(const Algorithm& algorithm, AlgorithmParameters parameters, const PlanRequest& request,
                 const std::function<void(int split, std::size_t messages)>& also) {
    const int ranks = request.placement->ranks();
    std::size_t before = 0;
    std::size_t all = 0;
    for (int split = 0; split <= ranks; ++split) {
        parameters.split = split;
        const auto plans = plans_of_all_ranks(algorithm, parameters, request);
        const Edges sent = edges_by_caller(plans, StepKind::send, true);
        EXPECT_EQ(sent, edges_by_caller(plans, StepKind::recv, true)) << ranks << " ranks, s=" << split;
        EXPECT_GE(sent.size(), before);
        all = sent.size() + edges_by_caller(plans, StepKind::send, false).size();
        expect_parts_in_order(plans);
        before = sent.size();
        also(split, before);
    }
    EXPECT_EQ(before, static_cast<std::size_t>(ranks - 1)) << "at last all are the callers'";
    EXPECT_LE(all, before + (request.ordered && request.root != 0 ? 1 : 0));
}

constexpr TreeShape single_trees[] = {TreeShape::flat,   TreeShape::chain,    TreeShape::ring,    TreeShape::linear,
                                      TreeShape::binary, TreeShape::binomial, TreeShape::k_nomial};

// Of a binomial tree the messages of a level are as many as equation 1 says, in both directions.
TEST(SplitTree, IsACutThroughAnyTree) {
    for (const Collective collective : {Collective::bcast, Collective::reduce})
        for (const TreeShape shape : single_trees)
            for (const int ranks : {1, 2, 3, 5, 8, 13, 16, 31})
                for (const int root : {0, ranks / 2, ranks - 1})
                    for (const bool ordered : {false, true}) {
                        if (ordered && collective == Collective::bcast) continue;
                        const Algorithm* algorithm = find_algorithm(collective, "split_tree");
                        ASSERT_NE(algorithm, nullptr);
                        AlgorithmParameters parameters = algorithm->defaults;
                        parameters.tree = {.shape = shape, .radix = 3};
                        const Placement placement = Placement::one_node(ranks);
                        expect_cuts(
                            *algorithm, parameters,
                            {.root = root, .units = 5, .unit_bytes = 8, .ordered = ordered, .placement = &placement},
                            [&](int split, std::size_t messages) {
                                if (shape != TreeShape::binomial) return;
                                std::size_t expected = 0;
                                for (int level = 1; level <= std::min(split, split_tree_levels(ranks)); ++level)
                                    expected += static_cast<std::size_t>(split_tree_messages(ranks, level));
                                EXPECT_EQ(messages, expected) << ranks << " ranks, s=" << split;
                            });
                    }
}

// The same through the trees of several levels, which together are one.
TEST(SplitTree, IsACutThroughTheLevelsOfTheMachine) {
    for (const Collective collective : {Collective::bcast, Collective::reduce})
        for (const std::string_view name : {"han", "topology_tree"})
            for (const TreeShape shape : single_trees)
                for (const int ranks : {1, 4, 7, 12})
                    for (const Layout& layout : layouts_of(ranks))
                        for (const int root : {0, ranks / 2, ranks - 1})
                            for (const bool ordered : {false, true}) {
                                const Algorithm* algorithm = find_algorithm(collective, name);
                                ASSERT_NE(algorithm, nullptr);
                                AlgorithmParameters parameters = algorithm->defaults;
                                parameters.levels.node = {.shape = shape, .radix = 3};
                                parameters.with_sockets = root % 2 == 0;
                                parameters.levels.network.in_turn = root != 0;
                                if (ordered && (collective == Collective::bcast ||
                                                !keeps_order(*algorithm, parameters, *layout.placement)))
                                    continue;
                                SCOPED_TRACE(layout.name);
                                expect_cuts(*algorithm, parameters,
                                            {.root = root,
                                             .units = 5,
                                             .unit_bytes = 8,
                                             .ordered = ordered,
                                             .placement = layout.placement.get()},
                                            [](int, std::size_t) {});
                            }
}

// Two nodes of two sockets of two ranks, binomial trees: the first level is on the sockets, the second between them, the third
// between the nodes.
TEST(SplitTree, FollowsTheLevelsOfTheMachine) {
    const Layout layout = block_layout({4, 4}, 2);
    AlgorithmParameters parameters = find_algorithm(Collective::reduce, "han")->defaults;
    const auto callers = [&](int split) {
        parameters.split = split;
        return edges_by_caller(plans_of_all_ranks(*find_algorithm(Collective::reduce, "han"), parameters,
                                                  {.units = 5, .unit_bytes = 8, .placement = layout.placement.get()}),
                               StepKind::send, true);
    };
    const Edges sockets{{1, 0}, {3, 2}, {5, 4}, {7, 6}};
    EXPECT_EQ(callers(1), sockets);
    Edges nodes = sockets;
    nodes.insert({{2, 0}, {6, 4}});
    EXPECT_EQ(callers(2), nodes);
    nodes.insert({4, 0});
    EXPECT_EQ(callers(3), nodes);
}

TEST(SplitTree, IsSplitByTheModelWhereNothingElseIsSaid) {
    Settings settings;
    auto& choice = settings.nonblocking_choices[static_cast<std::size_t>(Collective::reduce)];
    for (const auto& [text, expected] : {std::pair("split-tree", 2), {"split_tree:s=Auto", 2}, {"split-tree:s=5", 5}}) {
        ASSERT_EQ(parse_nonblocking_choice(Collective::reduce, text, choice), std::nullopt) << text;
        const DecisionTable table =
            make_nonblocking_table(settings, VendorKind::openmpi, Collective::reduce, Placement::one_node(58), 64 - 58);
        EXPECT_EQ(table.front().decision.parameters.split, expected) << text;
        EXPECT_NE(table.front().decision.what.find("s=" + std::to_string(expected)), std::string::npos);
    }
    EXPECT_NE(parse_nonblocking_choice(Collective::reduce, "split-tree:s=many", choice), std::nullopt);
    EXPECT_NE(parse_nonblocking_choice(Collective::reduce, "split-tree:tree=two_tree", choice), std::nullopt);
    EXPECT_EQ(parse_nonblocking_choice(Collective::reduce, "han:s=2", choice), std::nullopt);
    EXPECT_EQ(parse_nonblocking_choice(Collective::reduce, "topology_tree:s=auto", choice), std::nullopt);
    EXPECT_EQ(parse_nonblocking_choice(Collective::reduce, "han:network=two_tree", choice), std::nullopt);
    const auto problem = parse_nonblocking_choice(Collective::reduce, "han:s=2,network=two_tree", choice);
    ASSERT_NE(problem, std::nullopt);
    EXPECT_NE(problem->find("two_tree"), std::string::npos) << *problem;
}

TEST(SplitTree, OfOneRankIsNothing) {
    EXPECT_EQ(split_tree_levels(1), 0);
    EXPECT_EQ(split_tree_steps(1, 1, 3), 0);
    EXPECT_EQ(best_split(1, 1), 0);
}

}  // namespace
}  // namespace hcoll::test
