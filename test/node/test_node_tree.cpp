// SPDX-License-Identifier: BSD-3-Clause
// Groups within groups of a node's ranks: all ranks see the same, they follow the machine, and every message has one way.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "../support/seed.hpp"
#include "progress/node/node_tree.hpp"
#include "topology/virtual_layout.hpp"

namespace hcoll::test {
namespace {

Placement placed(const std::string& layout) {
    VirtualLayout parsed;
    const auto mistake = VirtualLayout::parse(layout, parsed);
    EXPECT_EQ(mistake.value_or(""), "");
    std::vector<Seat> seats;
    EXPECT_EQ(parsed.seats(parsed.places(), seats), std::nullopt);
    return Placement(seats);
}

std::vector<NodeTree> trees_of(const Placement& placement, int widest) {
    std::vector<NodeTree> trees;
    for (int rank = 0; rank < placement.ranks(); ++rank) trees.emplace_back(placement, rank, widest);
    return trees;
}

// How many members the groups around a rank have, the innermost first.
std::vector<int> widths(const Placement& placement, int rank) {
    std::vector<int> list;
    const NodeTree tree(placement, rank, 8);
    for (const NodeTree::Group& group : tree.groups()) list.push_back(static_cast<int>(group.members.size()));
    return list;
}

const NodeTree::Group* group_with(const NodeTree& tree, int begin, int end) {
    for (const NodeTree::Group& group : tree.groups())
        if (group.begin == begin && group.end == end) return &group;
    return nullptr;
}

void expect_one_tree(const std::vector<NodeTree>& trees, int widest) {
    const int ranks = static_cast<int>(trees.size());
    std::vector<int> led_by(trees.size(), -1);
    const bool is_flat = trees.front().groups().back().members.size() == trees.size();
    for (int rank = 0; rank < ranks; ++rank) {
        const NodeTree& tree = trees[static_cast<std::size_t>(rank)];
        ASSERT_FALSE(tree.groups().empty());
        EXPECT_EQ(tree.is_flat(), is_flat);
        EXPECT_EQ(tree.groups().back().end - tree.groups().back().begin, ranks);
        bool leads_all_before = true;
        for (const NodeTree::Group& group : tree.groups()) {
            EXPECT_GE(group.members.size(), 2U);
            EXPECT_LE(group.members.size(), static_cast<std::size_t>(widest));
            EXPECT_TRUE(tree.has(group, rank));
            const bool is_member = std::find(group.members.begin(), group.members.end(), rank) != group.members.end();
            EXPECT_EQ(is_member, leads_all_before);
            leads_all_before = leads_all_before && group.leader() == rank;
            if (is_member && group.leader() != rank) led_by[static_cast<std::size_t>(rank)] = group.leader();
            for (const int member : group.members) {
                EXPECT_TRUE(tree.has(group, member));
                const NodeTree::Group* theirs =
                    group_with(trees[static_cast<std::size_t>(member)], group.begin, group.end);
                ASSERT_NE(theirs, nullptr) << "rank " << member << " does not know a group of rank " << rank;
                EXPECT_EQ(theirs->members, group.members);
            }
        }
    }
    EXPECT_EQ(std::count(led_by.begin(), led_by.end(), -1), 1);
}

// From any root to all, each rank by one that has it before and gives it on.
void expect_ways(const std::vector<NodeTree>& trees) {
    const int ranks = static_cast<int>(trees.size());
    for (int root = 0; root < ranks; ++root) {
        std::set<int> sources;
        for (int rank = 0; rank < ranks; ++rank) {
            int at = rank;
            for (int steps = 0; at != root; ++steps) {
                ASSERT_LT(steps, ranks);
                const int source = trees[static_cast<std::size_t>(at)].way_from(root).source;
                ASSERT_NE(source, at);
                sources.insert(source);
                at = source;
            }
        }
        for (int rank = 0; rank < ranks; ++rank) {
            if (rank == root) continue;
            EXPECT_EQ(trees[static_cast<std::size_t>(rank)].way_from(root).led > 0, sources.contains(rank))
                << "from " << root << " by " << rank;
        }
    }
}

TEST(NodeTree, IsTheSameForAllRanksOfAnyPlacement) {
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 120; ++i) {
        const int ranks = 2 + static_cast<int>(random() % 40);
        const int widest = 2 + static_cast<int>(random() % 7);
        const int packages = 1 + static_cast<int>(random() % 3);
        const int sockets = packages * (1 + static_cast<int>(random() % 3));
        const int caches = sockets * (1 + static_cast<int>(random() % 4));
        const bool in_order = random() % 2 == 0;
        std::vector<Seat> seats;
        for (int rank = 0; rank < ranks; ++rank) {
            const int cache =
                in_order ? rank * caches / ranks : static_cast<int>(random() % static_cast<unsigned>(caches));
            const int socket = cache * sockets / caches;
            seats.push_back({.node = 0, .socket = socket, .package = socket * packages / sockets, .cache = cache});
        }
        if (random() % 8 == 0) seats[random() % seats.size()].cache = -1;
        if (random() % 8 == 0) seats[random() % seats.size()].socket = -1;
        const Placement placement(seats);
        const std::vector<NodeTree> trees = trees_of(placement, widest);
        expect_one_tree(trees, widest);
        expect_ways(trees);
        if (testing::Test::HasFailure()) FAIL() << "case " << i << ": " << ranks << " ranks, widest " << widest;
    }
}

TEST(NodeTree, FollowsCachesSocketsAndPackages) {
    using Widths = std::vector<int>;
    EXPECT_EQ(widths(placed("1x2x1x8x8"), 77), (Widths{8, 8, 2}));       // 2 packages of 8 caches of 8 cores
    EXPECT_EQ(widths(placed("1x2x4x2x8"), 77), (Widths{8, 2, 4, 2}));    // the same with 4 NUMA nodes each
    EXPECT_EQ(widths(placed("1x2x48"), 50), (Widths{6, 7, 2}));          // 2 x 48 cores, a cache each
    EXPECT_EQ(widths(placed("1x2x2x1x18"), 20), (Widths{3, 5, 2, 2}));   // 4 NUMA nodes x 18
    EXPECT_EQ(widths(placed("1x72"), 71), (Widths{4, 4, 5}));            // one cache for all
    EXPECT_EQ(widths(placed("1x2x1x6x16"), 100), (Widths{4, 4, 6, 2}));  // 12 caches of 16 cores
    EXPECT_EQ(widths(placed("1x2x2x2x1"), 7), (Widths{8}));              // so few are one group
    EXPECT_EQ(widths(placed("1x1x1x6x2"), 7), (Widths{2, 6}));
    EXPECT_EQ(widths(placed("1x9"), 8), (Widths{3, 3}));
}

TEST(NodeTree, KeepsRanksTogetherThatAreDealtOutOverSockets) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < 32; ++rank) seats.push_back({.node = 0, .socket = rank % 2});
    const NodeTree tree(Placement(seats), 3, 8);
    EXPECT_EQ(tree.groups().front().members, (std::vector<int>{1, 3, 5, 7}));
    EXPECT_EQ(tree.groups().back().members, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace hcoll::test
