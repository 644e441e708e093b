// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom, out of what the ranks say of themselves (LIBHCOLL_WATCHDOG). A pure function, without MPI.
//
// Ranks are asked twice, some time apart: only who is in the same call both times waits. It waits for the rank that it has noted (an own algorithm), and for
// all members of the communicator that have begun fewer collectives there; in a call that waits for requests, for those who have not begun the collectives that
// these are of. What is waited for, and itself waits for nobody that can be named, is to blame: a rank that is in no call, in one that is no collective,
// or whose process says nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "watch/rank_state.hpp"

namespace hcoll {

// What came of asking a rank.
struct RankAnswer {
    int rank = 0;
    std::optional<RankState> state{};
    std::optional<RankState> before{};  // some time earlier; nothing: it was asked once
    std::string silence{};              // why there is no state: "does not answer (process 12 on n1)"
    bool is_unknown = false;            // it could not be asked, which says nothing of it
};

// Several lines, without an end of line after the last one. `answers` of all ranks, in ascending order; `why`: what had them be asked, a
// sentence without its full stop.
std::string explain_hang(std::span<const RankAnswer> answers, std::string_view why);

}  // namespace hcoll
