// SPDX-License-Identifier: BSD-3-Clause
// How a non-blocking collective along a binomial tree is best split between the cores that compute and those that make progress:
// the first S levels, counted from the leaves, run in the calling ranks, which all work at once, but on which nothing is
// overlapped; the other levels are folded onto the progress cores while the ranks compute.
//
//   level 1   1 > 0   3 > 2   5 > 4   7 > 6      half of all messages: by the ranks themselves, one step (S = 1)
//   level 2       2 > 0           6 > 4          \ few messages: on P progress cores, ceil(messages / P)
//   level 3               4 > 0                  / steps each, behind the computation
//
// Source: "split-tree", Compas 2018 (Toulouse), section 4, equations 1 to 3. The unit of time is one message; all functions are
// pure. Ranks and progress cores are 1 or more.
#pragma once

namespace hcoll {

// Levels of the tree: ceil(log2 ranks). A blocking collective takes so many steps.
int split_tree_levels(int ranks);

// Equation 1: messages at `level`, from 1 at the leaves to split_tree_levels(ranks) at the root. They are ranks - 1 in all.
int split_tree_messages(int ranks, int level);

// The sum in equation 2: steps of the levels above `split`, on the progress cores.
int split_tree_background_steps(int ranks, int progress_cores, int split);

// Equation 2: steps of a non-blocking collective that nothing else runs beside.
int split_tree_steps(int ranks, int progress_cores, int split);

// Equation 3: time of the collective with a computation beside it that takes `computation` on each rank.
double split_tree_overlapped(int ranks, int progress_cores, int split, double computation);

// The computation that section 4 assumes: on all cores, ranks' and progress cores', it would take as long as a blocking collective
// among as many ranks; on fewer cores longer in proportion.
double split_tree_computation(int ranks, int progress_cores);

// The split for which equation 3 is least with that computation, the smallest where several are: from 0, all in the
// background, to split_tree_levels(ranks), nothing.
int best_split(int ranks, int progress_cores);

}  // namespace hcoll
