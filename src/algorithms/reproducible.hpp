// SPDX-License-Identifier: BSD-3-Clause
// A reduction whose bits depend on nothing but the operands and their ranks: the piece that the reproducible algorithms are
// made of.
#pragma once

#include "algorithms/plan_builder.hpp"

namespace hcoll {

// Combines the operands of all ranks as a fixed binary tree over the ranks says, wherever they sit. Returns the rank that
// has the result, in `result`, at the end: `wanted` where that costs no message more, some rank of its node where it can.
// Other ranks use `result` for what they combine. `own` is input, or `result`.
int reduce_canonically(PlanBuilder& plan, const PlanRequest& request, int wanted, const Region& own,
                       const Region& result);

}  // namespace hcoll
