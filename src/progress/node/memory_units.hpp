// SPDX-License-Identifier: BSD-3-Clause
// What memory is shared in: lines of the caches, and pages.
#pragma once

#include <cstddef>

namespace hcoll {

constexpr std::size_t cache_line_bytes = 64;
constexpr std::size_t page_bytes = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace hcoll
