// At which step of a reduction along a tree each message comes, where no rank handles more than one at a time: its level, from 1 at
// the leaves. In a broadcast along the same tree the same messages come in the opposite order.
//
//   binomial, 6 ranks        level 1   1 > 0   3 > 2   5 > 4
//                            level 2       2 > 0
//                            level 3           4 > 0
//
// In "split-tree" (Compas 2018, section 3) the calling ranks run the messages of the first levels, all at once, and the progress
// cores the few of the others while the ranks compute. That is a cut through any tree: bcast_along and reduce_along mark it in
// the plan (Step::by_caller). How many levels to take is for tuning/split_tree.hpp to say.
#pragma once

#include <vector>

#include "algorithms/tree.hpp"

namespace hcoll {

// The levels of the messages between a node and its parent (0 at the root) and its children, in their order. What is above
// `limit` is limit + 1.
struct TreeLevels {
    int parent = 0;
    std::vector<int> children;
};

// Of `index` in a tree of `size` members, rooted at `root`; `limit` from 1 on. Not for two trees.
TreeLevels tree_levels(const Tree& tree, int size, int index, int root, int limit);

}  // namespace hcoll
