// Reduce along a rooted tree, segment by segment.
//
//   0 <--(1..7)-- 1 <--(2..3)-- 2 ...        each edge carries the partial result of a whole subtree
//
// Receives from all children are posted at once and may complete in any order; the partial results are combined in the
// order of the plan, own operand first and then the children in ascending order, so that the same call gives the same
// bits every time. Trees are numbered in preorder (tree.hpp), so this is the order of vranks.
//
// An operation that does not commute needs the order of ranks: the tree is then rooted at rank 0, where vrank is rank,
// and rank 0 sends the result on to the root: one step and m bytes more, only if the root is another rank.
//
// Source: Luo 2020 (thesis), section 3.1.
// n ranks, m bytes: steps as in bcast_tree.cpp in the opposite direction; every rank but the root sends m bytes,
// (n - 1) m in total; a node with c children computes c m bytes and needs c segments of scratch per open segment.
#include "algorithms/reduce_tree.hpp"

#include "algorithms/algorithms.hpp"

namespace hcoll {

Region combine_subtree(PlanBuilder& plan, const TreeNode& node, const Region& own, const Region* last_target) {
    Region result = own;
    for (const int child : node.children) {
        const bool is_last = child == node.children.back();
        const Region partial = is_last && last_target != nullptr ? *last_target : plan.scratch();
        plan.recv(child, partial);
        plan.reduce(result, partial);
        result = partial;
    }
    return result;
}

Plan reduce_tree(const PlanRequest& request, const AlgorithmParameters& parameters) {
    const int tree_root = request.ordered ? 0 : request.root;
    const TreeNode node = rooted_tree_node(parameters.tree, request.ranks, request.rank, tree_root);
    PlanBuilder plan(request, parameters.pipeline);

    const bool is_root = request.rank == request.root;
    const Region output = plan.output();
    const Region own = request.in_place ? output : plan.input();
    const bool result_to_output = is_root && request.rank == tree_root && !request.in_place;
    const Region result = combine_subtree(plan, node, own, result_to_output ? &output : nullptr);

    if (node.parent >= 0) plan.send(node.parent, result);
    if (request.rank == tree_root && !is_root) plan.send(request.root, result);
    if (is_root && request.rank != tree_root) plan.recv(tree_root, output);
    if (is_root && request.rank == tree_root && !(result == output)) plan.copy(result, output);
    return plan.finish();
}

}  // namespace hcoll
