// SPDX-License-Identifier: BSD-3-Clause
// Elements with gaps, for who moves bytes and knows nothing of types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcoll {

// Bytes that do not lie side by side, as if they did: their addresses follow one another, but are not those of memory.
class ScatteredBytes {
public:
    virtual ~ScatteredBytes() = default;
    // Between those and memory, where nothing overlaps.
    virtual void read(const std::byte* source, std::uint64_t bytes, std::byte* target) const = 0;
    virtual void write(const std::byte* source, std::uint64_t bytes, std::byte* target) const = 0;
};

}  // namespace hcoll
