// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of a datatype's signature lie.
//
//   struct {double, int}, 16 bytes from one element to the next:  one block of 12 bytes
//   a column of a matrix of doubles:                              a row of blocks of 8 bytes, a line of the matrix apart
//
// Found once by taking the type apart into what it was made of, and kept with the type (an attribute) until that is freed: what
// a call has to do is to look the attribute up. Blocks that touch one another are one block, so that what lies side by side is
// known to do so, however it was made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "progress/network/vendor.hpp"

namespace hcoll {

// Immutable; from any thread.
class TypeLayout : public std::enable_shared_from_this<TypeLayout> {
public:
    // Blocks of equal length, in the order of the signature.
    struct Row {
        std::ptrdiff_t offset = 0;   // of the first one from the element's origin
        std::uint64_t bytes = 0;     // of each
        std::uint64_t blocks = 1;    // how many
        std::ptrdiff_t stride = 0;   // from one to the next
        std::uint64_t position = 0;  // of the first byte in the element's signature
    };
    // An element has the bytes of `rows`, whose positions are not set yet; the next element's origin is `extent` bytes further on.
    TypeLayout(std::vector<Row> rows, std::ptrdiff_t extent);

    // Where `count` elements are one block: its offset from the first one's origin.
    std::optional<std::ptrdiff_t> one_block(std::uint64_t count) const {
        if (rows_.size() != 1 || rows_.front().blocks != 1) return std::nullopt;
        if (count != 1 && static_cast<std::uint64_t>(extent_) != size_) return std::nullopt;
        return rows_.front().offset;
    }

    // `bytes` bytes of the signature of elements at `elements`, from the one at `position` of all of them on, to `target`, and
    // back. The elements that begin and end there may be divided.
    void pack(const void* elements, std::uint64_t position, std::uint64_t bytes, std::byte* target) const;
    void unpack(void* elements, std::uint64_t position, std::uint64_t bytes, const std::byte* source) const;

    std::uint64_t size() const { return size_; }

private:
    template <bool to_elements>
    void move(std::byte* elements, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const;
    template <bool to_elements>
    void move_whole(std::byte* elements, std::uint64_t count, std::byte* packed) const;
    template <bool to_elements>
    void move_part(std::byte* element, std::uint64_t position, std::uint64_t bytes, std::byte* packed) const;

    std::vector<Row> rows_;
    std::ptrdiff_t extent_;
    std::uint64_t size_ = 0;
};

// Of a type that was made from others, or a predefined one that has gaps; nullptr where that is not known: of predefined types
// without gaps, of distributed arrays, and where there would be too many rows. Valid until the type is freed. From any thread.
const TypeLayout* find_type_layout(MPI_Datatype type);

// Before MPI is left: nothing of the library's may stay in it. What types keep they keep.
void forget_type_layouts();

}  // namespace hcoll
