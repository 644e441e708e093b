// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/types/type_layout.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/shared_copy.hpp"

namespace hcoll {

namespace {

// Blocks of `bytes` bytes, which the compiler knows to be `known` where that is not 0.
template <bool to_elements, std::size_t known>
void move_blocks_of(std::byte* memory, std::ptrdiff_t memory_stride, std::byte* packed, std::ptrdiff_t packed_stride,
                    std::uint64_t blocks, std::size_t bytes) {
    for (std::uint64_t i = 0; i < blocks; ++i) {
        // What is unpacked may lie in memory that another rank wrote.
        if constexpr (to_elements && known == 0)
            copy_shared(memory, packed, bytes);
        else if constexpr (to_elements)
            std::memcpy(memory, packed, known);
        else
            std::memcpy(packed, memory, known != 0 ? known : bytes);
        memory += memory_stride;
        packed += packed_stride;
    }
}

template <bool to_elements>
void move_blocks(std::byte* memory, std::ptrdiff_t memory_stride, std::byte* packed, std::ptrdiff_t packed_stride,
                 std::uint64_t blocks, std::uint64_t bytes) {
    const auto move = [&]<std::size_t length>() {
        move_blocks_of<to_elements, length>(memory, memory_stride, packed, packed_stride, blocks, bytes);
    };
    // The lengths of values, and of pairs of them.
    switch (bytes) {
        case 1: return move.template operator()<1>();
        case 2: return move.template operator()<2>();
        case 4: return move.template operator()<4>();
        case 8: return move.template operator()<8>();
        case 12: return move.template operator()<12>();
        case 16: return move.template operator()<16>();
        case 24: return move.template operator()<24>();
        case 32: return move.template operator()<32>();
        default: return move.template operator()<0>();
    }
}

}  // namespace

TypeLayout::TypeLayout(std::vector<Row> rows, std::ptrdiff_t extent) : rows_(std::move(rows)), extent_(extent) {
    for (Row& row : rows_) {
        row.position = size_;
        size_ += row.bytes * row.blocks;
    }
}

// So many elements at a time that their packed bytes stay in the first-level cache, row by row of all of them.
template <bool to_elements>
void TypeLayout::move_whole(std::byte* elements, std::uint64_t count, std::byte* packed) const {
    constexpr std::uint64_t cached_bytes = 16 << 10;
    const std::uint64_t most = std::max<std::uint64_t>(cached_bytes / size_, 1);
    const auto size = static_cast<std::ptrdiff_t>(size_);
    while (count != 0) {
        const std::uint64_t now = std::min(most, count);
        for (const Row& row : rows_) {
            std::byte* first = elements + row.offset;
            std::byte* target = packed + row.position;
            const auto bytes = static_cast<std::ptrdiff_t>(row.bytes);
            if (row.blocks > now)
                for (std::uint64_t i = 0; i < now; ++i, first += extent_, target += size)
                    move_blocks<to_elements>(first, row.stride, target, bytes, row.blocks, row.bytes);
            else
                for (std::uint64_t i = 0; i < row.blocks; ++i, first += row.stride, target += bytes)
                    move_blocks<to_elements>(first, extent_, target, size, now, row.bytes);
        }
        elements += static_cast<std::ptrdiff_t>(now) * extent_;
        packed += now * size_;
        count -= now;
    }
}

// Of one element.
template <bool to_elements>
void TypeLayout::move_part(std::byte* element, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const {
    auto row = std::upper_bound(rows_.begin(), rows_.end(), position,
                                [](std::uint64_t at, const Row& each) { return at < each.position; }) -
               1;
    for (; bytes != 0; ++row) {
        std::uint64_t block = (position - row->position) / row->bytes;
        const std::uint64_t within = (position - row->position) % row->bytes;
        const std::uint64_t here = std::min(bytes, row->bytes * (row->blocks - block) - within);
        position += here;
        bytes -= here;
        std::uint64_t left = here;
        const auto move = [&](std::uint64_t skipped, std::uint64_t blocks, std::uint64_t length) {
            move_blocks<to_elements>(element + row->offset + static_cast<std::ptrdiff_t>(block) * row->stride +
                                         static_cast<std::ptrdiff_t>(skipped),
                                     row->stride, packed, static_cast<std::ptrdiff_t>(length), blocks, length);
            packed += blocks * length;
            left -= blocks * length;
            block += blocks;
        };
        if (within != 0) move(within, 1, std::min(left, row->bytes - within));
        if (left >= row->bytes) move(0, left / row->bytes, row->bytes);
        if (left != 0) move(0, 1, left);
    }
}

template <bool to_elements>
void TypeLayout::move(std::byte* elements, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const {
    if (bytes == 0 || size_ == 0) return;
    std::byte* element = elements + static_cast<std::ptrdiff_t>(position / size_) * extent_;
    if (const std::uint64_t within = position % size_; within != 0) {
        const std::uint64_t part = std::min(bytes, size_ - within);
        move_part<to_elements>(element, within, part, packed);
        element += extent_;
        packed += part;
        bytes -= part;
    }
    const std::uint64_t whole = bytes / size_;
    move_whole<to_elements>(element, whole, packed);
    if (const std::uint64_t rest = bytes % size_; rest != 0)
        move_part<to_elements>(element + static_cast<std::ptrdiff_t>(whole) * extent_, 0, rest, packed + whole * size_);
}

void TypeLayout::pack(const void* elements, std::uint64_t position, std::uint64_t bytes, std::byte* target) const {
    move<false>(static_cast<std::byte*>(const_cast<void*>(elements)), position, bytes, target);
}

void TypeLayout::unpack(void* elements, std::uint64_t position, std::uint64_t bytes, const std::byte* source) const {
    move<true>(static_cast<std::byte*>(elements), position, bytes, const_cast<std::byte*>(source));
}

}  // namespace hcoll
