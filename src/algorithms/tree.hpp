// SPDX-License-Identifier: BSD-3-Clause
// Rooted trees over the members 0 ... size - 1 of a group, as pure functions.
//
// All but `flat` and `linear` are told in vranks, the indices rotated so that the root is 0. In every tree a subtree is a run of
// consecutive vranks, and children are listed in ascending order: the first `lower` of them cover the vranks before the
// node's own, the others those after it. So a node that combines the operands in this order keeps the order of ranks, and
// operations need not commute.
//
//   chain    ring (6)       binary (7)      binomial (8)      k_nomial (9, radix 3)   linear (5, root 2)
/*
     0        0                0                0                     0                     2
     |       / \              / \            /  |  \             / / \ \                   / \
     1      1   5            1   4          1   2   4           1 2   3  6                1   3
     |      |   |           / \ / \             |  / \               / \ / \              |   |
     2      2   4          2  3 5  6            3 5   6             4  5 7  8             0   4
     |      |                                         |
     3      3                                         7
*/
//   flat: the root has all others as children, in the order of indices.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/rank_group.hpp"

namespace hcoll {

// `two_tree` is no tree but two of them at once (two_tree.hpp).
enum class TreeShape : std::uint8_t { flat, chain, ring, linear, binary, binomial, k_nomial, two_tree };

struct Tree {
    TreeShape shape = TreeShape::binomial;
    int radix = 4;         // of k_nomial: children per digit, and one
    bool in_turn = false;  // a broadcast sends to one child after another, not to all at once
};

struct TreeNode {
    int parent = -1;  // -1 at the root
    std::vector<int> children;
    int lower = 0;  // how many of the children, the first ones, stand for members before this one
};

// The node of `index` in a tree of `size` members, rooted at `root` (0 <= index, root < size), in indices.
TreeNode tree_node(const Tree& tree, int size, int index, int root);

// The same for a member of a group, in ranks.
TreeNode tree_node(const Tree& tree, const RankGroup& group, int root);

// Does a reduction to any root keep the order of members? Others do to the root 0 alone, and two trees never.
inline bool keeps_order_to_any_root(const Tree& tree) {
    return tree.shape == TreeShape::flat || tree.shape == TreeShape::linear;
}

}  // namespace hcoll
