// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/touch_pages.hpp"

#include <atomic>

#include "progress/node/memory_units.hpp"

namespace hcoll {

// Byte by byte, since not every system does, and some emulators only seem to do, what MADV_POPULATE_WRITE says.
void touch_pages(std::byte* first, std::size_t bytes) {
    const auto touch = [&](std::size_t at) {
        std::atomic_ref(reinterpret_cast<unsigned char&>(first[at])).fetch_or(0, std::memory_order_relaxed);
    };
    for (std::size_t at = 0; at < bytes; at += page_bytes) touch(at);
    if (bytes != 0) touch(bytes - 1);
}

}  // namespace hcoll
