// SPDX-License-Identifier: BSD-3-Clause
// Fowler, Noll and Vo's hash, 1a: what ranks compare texts by.
#pragma once

#include <cstdint>
#include <string_view>

namespace hcoll {

inline std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    return hash;
}

}  // namespace hcoll
