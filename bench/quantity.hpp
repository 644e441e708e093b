// SPDX-License-Identifier: BSD-3-Clause
// Sizes and times as users write them: 8, 1k, 16M; 2ms, 500us.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hcoll::bench {

// MPI counts elements in an int; sizes beyond this one are refused.
inline constexpr std::size_t largest_size = 2147483647;

std::vector<std::string> split(std::string_view text, char separator);

// The readers throw std::invalid_argument with a sentence for the user.

// A comma list of sizes and of ranges first:last[:factor] (factor 2 unless given); ascending, each size once.
std::vector<std::size_t> read_sizes(std::string_view text);

// A number with the unit s, ms or us; milliseconds unless given. In seconds.
double read_duration(std::string_view text);

// The shortest way to write a size: 65536 is 64k.
std::string size_text(std::size_t bytes);

}  // namespace hcoll::bench
