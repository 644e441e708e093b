// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "algorithms/two_tree.hpp"

namespace hcoll {
namespace {

// Appends the subtree of `index` in the order in which operands are combined, checking that parents and children agree.
void visit(const Tree& tree, int size, int root, int index, int depth, std::vector<int>& order, int& deepest) {
    const TreeNode node = tree_node(tree, size, index, root);
    deepest = std::max(deepest, depth);
    for (int i = 0; i <= static_cast<int>(node.children.size()); ++i) {
        if (i == node.lower) order.push_back(index);
        if (i == static_cast<int>(node.children.size())) break;
        const int child = node.children[static_cast<std::size_t>(i)];
        EXPECT_EQ(tree_node(tree, size, child, root).parent, index);
        visit(tree, size, root, child, depth + 1, order, deepest);
    }
}

int depth_of(const Tree& tree, int size) {
    const int log2_floor = static_cast<int>(std::bit_width(static_cast<unsigned>(size))) - 1;
    switch (tree.shape) {
        case TreeShape::flat: return size > 1 ? 1 : 0;
        case TreeShape::chain:
        case TreeShape::linear: return size - 1;
        case TreeShape::ring: return size / 2;
        case TreeShape::binary:
        case TreeShape::binomial: return log2_floor;
        case TreeShape::k_nomial:
        case TreeShape::two_tree: break;
    }
    // The largest number of digits that are not 0.
    int most = 0;
    for (int vrank = 0; vrank < size; ++vrank) {
        int digits = 0;
        for (int rest = vrank; rest > 0; rest /= tree.radix) digits += rest % tree.radix != 0 ? 1 : 0;
        most = std::max(most, digits);
    }
    return most;
}

TEST(Trees, AreNumberedInOrderAndAsDeepAsTheyShould) {
    for (const Tree& tree : {Tree{TreeShape::flat}, Tree{TreeShape::chain}, Tree{TreeShape::ring},
                             Tree{TreeShape::linear}, Tree{TreeShape::binary}, Tree{TreeShape::binomial},
                             Tree{TreeShape::k_nomial, 3}, Tree{TreeShape::k_nomial, 5}})
        for (int size = 1; size <= 130; ++size) {
            std::vector<int> order;
            int deepest = 0;
            visit(tree, size, 0, 0, 0, order, deepest);
            EXPECT_EQ(tree_node(tree, size, 0, 0).parent, -1);
            ASSERT_EQ(order.size(), static_cast<std::size_t>(size));
            for (int index = 0; index < size; ++index) EXPECT_EQ(order[static_cast<std::size_t>(index)], index);
            EXPECT_EQ(deepest, depth_of(tree, size)) << size;
        }
}

TEST(Trees, OfNeighborsKeepTheOrderForAnyRoot) {
    for (const TreeShape shape : {TreeShape::flat, TreeShape::linear})
        for (int root = 0; root < 9; ++root) {
            std::vector<int> order;
            int deepest = 0;
            visit({shape}, 9, root, root, 0, order, deepest);
            for (int index = 0; index < 9; ++index) EXPECT_EQ(order[static_cast<std::size_t>(index)], index);
        }
}

TEST(Trees, UseNeighborsOnly) {
    for (const TreeShape shape : {TreeShape::ring, TreeShape::linear, TreeShape::chain})
        for (int size = 1; size < 20; ++size)
            for (int root = 0; root < size; ++root)
                for (int index = 0; index < size; ++index)
                    for (const int child : tree_node({shape}, size, index, root).children) {
                        const int distance = (child - index + size) % size;
                        EXPECT_TRUE(distance == 1 || distance == size - 1);
                        EXPECT_TRUE(shape != TreeShape::linear || std::abs(child - index) == 1);
                    }
}

TEST(Trees, AreRotatedToAnyRoot) {
    const TreeNode node = tree_node({TreeShape::binomial}, 6, 1, 4);  // vrank 3
    EXPECT_EQ(node.parent, 0);                                        // vrank 2
    EXPECT_TRUE(node.children.empty());
    EXPECT_EQ(tree_node({TreeShape::chain}, 6, 4, 4).parent, -1);
}

TEST(TwoTrees, ReachEverybodyTwiceAndLoadNobodyTwice) {
    for (int size = 2; size <= 70; ++size) {
        std::vector<std::array<TreeNode, 2>> nodes;
        for (int rank = 0; rank < size; ++rank) nodes.push_back(two_tree_nodes(RankGroup::all(size, rank), 0));
        int with_children_in_both = 0;
        for (int rank = 1; rank < size; ++rank) {
            const auto& both = nodes[static_cast<std::size_t>(rank)];
            with_children_in_both += !both[0].children.empty() && !both[1].children.empty() ? 1 : 0;
            for (std::size_t tree = 0; tree < 2; ++tree) {
                EXPECT_LE(both[tree].children.size(), 2U);
                for (const int child : both[tree].children)
                    EXPECT_EQ(nodes[static_cast<std::size_t>(child)][tree].parent, rank);
                int depth = 0;
                for (int at = rank; at != 0; at = nodes[static_cast<std::size_t>(at)][tree].parent) ++depth;
                EXPECT_LE(depth, static_cast<int>(std::bit_width(static_cast<unsigned>(size))));
            }
        }
        EXPECT_EQ(with_children_in_both, 0) << size;
    }
}

}  // namespace
}  // namespace hcoll
