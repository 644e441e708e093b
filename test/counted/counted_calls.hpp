// SPDX-License-Identifier: BSD-3-Clause
// One collective of NodeCollectives, counted.
#pragma once

#include <cstddef>

#include "line_counts.hpp"

namespace hcoll::counted {

enum class Collective { bcast, reduce, allreduce, barrier, gather, scatter, allgather };

// With a result that is looked at. `bytes`: of a block where every rank has one. Groups as the library makes them.
Counts count_call(const Placement& placement, Collective collective, std::size_t bytes, int root,
                  const Weights& weights = one_each);
// The same by ranks that take the node for one of `known` parts only.
Counts count_call_as(const Placement& known, const Placement& placement, Collective collective, std::size_t bytes,
                     int root, Pace pace = Pace::until_it_waits);

// How many lines more a call transfers, on average of a long row of them, since ranks look whether places may be used again.
double transfers_for_places(const Placement& placement, Collective collective, std::size_t bytes, int root);

}  // namespace hcoll::counted
