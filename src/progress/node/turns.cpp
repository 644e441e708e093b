// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/turns.hpp"

#include <sched.h>

#include <cstdint>

#include "base/monotonic_clock.hpp"

namespace hcoll {

std::int64_t give_turn() {
    const std::uint64_t before = monotonic_nanoseconds();
    sched_yield();
    return static_cast<std::int64_t>(monotonic_nanoseconds() - before);
}

}  // namespace hcoll
