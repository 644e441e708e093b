// Allreduce by recursive doubling, for any number of ranks.
//
//   0 1 2 3     distance 1: 0-1, 2-3
//   |X| |X|     distance 2: 0-2, 1-3
//   0 1 2 3     afterwards every rank has the result of all four
//
// In each step a rank exchanges its partial result with a partner and combines both. The operand of the lower ranks is
// always the left one, on both sides: both compute the same bits, and because partial results cover runs of consecutive
// ranks, the operation need not commute.
//
// n = p + r ranks with p the largest power of two: of the first 2 r ranks each even one first gives its operand to the
// odd one after it, and gets the result at the end; the others are p ranks in order.
//
// Source: Thakur, Rabenseifner, Gropp 2005, section 4.5; Bienz, Olson, Gropp 2019, section II.
// log2 p steps of m bytes, plus two where r > 0: at most (floor(log2 n) + 1) m bytes sent by a rank.
#include <bit>

#include "algorithms/algorithms.hpp"

namespace hcoll {

namespace {

// The partial result moves between buffers as it grows, so that no step has to wait for a copy: a received operand is
// combined either into itself or into what is here, whichever is the right one.
class Accumulator {
public:
    Accumulator(PlanBuilder& plan, const Region& own, const Region& first_spare, const Region& second_spare)
        : plan_(plan),
          value_(own),
          spare_(first_spare),
          other_spare_(second_spare),
          own_is_read_only_(own.buffer == Buffer::input) {}

    const Region& value() const { return value_; }
    const Region& spare() const { return spare_; }

    // Combines the operand that was received into spare(), from lower or from higher ranks.
    void combine(bool received_is_lower) {
        if (!received_is_lower) {
            plan_.reduce(value_, spare_);
            std::swap(value_, spare_);
            if (own_is_read_only_) spare_ = other_spare_;
        } else {
            if (own_is_read_only_) {
                plan_.copy(value_, other_spare_);
                value_ = other_spare_;
            }
            plan_.reduce(spare_, value_);
        }
        own_is_read_only_ = false;
    }

private:
    PlanBuilder& plan_;
    Region value_;
    Region spare_;
    Region other_spare_;
    bool own_is_read_only_;
};

// `first_to_output` chooses where the first operand is received; which choice leaves the result in the output without a
// copy depends on the rank's position.
Plan build(const PlanRequest& request, const AlgorithmParameters& parameters, bool first_to_output, bool& copied) {
    PlanBuilder plan(request, parameters.pipeline);
    const int rank = request.rank;
    const int participants = static_cast<int>(std::bit_floor(static_cast<unsigned>(request.ranks)));
    const int folded = request.ranks - participants;
    const Region output = plan.output();
    const Region own = request.in_place ? output : plan.input();
    copied = false;

    const bool has_fold_partner = rank < 2 * folded;
    if (has_fold_partner && rank % 2 == 0) {
        plan.send(rank + 1, own);
        plan.recv(rank + 1, output);
        return plan.finish();
    }

    const Region scratch = plan.scratch();
    const bool spare_is_output = first_to_output && !request.in_place;
    Accumulator partial(plan, own, spare_is_output ? output : scratch, spare_is_output ? scratch : output);
    if (has_fold_partner) {
        plan.recv(rank - 1, partial.spare());
        partial.combine(true);
    }
    const int position = has_fold_partner ? rank / 2 : rank - folded;
    for (int distance = 1; distance < participants; distance *= 2) {
        const int partner_position = position ^ distance;
        const int partner = partner_position < folded ? 2 * partner_position + 1 : partner_position + folded;
        plan.send(partner, partial.value());
        plan.recv(partner, partial.spare());
        partial.combine(partner < rank);
    }
    if (!(partial.value() == output)) {
        plan.copy(partial.value(), output);
        copied = true;
    }
    if (has_fold_partner) plan.send(rank - 1, output);
    return plan.finish();
}

}  // namespace

Plan allreduce_recursive_doubling(const PlanRequest& request, const AlgorithmParameters& parameters) {
    bool copied = false;
    Plan plan = build(request, parameters, true, copied);
    return copied && !request.in_place ? build(request, parameters, false, copied) : plan;
}

}  // namespace hcoll
