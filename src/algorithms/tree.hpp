// Rooted trees over ranks, as pure functions of (shape, ranks, vrank).
//
// vrank is the rank rotated so that the root is 0. Every tree here is numbered in preorder: the subtree of a vrank is a
// run of consecutive vranks that starts with it, and children are listed in ascending order. So a node that combines
// its own operand and then its children's, in order, keeps the order of ranks: operations need not commute.
//
//   chain         binary (7)          binomial (8)
/*
     0                0                       0
     |               / \                   /  |  \
     1              1   4                 1   2   4
     |             / \ / \                    |  / \
     2            2  3 5  6                   3 5   6
     |                                              |
     3                                              7
*/
#pragma once

#include <vector>

namespace hcoll {

enum class TreeShape { chain, binary, binomial };

struct TreeNode {
    int parent = -1;  // -1 at the root
    std::vector<int> children;
};

// The node of `vrank` in a tree of `ranks` (0 <= vrank < ranks), in vranks.
TreeNode tree_node(TreeShape shape, int ranks, int vrank);

// The same in ranks, for a tree rooted at `root`.
TreeNode rooted_tree_node(TreeShape shape, int ranks, int rank, int root);

}  // namespace hcoll
