// SPDX-License-Identifier: BSD-3-Clause
// Gather and Scatter along a tree.
//
//   linear, root 0      0 <- 1   0 <- 2   0 <- 3          binomial      1 -> 0   3 -> 2   5 -> 4   7 -> 6
//                                                         (n = 8)       23 -> 0           67 -> 4
//                                                                       4567 -> 0
//
// Ranks are told in vranks, rotated so that the root is 0: a subtree is a run of vranks, which its first one collects
// and sends in one message. Where such a run goes around from rank n - 1 to rank 0, it is two in the root's buffer and
// travels the last step in two messages. Inner nodes hold no more than their subtree. Scatter is the same backwards.
//
// Source: Chan et al. 2007, Collective communication: theory, practice, and experience (minimum spanning tree gather
// and scatter); Thakur, Rabenseifner, Gropp 2005, section 4.2 (the scatter of their broadcast).
// n ranks, blocks of m bytes, (n - 1) m bytes received by the root (Scatter: sent).
// linear: n - 1 messages one after another at the root, (n - 1) m bytes in total; nobody else forwards.
// binomial: ceil(log2 n) steps; the block of vrank v is sent as often as v has ones in binary: n/2 log2 n m bytes in
// total for n = 2^k; n - 1 messages, and one more where a run goes around, which is one more at the root's port.
#include "algorithms/algorithms.hpp"
#include "algorithms/moves.hpp"

namespace hcoll {

namespace {

Plan along(TreeShape shape, Direction direction, const PlanRequest& request, const AlgorithmParameters& parameters) {
    return plan_of_moves(request, parameters.pipeline, direction, [&](Moves& moves) {
        const BlockOrder order = BlockOrder::rotated(request.ranks, request.root, request.units);
        Subtree node;
        node.add_level({.shape = shape}, single_edges(request.ranks), order.position_of(request.rank));
        gather_along(moves, order, node, own_block(request), Apart::messages);
    });
}

}  // namespace

Plan gather_linear(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return along(TreeShape::flat, Direction::gather, request, parameters);
}
Plan gather_binomial(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return along(TreeShape::binomial, Direction::gather, request, parameters);
}
Plan scatter_linear(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return along(TreeShape::flat, Direction::scatter, request, parameters);
}
Plan scatter_binomial(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return along(TreeShape::binomial, Direction::scatter, request, parameters);
}

}  // namespace hcoll
