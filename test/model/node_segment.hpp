// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of a program's ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "base/check.hpp"
#include "model_checker.hpp"

namespace hcoll::model {

inline constexpr std::size_t page = 4096;
alignas(page) inline std::array<std::byte, 512 << 10> segment;

// In set_up(). What threads allocate is watched, too: ranks may look at one another's.
inline void begin_segment(std::size_t bytes) {
    hcoll::check(bytes <= segment.size(), "the segment is too small");
    std::memset(segment.data(), 0, bytes);
    watch(segment.data(), bytes, "the segment");
    watch_allocations();
}

}  // namespace hcoll::model
