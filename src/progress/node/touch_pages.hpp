// SPDX-License-Identifier: BSD-3-Clause
// Memory that the system has found before a message needs it: the first use of a page takes longer than a message through it.
#pragma once

#include <cstddef>

namespace hcoll {

// All pages of it; what is there stays.
void touch_pages(std::byte* first, std::size_t bytes);

}  // namespace hcoll
