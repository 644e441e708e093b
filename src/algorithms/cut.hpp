// SPDX-License-Identifier: BSD-3-Clause
// Cuts a plan whose messages go along a tree in two: what calling ranks run by themselves in a non-blocking collective, and what
// runs in the background ("split-tree").
//
//   level 1   1 > 0   3 > 2   5 > 4   7 > 6      s = 1: half of all messages in the calling ranks, all at once
//   - - - - - - - - - - - - - - - - - - - -      - - - - the cut - - - -
//   level 2       2 > 0           6 > 4          the others on the progress cores, while the ranks compute
//   level 3               4 > 0
//
// The callers' part are the messages of the first levels (tree_levels.hpp), from the leaves: in a reduction it comes first, in
// a broadcast last. Both ends of a message count its level alike. A step that is no message belongs to the callers if it is
// between messages of theirs.
//
// Source: Compas 2018 (Toulouse), section 3. How many levels are best is for tuning/split_tree.hpp to say.
// A plan has the same steps and bytes as without a cut.
#pragma once

#include "algorithms/plan.hpp"
#include "algorithms/tree_levels.hpp"

namespace hcoll {

// Marks the messages of the first `levels` in the plan of `rank`, and what belongs to them, as callers' (Step::by_caller); none
// where `levels` is not positive. The plan's messages from children to parents are those of the tree (`reduce`), or those from
// parents to children (`bcast`), in ranks; others are left to the background.
Plan cut(Plan plan, Collective collective, const NodeOf& node_of, int rank, int levels);

}  // namespace hcoll
