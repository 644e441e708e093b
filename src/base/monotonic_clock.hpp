// SPDX-License-Identifier: BSD-3-Clause
// The clock that nobody sets, in nanoseconds from some time on: the same for all processes of a node.
#pragma once

#include <cstdint>
#include <ctime>

namespace hcoll {

inline std::uint64_t monotonic_nanoseconds() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace hcoll
