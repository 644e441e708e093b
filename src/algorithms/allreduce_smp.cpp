// SPDX-License-Identifier: BSD-3-Clause
// Allreduce with one leader per node (SMP).
//
//   node 0: 0 <- 1 2 3      node 1: 4 <- 5 6 7       reduce to the leader of the node
//           0 <------------------>  4                exchange among leaders (recursive doubling, or a larger radix)
//   node 0: 0 -> 1 2 3      node 1: 4 -> 5 6 7       broadcast on the node
//
// The network carries each node's operand once per step, but only one rank of each node uses it.
//
// Source: Zhu, Goodell, Gropp, Thakur 2009, Hierarchical collectives in MPICH2; Bienz, Olson, Gropp 2019, section II-A,
// figure 4 and equation 5.
// N = k^t nodes: t exchanges over the network, with k = 2 as many steps; t (k - 1) m bytes sent by each node, N t (k - 1) m
// in all; other N as in allreduce_recursive_multiplying.cpp. On the node, the trees' steps up and down, 2 (ranks - 1) m bytes
// per node. Equation 5 leaves out those on the way down.
#include "algorithms/algorithms.hpp"
#include "algorithms/exchange.hpp"

namespace hcoll {

Plan allreduce_smp(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Hierarchy levels = hierarchy_of(*request.placement, request.rank, no_rank, parameters.with_sockets);
    const Region own = request.in_place ? plan.output() : plan.input();
    const Region value = reduce_on_node(plan, levels, parameters.levels, request.ordered, own, plan.output());
    allreduce_exchange(plan, levels.network, parameters.radix, value, plan.output());
    bcast_on_node(plan, levels, parameters.levels, plan.output());
    return plan.finish();
}

}  // namespace hcoll
