// SPDX-License-Identifier: BSD-3-Clause
// Allreduce around a ring: reduce-scatter, then allgather, of as many chunks as there are ranks.
//
//   turn 0     0 --c0--> 1 --c1--> 2 --c2--> 3 --c3--> 0      each chunk goes around once and collects all operands:
//   turn 1     0 --c3--> 1 --c0--> 2 --c1--> 3 --c2--> 0      after n - 1 turns rank r has chunk r + 1 complete;
//   ...                                                       then it goes around once more
//
// The ring runs in the order of nodes, so that each node's links are crossed once in each direction. Every chunk is
// combined by one rank at a time and then copied: all ranks get the same bits. The order in which operands are combined
// depends on the chunk: the operation must commute. The plan is a loop over turns and does not grow with n; a long message is
// cut into blocks that follow one another (ring_chunk_units).
//
// Source: Patarasuk, Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations, section 3.
// n ranks, m bytes: 2 (n - 1) steps of m/n bytes; 2 (n - 1)/n m bytes sent by each rank, the least that is possible.
#include "algorithms/algorithms.hpp"
#include "algorithms/ring.hpp"

namespace hcoll {

Plan allreduce_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    if (request.ranks == 1) return allreduce_reduce_bcast(request, parameters);
    const RankGroup ring(request.placement->node_order(), request.rank);
    const int size = ring.size();
    PlanBuilder plan(request, parameters.pipeline, PlanBuilder::NoPhase{});
    const std::uint64_t chunk_units = plan.ring_chunk_units(request.units, size);

    plan.begin_ring(0, request.units, chunk_units, size, ring.self());
    const Region own = request.in_place ? plan.output() : plan.input();
    plan.at(first_chunk);
    plan.send(next_in_ring(ring), own);
    plan.at(middle_chunk | last_chunk);
    const Region received = request.in_place ? plan.scratch() : plan.output();
    plan.recv(previous_in_ring(ring), received);
    if (request.in_place)
        plan.reduce(received, plan.output());
    else
        plan.reduce(own, received);
    plan.at(middle_chunk);
    plan.send(next_in_ring(ring), plan.output());

    allgather_around_ring(plan, ring, request.units, chunk_units, (ring.self() + 1) % size);
    return plan.finish();
}

}  // namespace hcoll
