// SPDX-License-Identifier: BSD-3-Clause
// Reduce by reduce-scatter (halving) and a gather to the root (doubling): Rabenseifner's algorithm.
//
//   4 ranks, root 1     m/2: 0-1, 2-3     m/4: 0-2, 1-3   |   m/4: 2->0, 3->1     m/2: 0->1
//                       reduce-scatter                    |   gather
//
// n = p + r ranks with p the largest power of two: r ranks give their operands to a neighbor before. A root that is one of
// those gets the result from it: one step more. The operation need not commute (halving.hpp).
//
// Source: Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.4.
// n = p: 2 log2 p steps; (p - 1)/p m bytes sent by each rank in the reduce-scatter, and up to m/2 in the gather. n > p: one
// step of m bytes more, and another one where the root is one of the r. In total (p - 1) m for the reduce-scatter,
// (log2 p)/2 m for the gather and r m, and m more for a root that is one of the r.
#include "algorithms/algorithms.hpp"
#include "algorithms/halving.hpp"

namespace hcoll {

Plan reduce_rabenseifner(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Region own = request.in_place ? plan.output() : plan.input();
    const Blocks blocks{request.ranks, largest_power_of_two(request.ranks)};
    const int block = blocks.block_of(request.rank);
    const int root_block = blocks.block_of(request.root);
    const bool is_root = request.rank == request.root;

    if (!blocks.is_first(request.rank)) {
        plan.send(blocks.first(block), own);
        if (is_root) plan.recv(blocks.first(block), plan.output());
        return plan.finish();
    }
    const Region work = is_root ? plan.output() : plan.scratch();
    const Halving halving(work, blocks.blocks, block);
    const auto rank_of = [&](int participant) { return blocks.first(participant); };
    reduce_scatter_of_blocks(plan, blocks, RankGroup::all(request.ranks, request.rank), halving, request.ordered, own,
                             work);
    gather_doubling(plan, halving, rank_of, block, root_block);
    if (block == root_block && !is_root) plan.send(request.root, work);
    return plan.finish();
}

}  // namespace hcoll
