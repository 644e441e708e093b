// Bcast along a rooted tree, segment by segment.
//
//   root 0 --s2--> 1 --s1--> 2 --s0--> 3        (chain: three segments under way at once)
//
// Each rank receives a segment from its parent and passes it on to its children; segments and children are independent,
// so that a slow child delays nobody but its own subtree.
//
// Source: Luo 2020 (thesis), section 3.1; trees in tree.hpp.
// n ranks, S segments of m/S bytes; steps are message latencies on the longest path:
//   chain     n - 1 + S - 1 steps, m bytes sent by each rank but the last
//   binary    at most 2 floor(log2 n) + 2 (S - 1) steps, at most 2 m bytes sent by a rank
//   binomial  ceil(log2 n) steps unsegmented, ceil(log2 n) m bytes sent by the root
// In all of them m bytes are received by each rank but the root: (n - 1) m in total.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan bcast_tree(const PlanRequest& request, const AlgorithmParameters& parameters) {
    const TreeNode node = rooted_tree_node(parameters.tree, request.ranks, request.rank, request.root);
    PlanBuilder plan(request, parameters.pipeline);
    if (node.parent >= 0) plan.recv(node.parent, plan.output());
    // The largest subtree, which is the last child, has the longest way to go and gets the segment first.
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) plan.send(*child, plan.output());
    return plan.finish();
}

}  // namespace hcoll
