// SPDX-License-Identifier: BSD-3-Clause
// Instead of src/progress/node/node_sizes.hpp: as few as there can be.
#pragma once

#include <cstdint>

namespace hcoll::node_sizes {

inline constexpr std::uint64_t lines = 2;
inline constexpr std::uint64_t slots = 2;
inline constexpr std::uint64_t large_slots = 2;
inline constexpr std::uint64_t blocks = 2;
inline constexpr int flat_ranks = 2;
inline constexpr std::uint64_t cells = 3;  // more than one message may have, as there
inline constexpr std::uint64_t cells_of_message = 2;
inline constexpr std::uint64_t lane_lines = 2;
inline constexpr std::uint64_t grants = 2;
inline constexpr int polls_between = 1;
inline constexpr int fewest_spins = 0;
inline constexpr int most_spins = 0;

}  // namespace hcoll::node_sizes
