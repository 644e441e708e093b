// SPDX-License-Identifier: BSD-3-Clause
// Bruck's pattern: an allgather among the members of a group in ceil(log_k s) steps, for any number s of them.
//
//   s = 5, radix 2      step 0: i <- i+1      has i, i+1
//                       step 1: i <- i+2      has i ... i+3
//                       step 2: i <- i+4      has all: only one more was missing
//
// Runs are sent from and received into their final place. Where a run goes around from the last member to the first, it
// is two regions and two messages: no rotation copies everything at the end.
//
// Source: Bruck et al. 1997, Efficient algorithms for all-to-all communications in multiport message-passing systems;
// Thakur, Rabenseifner, Gropp 2005, section 4.1.
#pragma once

#include "algorithms/block_runs.hpp"

namespace hcoll {

// Calls send(member, count) and recv(member, count) for the messages of member `self` of `size`, in each step first all
// that it sends: its first `count` runs, its own and those after it. It receives as many, the sender's own and those
// after that. Modulo `size`.
template <typename Send, typename Recv>
void disseminate(int size, int self, int radix, const Send& send, const Recv& recv) {
    for (std::int64_t distance = 1; distance < size; distance *= radix) {
        const auto partners = [&](const auto& meet, bool below) {
            for (std::int64_t away = distance; away < std::min<std::int64_t>(distance * radix, size); away += distance)
                meet(static_cast<int>((self + (below ? size - away : away)) % size),
                     static_cast<int>(std::min(distance, size - away)));
        };
        partners(send, true);
        partners(recv, false);
    }
}

// Member i's blocks are at positions edges[i] ... edges[i + 1] - 1 of `memory`, which is in `order`; its rank is that
// of the first of them. Everybody ends with all. `own` is where the caller's blocks are as well, or instead: they are
// sent from there as long as they are sent alone.
void allgather_runs_by_dissemination(PlanBuilder& plan, const BlockOrder& order, std::span<const int> edges, int self,
                                     int radix, const Region& own, const Region& memory);

}  // namespace hcoll
