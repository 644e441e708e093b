// SPDX-License-Identifier: BSD-3-Clause
// Reduce with the same bits for any placement of the same ranks, and for any root.
//
//   ((0 1)(2 3))((4 5)(6 7))        the order in which operands are combined: a binary tree over the ranks, whatever the
//                                   placement, root, or operation. Not where: each combination is made on the node that
//                                   lets the fewest messages cross the network.
//
// With ranks in the order of nodes, 2^k to a node, that is one message from each node; with ranks dealt out in turn, more
// cannot be saved without another order. The result is sent on to the root where that is another rank.
//
// Source: the tree is the one of recursive doubling and of the binomial tree; the fewest changes along the edges of a given
// tree: Fitch 1971, Toward defining the course of evolution: minimum change for a specific tree topology.
// n ranks, m bytes: at most ceil(log2 n) messages on the longest path, (n - 1) m bytes; one and m bytes more where the result
// is sent on, which for the root 0 it never is on one node.
#include "algorithms/algorithms.hpp"
#include "algorithms/reproducible.hpp"

namespace hcoll {

Plan reduce_reproducible(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const bool is_root = request.rank == request.root;
    const Region own = request.in_place ? plan.output() : plan.input();
    const Region result = is_root ? plan.output() : plan.scratch();
    const int top = reduce_canonically(plan, request, request.root, own, result);
    if (top == request.root) return plan.finish();
    if (request.rank == top) plan.send(request.root, result);
    if (is_root) plan.recv(top, result);
    return plan.finish();
}

}  // namespace hcoll
