// SPDX-License-Identifier: BSD-3-Clause
// The blocks of several ranks on their way together: the piece that Gather, Scatter and Allgather are made of.
//
// A tree collects blocks in an order of its own, in which the blocks of every subtree are one run: one region of
// memory, one message. Where the order is not that of ranks, a run has to be taken apart in the buffer that is.
//
//   order, root 2 of 5      2 3 4 0 1      positions 0 ... 4
//   the run 2 ... 4           . 4 0 1      two runs of consecutive ranks: 4 and 0 1
#pragma once

#include <span>

#include "algorithms/plan_builder.hpp"
#include "algorithms/tree.hpp"

namespace hcoll {

// Positions first ... end - 1 of an order.
struct Run {
    int first = 0;
    int end = 0;
    friend bool operator==(const Run&, const Run&) = default;
};

// All ranks in an order; each has a block of `units`.
class BlockOrder {
public:
    BlockOrder(std::vector<int> ranks, std::uint64_t units);
    // Beginning with `first` and around.
    static BlockOrder rotated(int ranks, int first, std::uint64_t units);

    int size() const { return static_cast<int>(ranks_.size()); }
    int rank(int position) const { return ranks_[static_cast<std::size_t>(position)]; }
    int position_of(int rank) const { return positions_[static_cast<std::size_t>(rank)]; }
    Run all() const { return {0, size()}; }

    // The blocks of a run in memory that is in this order, and whose units are numbered by it.
    Region in_order(const Region& memory, const Run& run) const;
    // Scratch for a run, in this order.
    Region scratch(PlanBuilder& plan, const Run& run) const;
    // Cut where a rank is not followed by the next one; in ascending order of positions.
    std::vector<Run> consecutive(const Run& run) const;
    // The blocks of a run of consecutive ranks in a buffer that has those of all ranks.
    Region by_rank(Buffer buffer, const Run& run) const;

private:
    std::vector<int> ranks_;
    std::vector<int> positions_;
    std::uint64_t units_;
};

// Of one member of a tree over an order: whose run it sends to whom. A run is told by the position of the member that
// collects it, which is its first.
struct Subtree {
    int parent = -1;  // -1 at the root
    Run run;
    std::vector<Run> children;

    // The tree over members that have the positions edges[i] ... edges[i + 1] - 1; the caller is member `self`. Levels
    // are added from the lowest one, of which the caller is the leader if it is in the next. Not for `ring` and
    // `two_tree`.
    void add_level(const Tree& tree, std::span<const int> edges, int self);
};

// 0, 1, ..., count: the edges of members of one position each.
std::vector<int> single_edges(int count);

}  // namespace hcoll
