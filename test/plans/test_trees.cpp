#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/tree.hpp"

namespace hcoll {
namespace {

constexpr TreeShape shapes[] = {TreeShape::chain, TreeShape::binary, TreeShape::binomial};

// Appends the subtree of `vrank` in preorder, checking that parents and children agree.
void visit(TreeShape shape, int ranks, int vrank, int depth, std::vector<int>& order, int& deepest) {
    order.push_back(vrank);
    deepest = std::max(deepest, depth);
    for (const int child : tree_node(shape, ranks, vrank).children) {
        EXPECT_EQ(tree_node(shape, ranks, child).parent, vrank);
        visit(shape, ranks, child, depth + 1, order, deepest);
    }
}

TEST(Trees, ArePreorderNumberedAndAsDeepAsTheyShould) {
    for (const TreeShape shape : shapes)
        for (int ranks = 1; ranks <= 130; ++ranks) {
            std::vector<int> order;
            int deepest = 0;
            visit(shape, ranks, 0, 0, order, deepest);
            EXPECT_EQ(tree_node(shape, ranks, 0).parent, -1);
            ASSERT_EQ(order.size(), static_cast<std::size_t>(ranks));
            for (int vrank = 0; vrank < ranks; ++vrank) EXPECT_EQ(order[static_cast<std::size_t>(vrank)], vrank);
            const int log2_floor = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
            EXPECT_EQ(deepest, shape == TreeShape::chain ? ranks - 1 : log2_floor) << ranks;
        }
}

TEST(Trees, AreRotatedToAnyRoot) {
    const TreeNode node = rooted_tree_node(TreeShape::binomial, 6, 1, 4);  // vrank 3
    EXPECT_EQ(node.parent, 0);                                             // vrank 2
    EXPECT_TRUE(node.children.empty());
    EXPECT_EQ(rooted_tree_node(TreeShape::chain, 6, 4, 4).parent, -1);
}

}  // namespace
}  // namespace hcoll
