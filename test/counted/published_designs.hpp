// SPDX-License-Identifier: BSD-3-Clause
// How other MPI libraries say that they do collectives of short messages on a node, to be counted as the library's own (line_counts.hpp).
//
//   release_gather   MPICH, src/mpid/ch4/shm/posix/release_gather (Jain et al., SC18), with its default parameters: trees of 64 children down and of 4
//                    up within each package and between their leaders; a flag of each rank for either direction, data in lines of their own. A
//                    root that is not rank 0 sends to it first (not counted here: rank 0 is the root); a Bcast's look at the flags of who has read is due
//                    in one call of four (not counted: it is not due). Without the checks of lengths that Debian compiles in, which take two
//                    more lines of each reader
//   xhc              Open MPI, ompi/mca/coll/xhc (Katevenis et al., Cluster 2022, ICPP 2023), with its default hierarchy: one group in each NUMA
//                    node, one of their leaders in each package, one of the packages'; short messages in the flag's line. All acknowledge a Bcast, and
//                    leaders wait for that. What ranks look at by the way (whether memory can be used again) is not counted
//   flat             all in one group: a Bcast's line is read by all, a Reduce's root reads all, an Allreduce and a Barrier are from all to all
#pragma once

#include <cstddef>

#include "counted_calls.hpp"

namespace hcoll::counted {

enum class Design { release_gather, xhc, flat };

// Of 8 bytes, from or to rank 0, with a result that is looked at; of Bcast, Reduce, Allreduce and Barrier.
Counts count_call(const Placement& placement, Design design, Collective collective, const Weights& weights = one_each);

}  // namespace hcoll::counted
