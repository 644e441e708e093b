// SPDX-License-Identifier: BSD-3-Clause
// Bcast along a rooted tree, segment by segment.
//
//   root 0 --s2--> 1 --s1--> 2 --s0--> 3        (chain: three segments under way at once)
//
// Each rank receives a segment from its parent and passes it on to its children; segments and children are independent,
// so that a slow child delays nobody but its own subtree. `ring` and `linear` use links between neighbors only.
//
// Source: Luo 2020 (thesis), section 3.1; Herschberg 2021, section 3.5 (neighbors); Sanders, Speck, Traeff 2009 (two
// trees); trees in tree.hpp and two_tree.hpp.
// n ranks, S segments of m/S bytes; steps are messages on the longest path, a rank sending and receiving one at a time:
//   flat      S (n - 1) steps, (n - 1) m bytes sent by the root
//   chain     n - 1 + S - 1 steps, m bytes sent by each rank but the last
//   ring      n > 2: floor(n / 2) + 1 + 2 (S - 1) steps (the shorter arm is sent to first), 2 m bytes sent by the root
//   linear    root r between others: max(n - 1 - r, r + 1) + 2 (S - 1) steps, 2 m bytes sent by the root; at an end: chain
//   binary    at most 2 floor(log2 n) + 2 (S - 1) steps, and as many where n = 2^k - 1; at most 2 m bytes sent by a rank
//   binomial  ceil(log2 n) steps unsegmented, ceil(log2 n) m bytes sent by the root
//   k_nomial  radix k, unsegmented: as many steps, and m bytes sent by the root, as it has children: with d k^h the highest
//             digit of n - 1, h (k - 1) + d, at most (k - 1) ceil(log_k n)
//   two_tree  2 S + 2 log2 n steps of m/2S bytes if ports never met; with those that do, up to S/2 + 2 more (n <= 65); at
//             most m bytes sent by a rank
// In all of them m bytes are received by each rank but the root: (n - 1) m in total.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan bcast_tree(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    bcast_along(plan, RankGroup::all(request.ranks, request.rank), request.root, parameters.tree, plan.output());
    const auto node_of = [&](int rank) { return tree_node(parameters.tree, request.ranks, rank, request.root); };
    return cut(plan.finish(), Collective::bcast, node_of, request.rank, parameters.split);
}

}  // namespace hcoll
