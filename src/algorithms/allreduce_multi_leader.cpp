// SPDX-License-Identifier: BSD-3-Clause
// Allreduce with several leaders per node, each for a slice of the vector (DPML).
//
//   node      0 1 2 3        slice 0 of all to leader 0, slice 1 to leader 1, ...: reduced inside the node
//             | | | |
//   network   0-4 1-5 2-6    one allreduce per slice, all at once, over the leaders of that slice
//             | | | |
//   node      0 1 2 3        every leader gives its slice to all
//
// On the node each slice goes along a tree to its leader, and back: flat ones as drawn, or chains or binomial trees, of which
// every leader roots one, so that all ranks work at once. With as many leaders as ranks, chains are a ring's reduce-scatter and
// allgather, and binomial trees do the same in a logarithm of steps.
//
// The network is used by L ranks of each node at once, each with m/L bytes. Leaders are spread over the node's ranks, and
// so over its sockets; a node with fewer ranks bounds L for all, and so do 64 slices, of which each may pass between the same two
// ranks. A ring of more than 65 nodes does as Rabenseifner's. An operation that does not commute needs
// Placement::is_in_rank_order.
//
// Source: Bayatpour et al. 2017 (SC17), Scalable reduction collectives with data partitioning-based multi-leader design.
// N = 2^t nodes, p ranks each: over the network, recursive multiplying with radix 2 takes t steps and t m bytes per node,
// Rabenseifner's 2 t steps and 2 (N - 1)/N m bytes per node, a share of 1/L by each leader; a ring the same bytes in
// 2 (N - 1) steps, for any N. On the node 2 (p - 1) m bytes: a
// leader receives p - 1 messages of m/L bytes one after another and in the end sends as many, of which none waits for another:
// two messages on the longest path. With chains 2 (p - 1) messages, with binomial trees 2 floor(log2 p); where all p ranks are
// leaders, each rank sends 2 (p - 1)/p m of the 2 (p - 1) m, whatever the tree.
#include "algorithms/algorithms.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/halving.hpp"

namespace hcoll {

namespace {

// The ranks that lead a slice, node by node.
RankGroup leaders_of_slice(const Placement& placement, int slice, int slices, int rank) {
    std::vector<int> leaders;
    for (int node = 0; node < placement.nodes(); ++node) {
        const auto ranks = placement.ranks_of_node(node);
        leaders.push_back(ranks[static_cast<std::size_t>(slice) * ranks.size() / static_cast<std::size_t>(slices)]);
    }
    return {std::move(leaders), rank};
}

// Every member is the end of a chain for its share of the region, which then goes back along it: around a ring, all members
// send all the time, each to one peer only.
void allreduce_chains(PlanBuilder& plan, const RankGroup& group, const Region& region) {
    const Tree chain{.shape = TreeShape::chain};
    const auto share = [&](int member) { return piece_of(region, member, group.size()); };
    for (int member = 0; member < group.size(); ++member)
        reduce_along(plan, group, member, chain, false, share(member), share(member));
    for (int member = 0; member < group.size(); ++member) bcast_along(plan, group, member, chain, share(member));
}

}  // namespace

Plan allreduce_multi_leader(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const Placement& placement = *request.placement;
    const RankGroup node(placement.ranks_of_node(placement.node_of(request.rank)), request.rank);
    const int slices =
        std::min({parameters.leaders, placement.fewest_ranks_of_a_node(), static_cast<int>(max_channels)});
    // Between two neighbors passes the share of each leader but one.
    const bool has_ring = placement.nodes() - 1 <= static_cast<int>(max_channels) && !request.ordered;
    const Region own = request.in_place ? plan.output() : plan.input();
    // Only that one is in the order of ranks, whoever leads.
    const Tree tree = request.ordered ? Tree{.shape = TreeShape::flat} : parameters.levels.node;
    const auto leader = [&](int slice) { return slice * node.size() / slices; };
    const auto result = [&](int slice) { return piece_of(plan.output(), slice, slices); };

    for (int slice = 0; slice < slices; ++slice)
        reduce_along(plan, node, leader(slice), tree, request.ordered, piece_of(own, slice, slices), result(slice));
    for (int slice = 0; slice < slices; ++slice) {
        if (leader(slice) != node.self()) continue;
        const RankGroup leaders = leaders_of_slice(placement, slice, slices, request.rank);
        if (parameters.exchange == Exchange::recursive_multiplying)
            allreduce_exchange(plan, leaders, parameters.radix, result(slice), result(slice));
        else if (parameters.exchange == Exchange::rabenseifner || !has_ring)
            allreduce_halving(plan, leaders, request.ordered, result(slice), result(slice));
        else
            allreduce_chains(plan, leaders, result(slice));
    }
    for (int slice = 0; slice < slices; ++slice) bcast_along(plan, node, leader(slice), tree, result(slice));
    return plan.finish();
}

}  // namespace hcoll
