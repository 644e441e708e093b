// SPDX-License-Identifier: BSD-3-Clause
// Allreduce with the same bits for any placement of the same ranks: the reduction of reduce_reproducible.cpp, and a
// broadcast from wherever that ends through the levels of the machine, which enters every node once.
//
// Source: see reduce_reproducible.cpp and bcast_han.cpp.
// n ranks, N nodes, m bytes: at most ceil(log2 n) messages on the longest path, then those of the trees; 2 (n - 1) m bytes, of
// which (N - 1) m cross the network on the way down, and on the way up as few as the order of the combinations allows:
// (N - 1) m with ranks in the order of nodes, 2^k to a node.
#include "algorithms/algorithms.hpp"
#include "algorithms/reproducible.hpp"

namespace hcoll {

Plan allreduce_reproducible(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Region own = request.in_place ? plan.output() : plan.input();
    const int top = reduce_canonically(plan, request, 0, own, plan.output());
    const Hierarchy levels = hierarchy_of(*request.placement, request.rank, top, parameters.with_sockets);
    bcast_along(plan, levels.network, 0, parameters.levels.network, plan.output());
    bcast_on_node(plan, levels, parameters.levels, plan.output());
    return plan.finish();
}

}  // namespace hcoll
