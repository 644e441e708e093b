// SPDX-License-Identifier: BSD-3-Clause
// Memory that the system has found before a message needs it: the first use of a page takes longer than a message through it.
#pragma once

#include <cstddef>

namespace hcoll {

// What is in them stays. Where the system has no memory, the first use tells.
void touch_pages(std::byte* first_page, std::size_t bytes);

}  // namespace hcoll
