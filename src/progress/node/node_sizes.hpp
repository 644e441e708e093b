// SPDX-License-Identifier: BSD-3-Clause
// How many there are of what ranks of a node use in turn, again and again. In one file, of which the model checker (test/model) has one of its own, so that
// its rings begin again after a few steps.
#pragma once

#include <cstdint>

namespace hcoll::node_sizes {

// Of NodeCollectives.
inline constexpr std::uint64_t lines = 64;       // headers with the message in them
inline constexpr std::uint64_t slots = 32;       // of somewhat longer messages
inline constexpr std::uint64_t large_slots = 8;  // of the others that are short
inline constexpr std::uint64_t blocks = 16;
inline constexpr int flat_ranks = 8;  // that do without groups
// Of NodeMessages.
inline constexpr std::uint64_t cells = 64;
inline constexpr std::uint64_t cells_of_message = 16;  // at a time: they stay in the cache
inline constexpr std::uint64_t lane_lines = 32;
inline constexpr std::uint64_t grants = 256;
inline constexpr int polls_between = 8;  // in vain, before a look at what others need of this rank
// Of Waiting: looks at a flag, before others get a turn.
inline constexpr int fewest_spins = 50;
inline constexpr int most_spins = 2000;

}  // namespace hcoll::node_sizes
