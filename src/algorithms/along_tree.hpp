// SPDX-License-Identifier: BSD-3-Clause
// A broadcast and a reduction along a tree over a group: the pieces that tree algorithms are made of.
#pragma once

#include "algorithms/plan_builder.hpp"
#include "algorithms/tree.hpp"

namespace hcoll {

// Root's `data` to every member's. Nothing for a caller who is no member.
void bcast_along(PlanBuilder& plan, const RankGroup& group, int root, const Tree& tree, const Region& data);

// Combines every member's `own` into the root's `result`; on others `result` is not used. `own` may be input, which
// stays as it is, or memory that may be overwritten; own and result may be one region. Where `ordered`, operands are
// combined in the order of the tree's vranks, otherwise in some fixed order.
void reduce_along(PlanBuilder& plan, const RankGroup& group, int root, const Tree& tree, bool ordered,
                  const Region& own, const Region& result);

}  // namespace hcoll
