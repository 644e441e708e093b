// SPDX-License-Identifier: BSD-3-Clause
// From where ranks run, as hwloc and MPI tell it, to the seats of a placement. Pure data.
#pragma once

#include <span>
#include <vector>

#include "topology/place.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// What one rank tells the others: five numbers, of which all but the node may be -1, not known.
struct RankPlace {
    int node = 0;     // equal for ranks that share memory
    int package = 0;  // of processors; numbers as all ranks of the node have them
    int numa = 0;     // NUMA node
    int core = 0;
    int cache = -1;  // last-level
};
RankPlace rank_place(int node, const Place& place);

// A package that has several NUMA nodes counts as so many sockets, if each of its ranks is bound inside one of them.
std::vector<Seat> seats_of_places(std::span<const RankPlace> places);

}  // namespace hcoll
