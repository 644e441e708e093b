// SPDX-License-Identifier: BSD-3-Clause
// Which nodes NAP merges in which step, and which ranks of a node work for it: the index pattern of allreduce_nap.cpp.
#pragma once

#include <vector>

#include "algorithms/halving.hpp"

namespace hcoll {

// A step that merges the subgroups of the group of nodes that begins with `first`.
struct Merge {
    int first;
    Blocks subgroups;

    int node(int subgroup, int position) const { return first + subgroups.first(subgroup) + position; }
};

// The merges that a node takes part in, from single nodes to all `nodes`; at most ceil(log_radix nodes).
std::vector<Merge> merges_of(int node, int nodes, int radix);

// The lanes of a step and the ranks of a node that serve them: one each; or, where ranks are fewer, a power of two of
// ranks for runs of lanes such that operands are combined as if there were a rank for each. All nodes get the same bits.
struct Lanes {
    int lanes;
    int ranks;

    int contributors() const { return lanes <= ranks ? lanes : largest_power_of_two(ranks); }
    int rank_of(int lane) const {
        return lanes <= ranks ? lane : blocks().block_of(lane) / (blocks().blocks / contributors());
    }
    Blocks blocks() const { return {lanes, largest_power_of_two(lanes)}; }
};

// The ranks of a node, cut into a block for each rank that serves lanes in some step; the first of a block does.
Blocks blocks_of_node(int ranks, const std::vector<Merge>& merges);

}  // namespace hcoll
