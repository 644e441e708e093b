// SPDX-License-Identifier: BSD-3-Clause
// Allgather among all ranks, wherever they sit: to everybody at once, by doubling, or by dissemination.
//
//   linear         r <- r+1, r+2, r+3, ...       each its own block; nobody waits for anybody
//   doubling       0-1 2-3, then 01-23           runs of blocks double, among a power of two
//   dissemination  r <- r+1, r+2, r+4, ...       Bruck's pattern (disseminate.hpp), any n
//
// All blocks are sent from and received into their final place. Of n = p + r ranks, p the largest power of two,
// doubling has r ranks give their block to a neighbor before, and get everything from it afterwards.
//
// Source: Thakur, Rabenseifner, Gropp 2005, section 4.1; Bruck et al. 1997 (disseminate.hpp).
// n ranks, blocks of m bytes; whatever is done, (n - 1) m bytes reach every rank.
// linear: n - 1 messages from and to each rank, one after another at its port; n (n - 1) m bytes in total.
// doubling: log2 p steps, and two where r > 0; p log2 p + 2 r messages; (p - 1) n m bytes among the p, r (n + 1) m for
// the others.
// dissemination, radix k: ceil(log_k n) steps of at most k - 1 messages each way; n (n - 1) m bytes in total. With s
// messages from each rank (ceil(log2 n) for k = 2): n s, and n - 1 - s more for the runs that go around.
#include "algorithms/algorithms.hpp"
#include "algorithms/disseminate.hpp"
#include "algorithms/halving.hpp"
#include "algorithms/moves.hpp"

namespace hcoll {

namespace {

// What each of the algorithms begins with: a plan in one segment, and where the blocks are in it.
struct AllBlocks {
    AllBlocks(const PlanRequest& request, const AlgorithmParameters& parameters)
        : order(BlockOrder::rotated(request.ranks, 0, request.units)),
          plan(request, parameters.pipeline, PlanBuilder::NoPhase{}) {
        plan.begin_whole(request.units * static_cast<std::uint64_t>(request.ranks));
        place = block(request.rank);
        own = own_block(request);
    }

    Region block(int rank) const { return run(rank, rank + 1); }
    Region run(int first, int end) const { return order.in_order(plan.output(), {first, end}); }
    void keep_own() {
        if (!(own == place)) plan.copy(own, place);
    }

    BlockOrder order;
    PlanBuilder plan;
    Region own;    // what the caller contributes
    Region place;  // where that belongs
};

}  // namespace

Plan allgather_linear(const PlanRequest& request, const AlgorithmParameters& parameters) {
    AllBlocks blocks(request, parameters);
    // Everybody begins with the next rank, so that nobody is sent to by all at once.
    for (int away = 1; away < request.ranks; ++away)
        blocks.plan.send((request.rank + request.ranks - away) % request.ranks, blocks.own);
    for (int away = 1; away < request.ranks; ++away) {
        const int from = (request.rank + away) % request.ranks;
        blocks.plan.recv(from, blocks.block(from));
    }
    blocks.keep_own();
    return blocks.plan.finish();
}

Plan allgather_doubling(const PlanRequest& request, const AlgorithmParameters& parameters) {
    AllBlocks blocks(request, parameters);
    const Blocks runs{request.ranks, largest_power_of_two(request.ranks)};
    const int self = runs.block_of(request.rank);
    if (!runs.is_first(request.rank)) {
        // The own block comes back with the others.
        blocks.plan.send(runs.first(self), blocks.own);
        blocks.plan.recv(runs.first(self), blocks.run(0, request.ranks));
        return blocks.plan.finish();
    }
    blocks.keep_own();
    for (int member = request.rank + 1; member < runs.first(self + 1); ++member)
        blocks.plan.recv(member, blocks.block(member));
    for (int length = 1; length < runs.blocks; length *= 2) {
        const int partner = self ^ length;
        const auto run_of = [&](int participant) {
            const int first = participant / length * length;
            return blocks.run(runs.first(first), runs.first(first + length));
        };
        const bool is_alone = run_of(self) == blocks.place;
        blocks.plan.send(runs.first(partner), is_alone ? blocks.own : run_of(self));
        blocks.plan.recv(runs.first(partner), run_of(partner));
    }
    for (int member = request.rank + 1; member < runs.first(self + 1); ++member)
        blocks.plan.send(member, blocks.run(0, request.ranks));
    return blocks.plan.finish();
}

Plan allgather_dissemination(const PlanRequest& request, const AlgorithmParameters& parameters) {
    AllBlocks blocks(request, parameters);
    blocks.keep_own();
    allgather_runs_by_dissemination(blocks.plan, blocks.order, single_edges(request.ranks), request.rank,
                                    parameters.radix, blocks.own, blocks.plan.output());
    return blocks.plan.finish();
}

}  // namespace hcoll
