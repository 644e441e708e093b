// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by halving and allgather by doubling over a power of two of members: Rabenseifner's pieces.
//
//   halves    distance 1     distance 2     member 0 ends with quarter 0, 1 with 2, 2 with 1, 3 with 3
//   of all    0 <-> 1        0 <-> 2
//   members   2 <-> 3        1 <-> 3
//
// The distance doubles while what is exchanged halves, so that the operands that a member has combined are always those of
// a run of members: operations need not commute. Every unit is combined by one member alone: all get the same bits. Which
// operand of two is the left one depends on where `own` is, unless in order: so groups that are to agree combine in order.
//
// Source: Rabenseifner 2004, Optimization of collective reduction operations; Thakur, Rabenseifner, Gropp 2005, section 4.5.
#pragma once

#include <bit>

#include "algorithms/plan_builder.hpp"
#include "algorithms/rank_group.hpp"

namespace hcoll {

// The region of `whole` that each member of a run of `participants` ends with, and what it had on the way.
class Halving {
public:
    // participants: a power of two; self: 0 <= self < participants.
    Halving(const Region& whole, int participants, int self);

    int rounds() const { return static_cast<int>(held_.size()) - 1; }
    // What is held before round `round`; after the last one, what the member ends with.
    const Region& held(int round) const { return held_[static_cast<std::size_t>(round)]; }
    // What the partner of a round holds after it.
    const Region& given(int round) const { return given_[static_cast<std::size_t>(round)]; }
    int partner(int round) const { return self_ ^ (1 << round); }

private:
    int self_;
    std::vector<Region> held_;
    std::vector<Region> given_;
};

inline int largest_power_of_two(int members) {
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
}

// For a caller who is the first of its block: `own` of all members of the blocks, combined; afterwards each participant has
// in `work` what `halving`, over the participants, leaves it, and the rest of it is spoilt. `own` may be input, scratch or the
// same region as `work`. log2 p steps, (p - 1)/p of the region sent by each participant.
void reduce_scatter_of_blocks(PlanBuilder& plan, const Blocks& blocks, const RankGroup& group, const Halving& halving,
                              bool ordered, const Region& own, const Region& work);

// The way back: everybody ends with all of the region. log2 p steps, (p - 1)/p of the region sent by each member.
// `rank_of` tells a participant's rank.
template <typename RankOf>
void allgather_doubling(PlanBuilder& plan, const Halving& halving, const RankOf& rank_of) {
    for (int round = halving.rounds() - 1; round >= 0; --round) {
        const int peer = rank_of(halving.partner(round));
        plan.send(peer, halving.held(round + 1));
        plan.recv(peer, halving.given(round));
    }
}

// The same for the participant `root` alone, who ends with all: log2 p steps.
template <typename RankOf>
void gather_doubling(PlanBuilder& plan, const Halving& halving, const RankOf& rank_of, int self, int root) {
    for (int round = halving.rounds() - 1; round >= 0; --round) {
        const int peer = rank_of(halving.partner(round));
        if (((self ^ root) >> round & 1) != 0) {
            plan.send(peer, halving.held(round + 1));
            return;
        }
        plan.recv(peer, halving.given(round));
    }
}

// All of it, over any number of members: Rabenseifner's allreduce. `own` as above, the result in `work`.
void allreduce_halving(PlanBuilder& plan, const RankGroup& group, bool ordered, const Region& own, const Region& work);

}  // namespace hcoll
