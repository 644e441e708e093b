// SPDX-License-Identifier: BSD-3-Clause
// Allreduce through the levels of the machine: HAN's pipeline of sr, ir, ib and sb.
//
//   segment      0    1    2    3    4
//   time 0       sr                         sr   reduce on the node (socket by socket)
//        1       ir   sr                    ir   reduce over the network
//        2       ib   ir   sr               ib   broadcast over the network
//        3       sb   ib   ir   sr          sb   broadcast on the node
//        4            sb   ib   ir   sr
//
// All four are in progress at once, on different segments, and ir and ib use opposite directions of the same links. Rank 0
// leads; its bits are what everybody gets. With `network=vendor` ir and ib are one MPI_Iallreduce of the MPI library among
// the leaders. An operation that does not commute needs Placement::is_in_rank_order.
//
// Source: Luo 2020 (thesis), section 5.3.2, figures 5.14 to 5.16; Luo et al. 2020, HAN.
// N nodes: 2 (N - 1) m bytes cross the network: every node but rank 0's sends m up, and its leader m to each child on the way
// down, with a binomial tree ceil(log2 N) m from rank 0's; 2 (n - 1) m bytes in all. Steps: twice those of bcast_han.cpp for
// one segment; what many take together is that of the longest of the four for each more, as far as windows let them.
#include "algorithms/algorithms.hpp"

namespace hcoll {

Plan allreduce_han(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Hierarchy levels = hierarchy_of(*request.placement, request.rank, no_rank, parameters.with_sockets);
    const Region own = request.in_place ? plan.output() : plan.input();
    const Region result = plan.output();

    const Region value = reduce_on_node(plan, levels, parameters.levels, request.ordered, own, result);
    if (parameters.network == NetworkModule::vendor && request.placement->nodes() > 1) {
        if (levels.network.has_self())
            plan.collective(Collective::allreduce, 0, operand_of_leader(plan, value, result), result);
    } else {
        reduce_along(plan, levels.network, 0, parameters.levels.network, request.ordered, value, result);
        bcast_along(plan, levels.network, 0, parameters.levels.network, result);
    }
    bcast_on_node(plan, levels, parameters.levels, result);
    return plan.finish();
}

}  // namespace hcoll
