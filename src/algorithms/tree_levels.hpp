// SPDX-License-Identifier: BSD-3-Clause
// At which step of a reduction along a tree each message comes, where no rank handles more than one at a time: its level, from 1 at
// the leaves. In a broadcast along the same tree the same messages come in the opposite order.
//
//   binomial, 6 ranks        level 1   1 > 0   3 > 2   5 > 4
//                            level 2       2 > 0
//                            level 3           4 > 0
//
// The tree may be made of one for each level of the machine (TreeOfLevels in hierarchy.hpp): a rank's children are then those of its socket,
// its node and the network, in this order.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/tree.hpp"

namespace hcoll {

// A tree, as the node of each member; children in the order in which a reduction handles them.
using NodeOf = std::function<TreeNode(int member)>;

// The levels of the messages between a node and its parent (0 at the root) and its children, in their order. What is above
// `limit` is limit + 1.
struct TreeLevels {
    int parent = 0;
    std::vector<int> children;
};

// Of `member`; `limit` from 1 on.
TreeLevels tree_levels(const NodeOf& node_of, int member, int limit);

}  // namespace hcoll
