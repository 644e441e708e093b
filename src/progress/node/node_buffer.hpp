// SPDX-License-Identifier: BSD-3-Clause
// Where a rank has a message of its node, or wants it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/shared_copy.hpp"
#include "progress/engine/scattered_bytes.hpp"

namespace hcoll {

// Room for `capacity` bytes at `data`; without scattered bytes, those of memory. A null pointer has room for none.
struct NodeBuffer {
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    const ScatteredBytes* scattered = nullptr;

    NodeBuffer(std::byte* first, std::size_t bytes, const ScatteredBytes* scattered_bytes = nullptr)
        : data(first), capacity(first == nullptr ? 0 : bytes), scattered(scattered_bytes) {}

    // Other processes can copy from there and to there.
    [[nodiscard]] bool is_memory() const { return data != nullptr && scattered == nullptr; }

    // What this rank has of `bytes` bytes from `offset` on, to memory that other ranks read.
    void give(std::size_t offset, std::size_t bytes, std::byte* target) const {
        if (offset >= capacity) return;
        const std::size_t here = std::min(bytes, capacity - offset);
        if (scattered == nullptr) [[likely]]
            std::memcpy(target, data + offset, here);
        else
            scattered->read(data + offset, here, target);
    }
    // As many of `bytes` bytes as this rank has room for from `offset` on, from memory that another rank wrote.
    void take(std::size_t offset, std::size_t bytes, const std::byte* source) const {
        if (offset >= capacity) return;
        const std::size_t here = std::min(bytes, capacity - offset);
        if (scattered == nullptr) [[likely]]
            copy_shared(data + offset, source, here);
        else
            scattered->write(source, here, data + offset);
    }
};

}  // namespace hcoll
