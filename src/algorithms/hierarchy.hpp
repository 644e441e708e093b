// SPDX-License-Identifier: BSD-3-Clause
// The groups of a machine's levels that a hierarchical algorithm works in, one after the other.
//
//   network   n0 . . . . . . .  n1 . . . . . . .     one leader per node
//   node      s0 . . .  s1 . .                       one leader per socket
//   socket    0 1 2 3   4 5 6 7                      all ranks of a socket
//
// A group's leader is its first member, and the one that belongs to the group above. For a root, groups are reordered by
// swaps: root with the leader of its socket, its socket with the first of its node, its node with the first of all. So
// the root leads wherever it is, and the shape of the trees stays what it was.
//
// Source: Luo 2020 (thesis), section 4.2.2, figures 4.4 and 4.5.
#pragma once

#include "algorithms/rank_group.hpp"
#include "algorithms/tree.hpp"
#include "topology/placement.hpp"

namespace hcoll {

struct Hierarchy {
    RankGroup network;
    RankGroup node;    // where sockets are no level: all ranks of the node
    RankGroup socket;  // where they are none: the caller alone
};

inline constexpr int no_rank = -1;

// For the caller `rank`, who is a member of the groups that it leads or belongs to. `with_sockets`: the level of sockets
// is used on nodes that have several. `root`: who is to lead; no_rank: the lowest ranks. `excluded`: belongs to no group
// below the network, as if it sat nowhere.
Hierarchy hierarchy_of(const Placement& placement, int rank, int root, bool with_sockets, int excluded = no_rank);

// The tree of each level.
struct LevelTrees {
    Tree network;
    Tree node;
    Tree socket;
};

inline bool has_two_trees(const LevelTrees& trees) {
    const auto is_two = [](const Tree& tree) { return tree.shape == TreeShape::two_tree; };
    return is_two(trees.network) || is_two(trees.node) || is_two(trees.socket);
}

// The one tree that the trees of all levels are together, rooted at `root`; not of two trees. A rank's children are those of its
// socket, then of its node, then of the network.
class TreeOfLevels {
public:
    // `placement` outlives it.
    TreeOfLevels(const Placement& placement, int root, bool with_sockets, const LevelTrees& trees);
    TreeNode node(int rank) const;  // in ranks

private:
    const Placement& placement_;
    int root_;
    bool with_sockets_;
    LevelTrees trees_;
    std::vector<int> leaders_;
};

}  // namespace hcoll
