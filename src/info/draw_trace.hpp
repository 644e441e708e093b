// SPDX-License-Identifier: BSD-3-Clause
// A collective as its ranks have traced it, drawn: ranks below one another, time to the right.
#pragma once

#include <span>
#include <string>

#include "trace/traced_calls.hpp"

namespace hcoll::info {

// At most so many ranks are drawn: those on the critical path first.
inline constexpr std::size_t most_ranks_drawn = 48;

std::string trace_svg(std::span<const RankTrace> ranks, const TracedCallOfAll& call);

}  // namespace hcoll::info
