// Who waits for whom, out of what the ranks say of themselves (LIBHCOLL_WATCHDOG). A pure function, without MPI.
//
// A rank in a collective waits for the rank that it has noted (an own algorithm), or, where it is inside the MPI library, for all members of the
// communicator that have begun fewer collectives there. What is waited for, and itself waits for nobody that can be named, is to blame: a rank that is in
// no call, in one that is no collective, or whose process says nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "watch/rank_state.hpp"

namespace hcoll {

// What came of asking a rank.
struct RankAnswer {
    int rank = 0;
    std::optional<RankState> state{};
    std::string silence{};  // why there is none: "does not answer (process 12 on n1)"
};

// Several lines, without an end of line after the last one. `answers` of all ranks, in ascending order; `why`: what had them be asked, a
// sentence without its full stop.
std::string explain_hang(std::span<const RankAnswer> answers, std::string_view why);

}  // namespace hcoll
