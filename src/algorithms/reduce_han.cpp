// SPDX-License-Identifier: BSD-3-Clause
// Reduce through the levels of the machine (HAN; with trees at every level, the topology-aware tree).
//
//   sr   socket    : : : :    : : : :    : : : :   segment k is combined on each socket,
//        node      s0 <- s1   s0 <- s1   s0 <- s1  then on each node,
//   ir   network   n0 <====== n1 <====== n2        while segment k - 1 crosses the network
//
// bcast_han.cpp in the opposite direction: every node sends the message once. An operation that does not commute needs the
// ranks of each socket and node to be consecutive (Placement::is_in_rank_order); rank 0 then leads, and sends the result on
// to a root that is another rank. With `network=vendor` leaders use the MPI library's own MPI_Ireduce: leaders are the
// lowest ranks of their nodes, and the one of the root's node sends on to a root that is another rank.
//
// Source: Luo 2020 (thesis), sections 4.2 and 5.3.2; Luo et al. 2020, HAN.
// N nodes: (N - 1) m bytes cross the network, m from each node; (n - 1) m bytes in all, and m more where the result is
// sent on. Steps as in bcast_han.cpp.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan reduce_han(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Placement& placement = *request.placement;
    const bool by_vendor = parameters.network == NetworkModule::vendor && placement.nodes() > 1;
    const int root_node = placement.node_of(request.root);
    // Who ends with the result.
    int leader = request.root;
    if (by_vendor) leader = placement.ranks_of_node(root_node).front();
    if (!by_vendor && request.ordered) leader = 0;

    const Hierarchy levels =
        hierarchy_of(placement, request.rank, by_vendor ? no_rank : leader, parameters.with_sockets);
    const Region own = request.in_place ? plan.output() : plan.input();
    const bool is_root = request.rank == request.root;
    const bool is_leader = request.rank == leader;
    const auto leads = [](const RankGroup& group) { return group.self() == 0 && group.size() > 1; };
    const bool is_among_leaders = by_vendor ? levels.network.has_self() : leads(levels.network);
    const bool combines = is_leader || is_among_leaders || leads(levels.socket) || leads(levels.node);
    const Region result = is_root || !combines ? plan.output() : plan.scratch();

    const Region value = reduce_on_node(plan, levels, parameters.levels, request.ordered, own, result);
    if (levels.network.has_self() && by_vendor) {
        plan.collective(Collective::reduce, root_node, operand_of_leader(plan, value, result), result);
    } else {
        reduce_along(plan, levels.network, 0, parameters.levels.network, request.ordered, value, result);
    }
    if (leader != request.root) {
        if (is_leader) plan.send(request.root, result);
        if (is_root) plan.recv(leader, plan.output());
    }
    if (parameters.split <= 0 || by_vendor) return plan.finish();
    const TreeOfLevels tree(placement, leader, parameters.with_sockets, parameters.levels);
    return cut(
        plan.finish(), Collective::reduce, [&](int rank) { return tree.node(rank); }, request.rank, parameters.split);
}

}  // namespace hcoll
