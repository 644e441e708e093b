// SPDX-License-Identifier: BSD-3-Clause
// Allreduce as a reduction to rank 0 and a broadcast from it, along one tree, segment by segment.
//
//   up     3 --> 2 --> 1 --> 0        segment k is still on its way up
//   down   0 --> 1 --> 2 --> 3        while segment k - 1 already goes down: both directions of a link are busy
//
// A segment starts its way down as soon as it has arrived at rank 0; no phase waits for another. Rank 0's bits are what
// everybody gets, so that all ranks agree; the tree is rooted at rank 0, so that operands are combined in the order of
// ranks and the operation need not commute (but with two trees).
//
// Source: Luo 2020 (thesis), sections 3.1 and 5.1 (reduce and broadcast overlapping by segments).
// n ranks, m bytes: unsegmented, the steps of the tree in both directions, with a binomial one 2 ceil(log2 n); 2 (n - 1) m
// bytes in total; a rank with c children sends and receives (c + 1) m bytes, the root c m.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan allreduce_reduce_bcast(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const RankGroup all = RankGroup::all(request.ranks, request.rank);
    const Region own = request.in_place ? plan.output() : plan.input();
    reduce_along(plan, all, 0, parameters.tree, request.ordered, own, plan.output());
    bcast_along(plan, all, 0, parameters.tree, plan.output());
    return plan.finish();
}

}  // namespace hcoll
