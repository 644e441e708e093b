// SPDX-License-Identifier: BSD-3-Clause
// Words of shared memory that processes sleep at.
#pragma once

#include <atomic>
#include <cstdint>

namespace hcoll {

// While the word is `seen`, until somebody wakes those that sleep there, for so long at the most.
void wait_at(std::atomic<std::uint32_t>& word, std::uint32_t seen, long nanoseconds);
void wake_at(std::atomic<std::uint32_t>& word);

}  // namespace hcoll
