// SPDX-License-Identifier: BSD-3-Clause
// Allgather with one leader per node.
//
//   node 0: 0 <- 1 2 3      node 1: 4 <- 5 6 7       the blocks of a node are collected by its leader
//           0 <------------------>  4                leaders exchange their nodes' blocks (dissemination)
//   node 0: 0 -> 1 2 3      node 1: 4 -> 5 6 7       broadcast of all blocks on the node
//
// Each node's blocks cross into every other node once, and one rank of each node uses the network. Where the order of
// nodes is that of ranks, leaders collect and exchange in the output. Where it is not, they do so in scratch, in the
// order of nodes, so that every node is one run, and copy what they have to its place.
//
// Source: Zhu, Goodell, Gropp, Thakur 2009, Hierarchical collectives in MPICH2; Traeff 2006, Efficient allgather for
// regular SMP-clusters.
// N nodes of p ranks, n in all, blocks of m bytes: ceil(log_k N) network steps with radix k; (N - 1) n m bytes cross
// the network, n - p blocks into each node; s N + N - 1 - s messages for s of each leader (disseminate.hpp). On each
// node 2 (p - 1) messages; with a binomial tree 2 ceil(log2 p) steps, and p/2 log2 p m + (p - 1) n m bytes for p = 2^k.
#include "algorithms/algorithms.hpp"
#include "algorithms/disseminate.hpp"
#include "algorithms/moves.hpp"

namespace hcoll {

Plan allgather_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters) {
    const Placement& placement = *request.placement;
    const int node = placement.node_of(request.rank);
    std::vector<int> by_node;
    std::vector<int> edges = {0};
    for (int each = 0; each < placement.nodes(); ++each) {
        const auto members = placement.ranks_of_node(each);
        by_node.insert(by_node.end(), members.begin(), members.end());
        edges.push_back(static_cast<int>(by_node.size()));
    }
    const BlockOrder order(std::move(by_node), request.units);
    const int self = order.position_of(request.rank);
    const int first = edges[static_cast<std::size_t>(node)];
    std::vector<int> on_node = single_edges(edges[static_cast<std::size_t>(node) + 1] - first);
    for (int& edge : on_node) edge += first;

    PlanBuilder plan(request, parameters.pipeline, PlanBuilder::NoPhase{});
    plan.begin_whole(request.units * static_cast<std::uint64_t>(request.ranks));
    const Region own = own_block(request);
    Subtree subtree;
    subtree.add_level(parameters.levels.node, on_node, self - first);
    Moves moves(plan);
    if (self != first) {
        gather_along(moves, order, subtree, own, Apart::copies);
        moves.carry_out(Direction::gather);
    } else {
        const std::vector<Run> runs = order.consecutive(order.all());
        const Region memory = runs.size() == 1 ? plan.output() : order.scratch(plan, order.all());
        collect(moves, order, subtree, own, memory);
        moves.carry_out(Direction::gather);
        const Run of_node{first, on_node.back()};
        allgather_runs_by_dissemination(plan, order, edges, node, parameters.radix, order.in_order(memory, of_node),
                                        memory);
        if (runs.size() > 1)
            for (const Run& run : runs) plan.copy(order.in_order(memory, run), order.by_rank(Buffer::output, run));
    }
    bcast_along(plan, RankGroup(placement.ranks_of_node(node), request.rank), 0, parameters.levels.node, plan.output());
    return plan.finish();
}

}  // namespace hcoll
