// SPDX-License-Identifier: BSD-3-Clause
// Node-aware parallel Allreduce (NAP): every rank of a node talks to another node in the same step.
//
//   node 0      node 1      node 2      node 3        4 ranks each; lane r of a node is for subgroup (here: node) r
//   0 1 2 3     4 5 6 7     8 9 a b     c d e f
//     1---------4             rank 1 of node 0 and rank 0 of node 1 exchange what their nodes have,
//       2---------------------8         and so on for every pair of nodes: one step over the network;
//         3-------------------------------c    then the ranks of each node combine what they received
//
// Before: an allreduce among the ranks of the node that will have a lane (others give them their operands before, and get
// the result at the end). Step i merges up to k subgroups of k^(i-1) nodes into groups of k^i (k: the radix, the
// ranks of a node if not said). The node at position x of subgroup m exchanges with the one at position x of each other
// subgroup r, by its lane r and the other's lane m. Afterwards the node combines: lane m contributes what the node had.
//
// Any number of nodes: groups are cut into nearly equal subgroups, which differ by one node at most. A node that has no
// partner in a shorter subgroup gets that subgroup's sum from the lane of one of its nodes that is idle otherwise (the one
// for its own subgroup). Any number of ranks per node: one that has fewer ranks than there are lanes uses some for several.
//
// Source: Bienz, Olson, Gropp 2019, algorithm III, figures 6 to 9, section III-A and equation 6.
// N nodes of p ranks, k = p: ceil(log_p N) messages over the network follow one another. N = p^t, p a power of two: t network
// steps, in each of which a node sends p - 1 messages of m bytes, one by each rank (N t (p - 1) m bytes over the network), and
// on the node 1 + t allreduces of log2 p messages one after another, N p log2 p m bytes each. The rank that is idle in a
// network step begins the next of them early: its message can take the port that one from another node needs, up to two steps
// more for each. Other N or p: ranks are not all as far when they exchange, and the same makes it up to twice the network steps.
// With exchange=rabenseifner the ranks of a node combine pieces (halving.hpp): 2 log2 p messages one after another in place of log2 p,
// and 2 N (p - 1) m bytes on the node for each allreduce there in place of N p log2 p m: less time from about 1 KB on.
// Equation 6 is this with an operation more for each network step, and with p senders where only p - 1 are busy at a time.
// An operation that does not commute needs Placement::is_in_rank_order.
#include "algorithms/algorithms.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/halving.hpp"
#include "algorithms/node_merges.hpp"

namespace hcoll {

namespace {

class Nap {
public:
    Nap(PlanBuilder& plan, const PlanRequest& request, int radix, Exchange on_node)
        : plan_(plan),
          placement_(*request.placement),
          radix_(radix),
          on_node_(on_node),
          ordered_(request.ordered),
          node_(placement_.node_of(request.rank)),
          merges_(merges_of(node_, placement_.nodes(), radix)),
          blocks_(blocks_of_node(static_cast<int>(placement_.ranks_of_node(node_).size()), merges_)),
          workers_(firsts_of_blocks(), request.rank),
          block_(block_of(placement_.index_on_node(request.rank)), request.rank) {}

    void build(const Region& own) {
        const Region result = plan_.output();
        if (block_.size() > 1) reduce_along(plan_, block_, 0, {.shape = TreeShape::binomial}, ordered_, own, result);
        if (workers_.has_self()) {
            allreduce_on_node(workers_, ordered_, block_.size() > 1 ? result : own);
            for (const Merge& group : merges_) merge(group);
        }
        bcast_along(plan_, block_, 0, {.shape = TreeShape::binomial}, result);
    }

private:
    std::vector<int> firsts_of_blocks() const {
        std::vector<int> firsts;
        firsts.reserve(static_cast<std::size_t>(blocks_.blocks));
        for (int block = 0; block < blocks_.blocks; ++block)
            firsts.push_back(placement_.ranks_of_node(node_)[static_cast<std::size_t>(blocks_.first(block))]);
        return firsts;
    }
    RankList block_of(int index) const {
        const int block = blocks_.block_of(index);
        return placement_.ranks_of_node(node_).subspan(static_cast<std::size_t>(blocks_.first(block)),
                                                       static_cast<std::size_t>(blocks_.size(block)));
    }

