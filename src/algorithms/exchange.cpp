// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/exchange.hpp"

namespace hcoll {

namespace {

// One step of a member: whose operands it combines with its own, those before it and those after it.
struct Round {
    std::vector<int> lower;
    std::vector<int> higher;
    bool sends_own = true;  // to all of them
};

// The rounds of participant `self` of radix^t: it meets those whose number differs in one digit.
void add_rounds(const RankGroup& group, const Blocks& blocks, int self, int radix, std::vector<Round>& rounds) {
    for (int distance = 1; distance < blocks.blocks; distance *= radix) {
        Round round;
        const int digit = self / distance % radix;
        for (int other = 0; other < radix; ++other) {
            if (other == digit) continue;
            const int partner = self + (other - digit) * distance;
            (other < digit ? round.lower : round.higher).push_back(group.rank(blocks.first(partner)));
        }
        rounds.push_back(std::move(round));
    }
}

// The sum moves between regions as it grows: the right operand of a combination is where its result is, so the sum ends
// in the last operand of a round. Regions are chosen so that the last move is into `result`, without a copy.
class Sum {
public:
    Sum(PlanBuilder& plan, const Region& own, const Region& result, const std::vector<Round>& rounds)
        : plan_(plan), value_(own), result_(result) {
        for (const Round& round : rounds) moves_ += round.higher.empty() ? 0 : 1;
    }

    void combine(const Round& round) {
        const bool moves = !round.higher.empty();
        if (moves) --moves_;
        const bool is_pair = round.lower.size() + round.higher.size() == 1;
        if (round.sends_own && !is_pair) {
            for (const int partner : round.lower) plan_.send(partner, value_);
            for (const int partner : round.higher) plan_.send(partner, value_);
        }
        const auto receive = [&](int partner, const Region& target) {
            if (round.sends_own && is_pair)
                plan_.exchange(partner, value_, partner, target);
            else
                plan_.recv(partner, target);
            return target;
        };
        std::vector<Region> operands;
        for (const int partner : round.lower) operands.push_back(receive(partner, scratch()));
        const Region own = round.lower.empty() || value_.buffer != Buffer::input ? value_ : copy_of_own(moves);
        operands.push_back(own);
        for (const int partner : round.higher) {
            const bool ends_in_result = partner == round.higher.back() && moves_ == 0 && !(own == result_);
            operands.push_back(receive(partner, ends_in_result ? result_ : scratch()));
        }
        for (std::size_t i = 1; i < operands.size(); ++i) plan_.reduce(operands[i - 1], operands[i]);
        value_ = operands.back();
        for (const Region& operand : operands)
            if (operand.buffer == Buffer::scratch && !(operand == value_) && std::erase(parts_, operand.part) != 0)
                plan_.release(operand);
    }

    void finish() {
        if (!(value_ == result_)) plan_.copy(value_, result_);
    }

private:
    Region scratch() {
        const Region part = plan_.scratch(value_);
        parts_.push_back(part.part);
        return part;
    }
    // The own operand where it may be overwritten: already in its last place, where it will not move any more.
    Region copy_of_own(bool moves_now) {
        const Region copy = moves_ == 0 && !moves_now ? result_ : scratch();
        plan_.copy(value_, copy);
        return copy;
    }

    PlanBuilder& plan_;
    Region value_;
    Region result_;
    int moves_ = 0;                     // rounds to come in which the sum moves
    std::vector<std::uint32_t> parts_;  // of scratch, in use here
};

}  // namespace

void allreduce_exchange(PlanBuilder& plan, const RankGroup& group, int radix, const Region& own, const Region& result) {
    if (!group.has_self()) return;
    int participants = 1;
    while (participants <= group.size() / radix) participants *= radix;
    const Blocks blocks{group.size(), participants};
    const int block = blocks.block_of(group.self());
    if (!blocks.is_first(group.self())) {
        plan.send(group.rank(blocks.first(block)), own);
        plan.recv(group.rank(blocks.first(block)), result);
        return;
    }
    std::vector<Round> rounds;
    std::vector<int> others;
    for (int member = group.self() + 1; member < group.self() + blocks.size(block); ++member)
        others.push_back(group.rank(member));
    if (!others.empty()) rounds.push_back({.lower = {}, .higher = others, .sends_own = false});
    add_rounds(group, blocks, block, radix, rounds);

    Sum sum(plan, own, result, rounds);
    for (const Round& round : rounds) sum.combine(round);
    sum.finish();
    for (const int other : others) plan.send(other, result);
}

}  // namespace hcoll
