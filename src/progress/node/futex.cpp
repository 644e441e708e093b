// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace hcoll {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

void wait_at(std::atomic<std::uint32_t>& word, std::uint32_t seen, long nanoseconds) {
    const timespec timeout{.tv_sec = 0, .tv_nsec = nanoseconds};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void wake_at(std::atomic<std::uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace hcoll