    // What the caller's lanes receive in a step is combined in the order of lanes, and then with that of the other ranks.
    void merge(const Merge& group) {
        const Blocks& subgroups = group.subgroups;
        const Lanes lanes{subgroups.blocks, blocks_.members};
        const int mine = subgroups.block_of(node_ - group.first);
        const int position = node_ - group.node(mine, 0);
        std::vector<Region> operands;
        std::vector<int> block_of_operand;
        for (int lane = 0; lane < lanes.lanes; ++lane) {
            if (lanes.rank_of(lane) != workers_.self()) continue;
            if (lane == mine) serve_longer_subgroups(group, mine, position);
            operands.push_back(lane == mine ? plan_.output() : receive(group, lane, mine, position));
            block_of_operand.push_back(lanes.blocks().block_of(lane));
        }
        const std::vector<Region> all = operands;
        combine_as_exchange_would(operands, block_of_operand);
        // In the order of lanes, also where that is not asked for: every node is to get the same bits from the same operands.
        if (!operands.empty()) allreduce_on_node(first_workers(lanes.contributors()), true, operands.back());
        pass_on(lanes.contributors());
        for (const Region& operand : all)
            if (operand.buffer == Buffer::scratch) plan_.release(operand);
    }

    // Of the members' operands, into the output.
    void allreduce_on_node(const RankGroup& members, bool ordered, const Region& own) {
        if (on_node_ == Exchange::rabenseifner)
            allreduce_halving(plan_, members, ordered, own, plan_.output());
        else
            allreduce_exchange(plan_, members, 2, own, plan_.output());
    }
    RankGroup first_workers(int count) const {
        std::vector<int> first = firsts_of_blocks();
        first.resize(static_cast<std::size_t>(count));
        return {std::move(first), workers_.rank(workers_.self())};
    }
    // The first `count` workers give what they have to an equal share of the others each.
    void pass_on(int count) {
        std::vector<int> share;
        for (int worker = workers_.self() % count; worker < workers_.size(); worker += count)
            share.push_back(workers_.rank(worker));
        bcast_along(plan_, RankGroup(std::move(share), workers_.rank(workers_.self())), 0,
                    {.shape = TreeShape::binomial}, plan_.output());
    }

    // Blocks first, then neighbors, until one operand is left.
    void combine_as_exchange_would(std::vector<Region>& operands, std::vector<int>& blocks) {
        while (operands.size() > 1) {
            std::vector<Region> combined;
            std::vector<int> combined_blocks;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                if (!combined.empty() && combined_blocks.back() == blocks[i]) {
                    plan_.reduce(combined.back(), operands[i]);
                    combined.back() = operands[i];
                } else {
                    combined.push_back(operands[i]);
                    combined_blocks.push_back(blocks[i]);
                }
            }
            for (int& block : combined_blocks) block /= 2;
            operands = std::move(combined);
            blocks = std::move(combined_blocks);
        }
    }

    int rank_for(int node, int lane, int lanes) const {
        const auto ranks = placement_.ranks_of_node(node);
        const int count = static_cast<int>(ranks.size());
        const Blocks blocks = blocks_of_node(count, merges_of(node, placement_.nodes(), radix_));
        return ranks[static_cast<std::size_t>(blocks.first(Lanes{lanes, count}.rank_of(lane)))];
    }

    Region receive(const Merge& group, int from, int mine, int position) {
        const Region operand = plan_.scratch();
        const int lanes = group.subgroups.blocks;
        const int size = group.subgroups.size(from);
        if (position < size) {
            const int partner = rank_for(group.node(from, position), mine, lanes);
            plan_.send(partner, plan_.output());
            plan_.recv(partner, operand);
        } else {
            plan_.recv(rank_for(group.node(from, mine % size), from, lanes), operand);
        }
        return operand;
    }

    // To the last node of each longer subgroup, which has no partner in this one; its nodes take turns.
    void serve_longer_subgroups(const Merge& group, int mine, int position) {
        const int size = group.subgroups.size(mine);
        for (int other = 0; other < group.subgroups.blocks; ++other)
            if (group.subgroups.size(other) > size && other % size == position)
                plan_.send(rank_for(group.node(other, size), mine, group.subgroups.blocks), plan_.output());
    }

    PlanBuilder& plan_;
    const Placement& placement_;
    int radix_;
    Exchange on_node_;
    bool ordered_;
    int node_;
    std::vector<Merge> merges_;
    Blocks blocks_;      // of the node's ranks
    RankGroup workers_;  // the first of each block
    RankGroup block_;    // the caller's
};

}  // namespace

Plan allreduce_nap(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    const int nodes = request.placement->nodes();
    const int radix = parameters.radix != 0 ? parameters.radix : std::max(2, request.ranks / nodes);
    Nap(plan, request, radix, parameters.exchange).build(request.in_place ? plan.output() : plan.input());
    return plan.finish();
}

}  // namespace hcoll
