// SPDX-License-Identifier: BSD-3-Clause
// Leaders of the levels, and a root that takes their place by swaps.
#include <gtest/gtest.h>

#include "algorithms/hierarchy.hpp"
#include "plan_cases.hpp"

namespace hcoll::test {
namespace {

std::vector<int> members(const RankGroup& group) {
    std::vector<int> ranks;
    for (int index = 0; index < group.size(); ++index) ranks.push_back(group.rank(index));
    return ranks;
}

using Ranks = std::vector<int>;

// Luo 2020, figure 4.4: nodes of two sockets with four ranks each.
Placement thesis_placement() { return *block_layout({8, 8, 8}, 2).placement; }

TEST(Hierarchy, LeadersAreTheLowestRanks) {
    const Placement placement = thesis_placement();
    const Hierarchy of_0 = hierarchy_of(placement, 0, no_rank, true);
    EXPECT_EQ(members(of_0.network), (Ranks{0, 8, 16}));
    EXPECT_EQ(members(of_0.node), (Ranks{0, 4}));
    EXPECT_EQ(members(of_0.socket), (Ranks{0, 1, 2, 3}));
    const Hierarchy of_13 = hierarchy_of(placement, 13, no_rank, true);
    EXPECT_FALSE(of_13.network.has_self());
    EXPECT_FALSE(of_13.node.has_self());
    EXPECT_EQ(of_13.socket.self(), 1);
}

// Figure 4.5: root 14. It is swapped with 12 in its socket, its socket with the first of its node, its node with the first.
TEST(Hierarchy, ARootTakesTheFirstPlaceOfEveryLevelBySwaps) {
    const Placement placement = thesis_placement();
    const Hierarchy of_14 = hierarchy_of(placement, 14, 14, true);
    EXPECT_EQ(members(of_14.socket), (Ranks{14, 13, 12, 15}));
    EXPECT_EQ(members(of_14.node), (Ranks{14, 8}));
    EXPECT_EQ(members(of_14.network), (Ranks{14, 0, 16}));
    // All others see the same groups.
    EXPECT_EQ(members(hierarchy_of(placement, 12, 14, true).socket), (Ranks{14, 13, 12, 15}));
    EXPECT_EQ(members(hierarchy_of(placement, 8, 14, true).node), (Ranks{14, 8}));
    EXPECT_EQ(members(hierarchy_of(placement, 8, 14, true).socket), (Ranks{8, 9, 10, 11}));
    EXPECT_EQ(members(hierarchy_of(placement, 0, 14, true).network), (Ranks{14, 0, 16}));
    EXPECT_FALSE(hierarchy_of(placement, 12, 14, true).node.has_self());
}

TEST(Hierarchy, SocketsAreALevelOnlyWhereTheyAreWantedAndSeveral) {
    const Placement placement = *block_layout({3, 2}, 1).placement;
    EXPECT_EQ(members(hierarchy_of(placement, 0, no_rank, true).node), (Ranks{0, 1, 2}));
    EXPECT_EQ(members(hierarchy_of(placement, 1, no_rank, true).socket), (Ranks{1}));
    EXPECT_EQ(members(hierarchy_of(thesis_placement(), 0, no_rank, false).node), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Fewer slow messages than a tree that does not know: figures 4.2 and 4.3 (16 ranks, 2 nodes, 2 sockets of 4).
TEST(Hierarchy, ATreeAlongItCrossesEachLevelAsOftenAsItMust) {
    const Layout layout = block_layout({8, 8}, 2);
    PlanCase plan_case;
    plan_case.algorithm = find_algorithm(Collective::bcast, "topology_tree");
    plan_case.parameters = plan_case.algorithm->defaults;
    plan_case.ranks = 16;
    plan_case.layout = layout;
    std::array<int, link_count> messages{};
    const std::vector<Plan> plans = build_plans(plan_case);
    for (int rank = 0; rank < 16; ++rank)
        for (const Step& step : plans[static_cast<std::size_t>(rank)].steps)
            if (step.kind == StepKind::send)
                ++messages[static_cast<std::size_t>(layout.placement->link(rank, step.peer))];
    EXPECT_EQ(messages, (std::array<int, link_count>{12, 2, 1}));
}

// in_turn: a send waits for the one before it, and nothing else changes.
TEST(Hierarchy, ALeaderSendsToOneNodeAfterAnotherWhereThatIsWanted) {
    for (const bool in_turn : {false, true})
        for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{64}}) {
            PlanCase plan_case;
            plan_case.algorithm = find_algorithm(Collective::bcast, "han");
            plan_case.parameters = plan_case.algorithm->defaults;
            plan_case.parameters.pipeline.segment_bytes = segment;
            plan_case.parameters.levels.network.in_turn = in_turn;
            plan_case.ranks = 16;
            plan_case.units = 100;
            plan_case.unit_bytes = sizeof(Operand);
            plan_case.layout = block_layout({2, 2, 2, 2, 2, 2, 2, 2});
            const std::vector<Plan> plans = build_plans(plan_case);
            std::vector<std::uint32_t> waits;
            for (const Step& step : plans[0].steps) waits.push_back(step.dependencies);
            // To three nodes, and to the other rank of its own.
            EXPECT_EQ(waits, in_turn ? (std::vector<std::uint32_t>{0, 1, 1, 0}) : std::vector<std::uint32_t>(4, 0));
            std::mt19937_64 random(test_seed());
            const auto defect = run_and_compare(plan_case, plans, random);
            EXPECT_FALSE(defect) << *defect;
        }
}

}  // namespace
}  // namespace hcoll::test
