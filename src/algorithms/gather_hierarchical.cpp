// SPDX-License-Identifier: BSD-3-Clause
// Gather and Scatter with one leader per node.
//
//   node 0: 0 <- 1 2 3      node 1: 4 <- 5 6 7       the blocks of a node are collected by its leader
//           0 <---4567----  4                        and cross the network in one message
//
// The order is that of nodes, the root's first, and of ranks within a node, the leader first; the root leads its node,
// the lowest ranks lead the others. So a node's blocks are one run wherever its ranks are. Where they are not
// consecutive, the root receives the run as it is and copies each block to its place: one message crosses the network
// all the same. With a tree among leaders that is not flat, leaders collect the runs of the nodes below them as well.
// Scatter is the same backwards.
//
// Source: Zhu, Goodell, Gropp, Thakur 2009, Hierarchical collectives in MPICH2; Karonis et al. 2000, Exploiting
// hierarchy in parallel computer networks to optimize collective operation performance.
// N nodes of p ranks, blocks of m bytes: N - 1 messages and (N - 1) p m bytes cross the network with a flat tree among
// leaders, each block once. On each node p - 1 messages; with a binomial tree, ceil(log2 p) steps and p/2 log2 p m
// bytes for p = 2^k.
#include "algorithms/algorithms.hpp"
#include "algorithms/moves.hpp"

namespace hcoll {

namespace {

struct NodeOrder {
    std::vector<int> ranks;  // by position
    std::vector<int> edges;  // where a node's positions begin
};

NodeOrder order_of_nodes(const Placement& placement, int root) {
    const int root_node = placement.node_of(root);
    NodeOrder order{.ranks = {}, .edges = {0}};
    for (int i = 0; i < placement.nodes(); ++i) {
        const auto members = placement.ranks_of_node((root_node + i) % placement.nodes());
        if (i == 0) order.ranks.push_back(root);
        for (const int rank : members)
            if (rank != root) order.ranks.push_back(rank);
        order.edges.push_back(static_cast<int>(order.ranks.size()));
    }
    return order;
}

Plan by_nodes(Direction direction, const PlanRequest& request, const AlgorithmParameters& parameters) {
    const Placement& placement = *request.placement;
    return plan_of_moves(request, parameters.pipeline, direction, [&](Moves& moves) {
        NodeOrder nodes = order_of_nodes(placement, request.root);
        const BlockOrder order(std::move(nodes.ranks), request.units);
        const int self = order.position_of(request.rank);
        const int node =
            (placement.node_of(request.rank) - placement.node_of(request.root) + placement.nodes()) % placement.nodes();
        const int first = nodes.edges[static_cast<std::size_t>(node)];
        std::vector<int> on_node = single_edges(nodes.edges[static_cast<std::size_t>(node) + 1] - first);
        for (int& edge : on_node) edge += first;
        Subtree subtree;
        subtree.add_level(parameters.levels.node, on_node, self - first);
        if (self == first) subtree.add_level(parameters.levels.network, nodes.edges, node);
        gather_along(moves, order, subtree, own_block(request), Apart::copies);
    });
}

}  // namespace

Plan gather_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return by_nodes(Direction::gather, request, parameters);
}
Plan scatter_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return by_nodes(Direction::scatter, request, parameters);
}

}  // namespace hcoll
