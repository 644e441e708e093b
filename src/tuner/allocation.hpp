// SPDX-License-Identifier: BSD-3-Clause
// The job that a tuner runs in: who sits where, and the smaller layouts that are in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// So many nodes, and ranks on each of them.
struct SubLayout {
    int nodes = 1;
    int ranks_per_node = 1;
    int ranks() const { return nodes * ranks_per_node; }
    friend bool operator==(const SubLayout&, const SubLayout&) = default;
};

// 1, 2, 4, ..., and the last.
std::vector<int> powers_of_two_to(int last);

// Those of so many nodes and ranks of each that the allocation has, small ones first; with two ranks at least. Empty lists stand for
// powers of two and all.
std::vector<SubLayout> sub_layouts(const Placement& allocation, const std::vector<int>& nodes,
                                   const std::vector<int>& ranks_per_node);

// The ranks of the allocation that are in it, in their order: the first ones of the first nodes that have as many.
std::vector<int> ranks_of(const Placement& allocation, const SubLayout& layout);

// What they are placed like.
Placement placement_of(const Placement& allocation, const std::vector<int>& ranks);

}  // namespace hcoll
