// SPDX-License-Identifier: BSD-3-Clause
// Bcast as a scatter of the message and an allgather of its pieces.
//
//   scatter      0 --23--> 2      0 --1--> 1, 2 --3--> 3      binomial: each rank ends with its own piece
//   allgather    doubling: 0-1, 2-3, then 0-2, 1-3            or around a ring: pieces go from rank to rank
//
// Every rank sends, where in a tree half of them only receive. With doubling, n = p + r ranks with p the largest power of
// two: p of them take part (in vranks, runs of one or two), and r get the whole message from a neighbor at the end. The ring
// takes any number, and its plan does not grow with it; it runs in the order of vranks.
//
// Source: van de Geijn's broadcast: Barnett et al. 1994, Interprocessor collective communication library; Thakur,
// Rabenseifner, Gropp 2005, section 4.2.
// n ranks, m bytes. Doubling: 2 log2 p steps and one where n > p; 2 (p - 1)/p m bytes sent by the root, and m more by whoever
// has a neighbor to serve (the root is one where n > p); in total (p - 1) m for the allgather, (log2 p)/2 m for the scatter and
// r m. Ring: ceil(log2 n) + n - 1 steps, 2 (n - 1)/n m bytes sent by the root; in total (n - 1) m for the allgather and, with
// n a power of two, (log2 n)/2 m for the scatter.
#include "algorithms/algorithms.hpp"
#include "algorithms/halving.hpp"
#include "algorithms/ring.hpp"

namespace hcoll {

namespace {

// Along a binomial tree over `count` participants, each of which ends with what `pieces(first, count)` says of its subtree.
template <typename PiecesOf, typename RankOf>
void scatter_pieces(PlanBuilder& plan, int count, int self, const PiecesOf& pieces, const RankOf& rank_of) {
    const TreeNode node = tree_node({.shape = TreeShape::binomial}, count, self, 0);
    const auto subtree = [&](int child) { return pieces(child, std::min(child + (child & -child), count)); };
    if (node.parent >= 0) plan.recv(rank_of(node.parent), subtree(self));
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
        plan.send(rank_of(*child), subtree(*child));
}

// An aligned run of pieces doubles in each round.
template <typename PiecesOf, typename RankOf>
void allgather_runs(PlanBuilder& plan, int count, int self, const PiecesOf& pieces, const RankOf& rank_of) {
    for (int length = 1; length < count; length *= 2) {
        const int partner = self ^ length;
        const auto run = [&](int participant) {
            const int first = participant / length * length;
            return pieces(first, first + length);
        };
        plan.send(rank_of(partner), run(self));
        plan.recv(rank_of(partner), run(partner));
    }
}

}  // namespace

Plan bcast_scatter_allgather(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Region data = plan.output();
    const Blocks blocks{request.ranks, largest_power_of_two(request.ranks)};
    const int vrank = (request.rank - request.root + request.ranks) % request.ranks;
    const int block = blocks.block_of(vrank);
    const auto rank_at = [&](int v) { return (v + request.root) % request.ranks; };
    const auto rank_of = [&](int participant) { return rank_at(blocks.first(participant)); };
    if (!blocks.is_first(vrank)) {
        plan.recv(rank_of(block), data);
        return plan.finish();
    }
    const auto pieces = [&](int first, int end) {
        return span_of(piece_of(data, first, blocks.blocks), piece_of(data, end - 1, blocks.blocks));
    };
    scatter_pieces(plan, blocks.blocks, block, pieces, rank_of);
    allgather_runs(plan, blocks.blocks, block, pieces, rank_of);
    for (int member = 1; member < blocks.size(block); ++member) plan.send(rank_at(vrank + member), data);
    return plan.finish();
}

Plan bcast_scatter_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    if (request.ranks == 1) return bcast_tree(request, parameters);
    const int size = request.ranks;
    std::vector<int> by_vrank(static_cast<std::size_t>(size));
    for (int vrank = 0; vrank < size; ++vrank)
        by_vrank[static_cast<std::size_t>(vrank)] = (vrank + request.root) % size;
    const RankGroup ring(std::move(by_vrank), request.rank);
    const std::uint64_t chunk_units =
        (request.units + static_cast<std::uint64_t>(size) - 1) / static_cast<std::uint64_t>(size);

    PlanBuilder plan(request, parameters.pipeline, PlanBuilder::NoPhase{});
    plan.begin_whole(request.units);
    const auto pieces = [&](int first, int end) {
        Region run = plan.output();
        run.begin = std::min(request.units, static_cast<std::uint64_t>(first) * chunk_units);
        run.length = std::min(request.units, static_cast<std::uint64_t>(end) * chunk_units) - run.begin;
        return run;
    };
    scatter_pieces(plan, size, ring.self(), pieces, [&](int vrank) { return ring.rank(vrank); });
    allgather_around_ring(plan, ring, request.units, chunk_units, ring.self());
    return plan.finish();
}

}  // namespace hcoll
