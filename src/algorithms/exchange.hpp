// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over a group by exchanges with partners at growing distance: the piece that recursive doubling, recursive
// multiplying, SMP, NAP and multi-leader are made of.
#pragma once

#include "algorithms/plan_builder.hpp"
#include "algorithms/rank_group.hpp"

namespace hcoll {

// Leaves the combination of every member's `own`, in the order of the group, in every member's `result`. `own` may be
// input, which stays as it is, or memory that may be overwritten; own and result may be one region.
//
// With radix k and n members: p = k^t the largest power of k that is not more than n; floor(log_k n) steps among p
// members, and two more where n > p. In each step a member sends its region k - 1 times.
void allreduce_exchange(PlanBuilder& plan, const RankGroup& group, int radix, const Region& own, const Region& result);

}  // namespace hcoll
