// The step that tree reductions share: a node combines its own operand with those of its subtree.
#pragma once

#include "algorithms/plan_builder.hpp"
#include "algorithms/tree.hpp"

namespace hcoll {

// Receives every child's partial result and combines, from left to right, `own` and the children's in ascending order.
// Where `last_target` is given, the result is left there (it must not overlap `own`); otherwise in scratch, or in `own`
// itself for a leaf. Returns the region that holds the result.
Region combine_subtree(PlanBuilder& plan, const TreeNode& node, const Region& own, const Region* last_target);

}  // namespace hcoll
