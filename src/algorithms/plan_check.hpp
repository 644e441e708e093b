// SPDX-License-Identifier: BSD-3-Clause
// Proves plans right without running them.
//
// For the plans of all ranks of one call it is shown, phase by phase, that
//   - every region lies inside its buffer, input is never written, and no edge is superfluous or points backwards;
//   - no rank has a race: two steps of a segment that touch the same units, one of them writing, are ordered by edges
//     (two segments touch different units of input and output, and different scratch while both are open);
//   - every message has its counterpart, of the same length, in every segment, and a collective all its participants;
//   - there is no deadlock even if no send completes before its receive is posted (rendezvous): merging each send with
//     its receive, the steps of all ranks form a DAG. Between segments there are only edges from earlier to later ones
//     (window, number in flight), so that a DAG for one segment is one for all. In a ring, where a message belongs to
//     different turns of the two ranks, all turns and these edges are looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/plan.hpp"

namespace hcoll {

// What is wrong with `plans`, the plan of every rank in the order of ranks; nothing where they are right.
std::optional<std::string> find_plan_defect(const std::vector<Plan>& plans);

}  // namespace hcoll
