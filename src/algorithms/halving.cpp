// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/halving.hpp"

#include "algorithms/along_tree.hpp"

namespace hcoll {

Halving::Halving(const Region& whole, int participants, int self) : self_(self), held_{whole} {
    for (int round = 0; 1 << round < participants; ++round) {
        const int bit = self >> round & 1;
        const Region before = held_.back();
        held_.push_back(piece_of(before, bit, 2));
        given_.push_back(piece_of(before, 1 - bit, 2));
    }
}

void reduce_scatter_of_blocks(PlanBuilder& plan, const Blocks& blocks, const RankGroup& group, const Halving& halving,
                              bool ordered, const Region& own_of_caller, const Region& work) {
    Region own = own_of_caller;
    const int block = blocks.block_of(group.self());
    if (blocks.size(block) > 1) {
        std::vector<int> members;
        members.reserve(static_cast<std::size_t>(blocks.size(block)));
        for (int member = 0; member < blocks.size(block); ++member)
            members.push_back(group.rank(blocks.first(block) + member));
        const RankGroup run(std::move(members), group.rank(group.self()));
        reduce_along(plan, run, 0, {.shape = TreeShape::flat}, ordered, own, work);
        own = work;
    }
    for (int round = 0; round < halving.rounds(); ++round) {
        const Region& kept = halving.held(round + 1);
        const Region& given = halving.given(round);
        const int peer = group.rank(blocks.first(halving.partner(round)));
        const bool partner_is_lower = halving.partner(round) < block;
        // Where own is another region than work, it is read in the first round, and the result goes to work.
        const bool from_own = round == 0 && !(own == work);
        const auto in_own = [&](const Region& part) {
            return Region{own.buffer, own.part, part.begin, part.length, own.base};
        };
        plan.send(peer, from_own ? in_own(given) : given);
        if (kept.length == 0) continue;
        if (from_own && !(ordered && partner_is_lower)) {
            plan.recv(peer, kept);
            plan.reduce(in_own(kept), kept);
            continue;
        }
        if (from_own) plan.copy(in_own(kept), kept);
        const Region received = plan.scratch(kept);
        plan.recv(peer, received);
        if (ordered && !partner_is_lower) {
            plan.reduce(kept, received);
            plan.copy(received, kept);
        } else {
            plan.reduce(received, kept);
        }
        plan.release(received);
    }
    if (halving.rounds() == 0 && !(own == work)) plan.copy(own, work);
}

void allreduce_halving(PlanBuilder& plan, const RankGroup& group, bool ordered, const Region& own, const Region& work) {
    if (!group.has_self()) return;
    const Blocks blocks{group.size(), largest_power_of_two(group.size())};
    const int block = blocks.block_of(group.self());
    const auto rank_of = [&](int participant) { return group.rank(blocks.first(participant)); };
    if (!blocks.is_first(group.self())) {
        plan.send(rank_of(block), own);
        plan.recv(rank_of(block), work);
        return;
    }
    const Halving halving(work, blocks.blocks, block);
    reduce_scatter_of_blocks(plan, blocks, group, halving, ordered, own, work);
    allgather_doubling(plan, halving, rank_of);
    for (int member = group.self() + 1; member < group.self() + blocks.size(block); ++member)
        plan.send(group.rank(member), work);
}

}  // namespace hcoll
