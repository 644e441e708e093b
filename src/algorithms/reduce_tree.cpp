// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a rooted tree, segment by segment.
//
//   0 <--(1..7)-- 1 <--(2..3)-- 2 ...        each edge carries the partial result of a whole subtree
//
// Receives from all children are posted at once and may complete in any order; the partial results are combined in the
// order of the plan, so that the same call gives the same bits every time.
//
// An operation that does not commute needs the order of ranks: the tree is then rooted at rank 0, where vrank is rank,
// and rank 0 sends the result on to the root: one step and m bytes more, only if the root is another rank. `flat` and
// `linear` keep the order for any root; `ring`, whose arms meet between neighbors, becomes `linear`.
//
// Source: Luo 2020 (thesis), section 3.1; Herschberg 2021, section 3.5 (ring and linear).
// n ranks, m bytes: steps as in bcast_tree.cpp in the opposite direction, but for these:
//   ring      n > 2: ceil(n / 2) + 2 (S - 1)
//   linear    arms of a <= b ranks, a > 0: max(b + S - 1, a + 2 S - 1); the shorter one delivers while the other fills
//   binary    up to one more where n is not 2^k - 1: subtrees that differ in depth take turns at a port
// Every rank but the root sends m bytes, (n - 1) m in total; a node with c children computes c m bytes and needs c segments
// of scratch per open segment.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan reduce_tree(const PlanRequest& request, const AlgorithmParameters& parameters) {
    Tree tree = parameters.tree;
    if (request.ordered && tree.shape == TreeShape::ring) tree.shape = TreeShape::linear;
    const int tree_root = request.ordered && !keeps_order_to_any_root(tree) ? 0 : request.root;
    PlanBuilder plan(request, parameters.pipeline);
    const bool is_root = request.rank == request.root;
    const Region own = request.in_place ? plan.output() : plan.input();
    const Region result = is_root || request.rank != tree_root ? plan.output() : plan.scratch();
    reduce_along(plan, RankGroup::all(request.ranks, request.rank), tree_root, tree, request.ordered, own, result);
    if (tree_root != request.root) {
        if (request.rank == tree_root) plan.send(request.root, result);
        if (is_root) plan.recv(tree_root, result);
    }
    const auto node_of = [&](int rank) { return tree_node(tree, request.ranks, rank, tree_root); };
    return cut(plan.finish(), Collective::reduce, node_of, request.rank, parameters.split);
}

}  // namespace hcoll
