// A call on a communicator whose places learn (tuning/learning.hpp): counted, timed where that is wanted, and the ranks' agreement on what was
// found out.
//
// The ranks agree before a call in which all of them wait for all anyway (Barrier; Allreduce, Allgather of some bytes): that adds a latency, and
// no waiting. Where it is time for it in another call, what a rank knows is begun to be told without waiting, and used in the next call in
// which all wait for all, or 64 calls later.
#pragma once

#include "intercept/communicator/communicator.hpp"

namespace hcoll {

// One more call; before it runs, and before it is decided what it runs.
void agree_on_learning(Communicator& communicator, bool all_wait);
inline void count_learned_call(Communicator& communicator, Collective collective, std::uint64_t bytes) {
    Learning& learning = communicator.own().learning;
    learning.count_call();
    if (learning.is_due() || communicator.own().agreement->request != MPI_REQUEST_NULL) [[unlikely]]
        agree_on_learning(communicator, waits_for_all(collective, bytes));
}

// Makes the call that `turn` is for.
template <typename Call>
inline int timed(OwnAlgorithms& own, Collective collective, const Learning::Turn& turn, Call&& call) {
    if (turn.place < 0) [[likely]] {
        const int status = call();
        if (!turn.may_be_repeated) own.forget_repeated(collective);
        return status;
    }
    const std::uint64_t arrival = own.clock.now();
    const int status = call();
    // Where a rank notes less than the others, they see it when they agree.
    if (status == MPI_SUCCESS && own.learning.is_on()) own.learning.note(turn, arrival, own.clock.now());
    if (!turn.may_be_repeated) own.forget_repeated(collective);
    return status;
}

}  // namespace hcoll
