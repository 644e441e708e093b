// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/turns.hpp"

#include <sched.h>

#include <cstdint>
#include <ctime>

namespace hcoll {

namespace {

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t give_turn() {
    const std::int64_t before = now();
    sched_yield();
    return now() - before;
}

}  // namespace hcoll
