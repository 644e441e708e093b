// SPDX-License-Identifier: BSD-3-Clause
// Allgather around the ring of ranks.
//
//   turn 0     0 --b0--> 1 --b1--> 2 --b2--> 3 --b3--> 0      each block goes around once: what came in goes on
//   turn 1     0 --b3--> 1 --b0--> 2 --b1--> 3 --b2--> 0
//
// Every link carries the same at the same time, between neighbors only. Blocks are cut into segments that do not wait
// for one another, and the plan is a loop over turns that does not grow with n. The ring is in the order of ranks,
// which is that of the blocks in the buffer: where ranks are dealt out to nodes in turn, every message crosses the
// network.
//
// Source: Thakur, Rabenseifner, Gropp 2005, section 4.1; Herschberg 2021 (thesis), section 3.5 (neighbors only).
// n ranks, blocks of m bytes in S segments: S (n - 1) messages, (n - 1) m bytes sent by each rank; for S = 1
// n - 1 steps.
#include "algorithms/algorithms.hpp"
#include "algorithms/moves.hpp"
#include "algorithms/ring.hpp"

namespace hcoll {

Plan allgather_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    const std::uint64_t units = request.units * static_cast<std::uint64_t>(request.ranks);
    PlanBuilder plan(request, parameters.pipeline, PlanBuilder::NoPhase{});
    plan.begin_whole(units);
    const std::uint64_t place = request.units * static_cast<std::uint64_t>(request.rank);
    if (!request.in_place) plan.copy(own_block(request), {Buffer::output, 0, place, request.units});
    if (request.ranks > 1)
        allgather_around_ring(plan, RankGroup::all(request.ranks, request.rank), units, request.units, request.rank);
    return plan.finish();
}

}  // namespace hcoll
