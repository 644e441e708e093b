// SPDX-License-Identifier: BSD-3-Clause
// Two binary trees at once, each for one half of the message.
//
//   1 ... 7 without the root 0        first tree       second tree (mirrored, or moved by one)
/*
                                          4                 4
                                        /   \             /   \
                                       2     6           6     2
                                      / \   / \         / \   / \
                                     1   3 5   7       7   5 3   1
*/
// In each tree only every second rank has children, and never the same in both (but for one where the ranks that are
// not the root are odd in number): so every rank sends about as much as it receives, and both directions of its link
// are busy, where in one binary tree half of the ranks only receive.
//
// Source: Sanders, Speck, Traeff 2009, Two-tree algorithms for full bandwidth broadcast, reduction and scan, section 3.
#pragma once

#include <array>

#include "algorithms/tree.hpp"

namespace hcoll {

// The caller's nodes in the two trees, in ranks; both have `root` (an index) as their root, with one child.
std::array<TreeNode, 2> two_tree_nodes(const RankGroup& group, int root);

}  // namespace hcoll
