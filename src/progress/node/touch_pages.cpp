// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/touch_pages.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>

#include "progress/node/memory_units.hpp"

namespace hcoll {

namespace {

#if defined(MADV_POPULATE_WRITE)
constexpr int populate_write = MADV_POPULATE_WRITE;
#else
constexpr int populate_write = 23;  // of Linux 5.14, whichever headers there are
#endif

}  // namespace

void touch_pages(std::byte* first_page, std::size_t bytes) {
    if (madvise(first_page, bytes, populate_write) == 0 || errno != EINVAL) return;
    for (std::size_t at = 0; at < bytes; at += page_bytes)
        std::atomic_ref(reinterpret_cast<unsigned char&>(first_page[at])).fetch_or(0, std::memory_order_relaxed);
}

}  // namespace hcoll
