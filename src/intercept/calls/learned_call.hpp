// SPDX-License-Identifier: BSD-3-Clause
// A call on a communicator whose places learn (tuning/learning.hpp): counted, timed where that is wanted, and the ranks' agreement on what was
// found out.
//
// The ranks agree before a call in which all of them wait for all anyway (Barrier; Allreduce, Allgather of some bytes): that adds a latency, and
// no waiting. In other calls they never do: their root may return before the others come, and a program may rely on that.
#pragma once

#include "intercept/communicator/communicator.hpp"

namespace hcoll {

// In a call in which all wait for all, before it runs.
void agree_on_learning(Communicator& communicator);
// One more call; before it is decided what it runs.
inline void count_learned_call(Communicator& communicator, Collective collective, std::uint64_t bytes) {
    Learning& learning = communicator.own().learning;
    learning.count_call();
    if (learning.is_due() && waits_for_all(collective, bytes)) [[unlikely]]
        agree_on_learning(communicator);
}

// What a call runs, `decided` without any trying. The turn has no decision where nothing is to be learned of the call.
template <typename MayBeTried>
inline Learning::Turn learned_turn(Communicator& communicator, Collective collective, std::uint64_t bytes,
                                   MayBeTried&& may_be_tried, const Decision*& decided) {
    OwnAlgorithms& own = communicator.own();
    const bool is_tried =
        own.tries(collective) && (bytes != 0 || !has_message(collective)) && may_be_tried(communicator);
    if (is_tried && own.learning.may_go_by(collective)) {
        if (own.learning.is_as_before(collective, bytes, decided)) {
            own.uses += decided->is_own() ? 0 : 1;
            return {};
        }
        own.learning.take_back(collective);
    } else {
        count_learned_call(communicator, collective, bytes);
        if (!own.learning.is_on()) return {};
    }
    // A call that goes by is counted as one of the place that was looked at last.
    own.forget_repeated(collective);
    if (!is_tried) {
        own.learning.leave(collective);
        return {};
    }
    const Learning::Turn turn = own.learning.next(collective, bytes, *decided);
    decided = turn.decision;
    own.uses += decided->is_own() ? 0 : 1;
    return turn;
}

// Before a call of a round. What is tried is known by a few calls, and these are to show what all later ones take: not what it takes to use for the
// first time the memory that this rank writes for others.
void touch_memory_of_trial(OwnAlgorithms& own, Collective collective, int root, const Decision& decision,
                           std::uint64_t bytes);

// Makes the call that `turn` is for; `root` is meaningless where there is none.
template <typename Call>
inline int timed(OwnAlgorithms& own, Collective collective, int root, const Learning::Turn& turn, std::uint64_t bytes,
                 Call&& call) {
    if (!turn.may_be_repeated) touch_memory_of_trial(own, collective, root, *turn.decision, bytes);
    const std::uint64_t arrival = turn.place < 0 ? 0 : own.clock.now();
    const int status = call();
    // Where a rank notes less than the others, they see it when they agree.
    if (turn.place >= 0 && status == MPI_SUCCESS && own.learning.is_on())
        own.learning.note(turn, own.rank == root, arrival, own.clock.now());
    if (!turn.may_be_repeated) own.forget_repeated(collective);
    return status;
}

}  // namespace hcoll
