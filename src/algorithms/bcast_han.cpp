// SPDX-License-Identifier: BSD-3-Clause
// Bcast through the levels of the machine (HAN; with trees at every level, the topology-aware tree).
//
//   ib   network   n0 ======> n1 ======> n2        segment k crosses the network
//   sb   node      s0 -> s1   s0 -> s1   s0 -> s1  while segment k - 1 goes to the sockets
//        socket    : : : :    : : : :    : : : :   and segment k - 2 to the ranks of each
//
// The message enters every node once. Each level has a tree of its own; segments flow through all levels as a pipeline,
// and nothing but its own data holds a segment back. The root leads its socket, its node and all nodes, by swaps
// (hierarchy.hpp). With `network=vendor` leaders use the MPI library's own MPI_Ibcast: leaders are then the lowest ranks of
// their nodes, whoever the root is, and a root that is none of them sends to the one of its node first.
//
// Where the messages of a leader to several nodes share its port, all of them take as long as the last. With `in_turn=yes` each
// leaves when the one before has left: the first, which has the longest way to go, is there sooner and the last no later. (Messages
// that MPI copies away at once leave together all the same.)
//
// Source: Luo 2020 (thesis), sections 4.2 and 5.3.1, figures 5.6 and 5.7; Luo et al. 2020, HAN.
// N nodes: (N - 1) m bytes cross the network, m into each node; in all, (n - 1) m bytes are received. Steps are those of
// the trees one after the other: with binomial ones, ceil(log2 N) over the network, ceil(log2 sockets) on the node and
// ceil(log2 ranks of a socket), and the root sends as many m bytes; with chains N - 1, sockets - 1 and ranks of a socket - 1,
// and a rank sends 3 m bytes at most. With `network=vendor` n - N messages are left to this plan.
#include "algorithms/algorithms.hpp"

namespace hcoll {

namespace {

// `root` is no leader, and the leader of its node has got the message by the collective's time: it is left out of its node.
void bcast_with_vendor(PlanBuilder& plan, const PlanRequest& request, const AlgorithmParameters& parameters) {
    const Placement& placement = *request.placement;
    const int root_node = placement.node_of(request.root);
    const int leader = placement.ranks_of_node(placement.node_of(request.rank)).front();
    const int leader_of_root = placement.ranks_of_node(root_node).front();
    const Region data = plan.output();
    const bool root_leads = leader_of_root == request.root;
    if (!root_leads && request.rank == request.root) plan.send(leader_of_root, data);
    if (!root_leads && request.rank == leader_of_root) plan.recv(request.root, data);
    if (request.rank == leader) {
        const bool sends = leader == leader_of_root;
        plan.collective(Collective::bcast, root_node, sends ? data : Region{}, sends ? Region{} : data);
    }
    const bool on_root_node = leader == leader_of_root;
    bcast_on_node(plan,
                  hierarchy_of(placement, request.rank, request.root, parameters.with_sockets,
                               on_root_node && !root_leads ? leader : no_rank),
                  parameters.levels, data);
}

}  // namespace

Plan bcast_han(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    if (parameters.network == NetworkModule::vendor && request.placement->nodes() > 1) {
        bcast_with_vendor(plan, request, parameters);
        return plan.finish();
    }
    const Hierarchy levels = hierarchy_of(*request.placement, request.rank, request.root, parameters.with_sockets);
    bcast_along(plan, levels.network, 0, parameters.levels.network, plan.output());
    bcast_on_node(plan, levels, parameters.levels, plan.output());
    if (parameters.split <= 0) return plan.finish();
    const TreeOfLevels tree(*request.placement, request.root, parameters.with_sockets, parameters.levels);
    return cut(
        plan.finish(), Collective::bcast, [&](int rank) { return tree.node(rank); }, request.rank, parameters.split);
}

}  // namespace hcoll
