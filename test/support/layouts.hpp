// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes of 32-bit words, each with the list of where its words lie in the order of the type map. All of one
// number of words per item have the same signature, whatever their shape.
#pragma once

#include "user_operation.hpp"

#include <array>
#include <string>
#include <vector>

namespace hcoll::test {

inline constexpr std::ptrdiff_t word_bytes = sizeof(std::uint32_t);

// A type of words at these byte offsets.
inline TestType make_word_type(std::string name, MPI_Datatype handle, const std::vector<std::ptrdiff_t>& offsets) {
    TestType type;
    type.name = std::move(name);
    type.handle = handle;
    ask_bounds(type);
    for (const std::ptrdiff_t offset : offsets) type.parts.push_back({offset, word_bytes});
    type.fill = [offsets](std::byte* item, const Draw& how, Random& random) {
        for (const std::ptrdiff_t offset : offsets) {
            const std::uint32_t word = draw_word(how.op, random);
            std::memcpy(item + offset, &word, sizeof word);
        }
    };
    type.combine = [offsets](Op op, const std::byte* left, std::byte* right) {
        for (const std::ptrdiff_t offset : offsets) {
            const auto word =
                combine_words(op, load<std::uint32_t>(left + offset), load<std::uint32_t>(right + offset));
            std::memcpy(right + offset, &word, sizeof word);
        }
    };
    return type;
}

// Owns a committed datatype.
class Layout {
public:
    Layout(std::string name, MPI_Datatype handle, const std::vector<std::ptrdiff_t>& offsets)
        : Layout(make_word_type(std::move(name), handle, offsets)) {}
    explicit Layout(TestType type) : type_(std::move(type)) { check(MPI_Type_commit(&type_.handle)); }
    Layout(Layout&& other) noexcept : type_(std::move(other.type_)) { other.type_.handle = MPI_DATATYPE_NULL; }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    Layout& operator=(Layout&&) = delete;
    ~Layout() {
        if (type_.handle != MPI_DATATYPE_NULL) MPI_Type_free(&type_.handle);
    }

    [[nodiscard]] const TestType& type() const { return type_; }
    [[nodiscard]] std::int64_t words() const { return static_cast<std::int64_t>(type_.parts.size()); }

private:
    TestType type_;
};

namespace layout {

// The words of 'base' repeated at byte displacements.
inline std::vector<std::ptrdiff_t> repeat(const Layout& base, const std::vector<std::ptrdiff_t>& displacements) {
    std::vector<std::ptrdiff_t> offsets;
    for (const std::ptrdiff_t displacement : displacements)
        for (const Part& part : base.type().parts) offsets.push_back(displacement + part.offset);
    return offsets;
}

inline Layout contiguous(int words) {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(words, MPI_UINT32_T, &handle));
    std::vector<std::ptrdiff_t> offsets;
    for (int i = 0; i < words; ++i) offsets.push_back(i * word_bytes);
    return {"contiguous(" + std::to_string(words) + ")", handle, offsets};
}

inline Layout vector(int blocks, int words, int stride) {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(blocks, words, stride, MPI_UINT32_T, &handle));
    std::vector<std::ptrdiff_t> offsets;
    for (int block = 0; block < blocks; ++block)
        for (int i = 0; i < words; ++i) offsets.push_back((block * stride + i) * word_bytes);
    return {"vector(" + std::to_string(blocks) + "," + std::to_string(words) + "," + std::to_string(stride) + ")",
            handle, offsets};
}

// One word at each displacement (in words), in the order given: may be permuted.
inline Layout indexed(const std::vector<int>& displacements) {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    const std::vector<int> lengths(displacements.size(), 1);
    check(MPI_Type_indexed(static_cast<int>(displacements.size()), lengths.data(), displacements.data(), MPI_UINT32_T,
                           &handle));
    std::string name = "indexed(";
    std::vector<std::ptrdiff_t> offsets;
    for (const int displacement : displacements) {
        name += std::to_string(displacement) + " ";
        offsets.push_back(displacement * word_bytes);
    }
    name.back() = ')';
    return {name, handle, offsets};
}

// Two words with a gap between them and one behind.
inline Layout gapped_struct() {
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    const std::array<int, 2> lengths = {1, 1};
    const std::array<MPI_Aint, 2> displacements = {0, 12};
    const std::array<MPI_Datatype, 2> types = {MPI_UINT32_T, MPI_UINT32_T};
    check(MPI_Type_create_struct(2, lengths.data(), displacements.data(), types.data(), &inner));
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(inner, 0, 24, &handle));
    check(MPI_Type_free(&inner));
    return {"struct with gaps", handle, {0, 12}};
}

inline Layout resized(const Layout& base, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_resized(base.type().handle, lower, extent, &handle));
    return {base.type().name + " resized to [" + std::to_string(lower) + ", +" + std::to_string(extent) + ")", handle,
            repeat(base, {0})};
}

inline Layout hvector(const Layout& base, int blocks, MPI_Aint stride) {
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hvector(blocks, 1, stride, base.type().handle, &handle));
    std::vector<std::ptrdiff_t> displacements;
    for (int block = 0; block < blocks; ++block) displacements.push_back(block * stride);
    return {"hvector(" + std::to_string(blocks) + "," + std::to_string(stride) + ") of " + base.type().name, handle,
            repeat(base, displacements)};
}

// The first half of four words that two processes share: the library does not take such types apart. (Open MPI's own Allreduce in a
// ring writes past its memory where the words lie behind an element's origin.)
inline Layout darray() {
    const int words = 4;
    const int distribution = MPI_DISTRIBUTE_BLOCK;
    const int argument = MPI_DISTRIBUTE_DFLT_DARG;
    const int processes = 2;
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_darray(processes, 0, 1, &words, &distribution, &argument, &processes, MPI_ORDER_C,
                                 MPI_UINT32_T, &handle));
    return {"darray", handle, {0, word_bytes}};
}

// A char, a double and an int, in this order of the signature, at any places in memory. For broadcasts only.
inline Layout mixed_struct(const std::array<MPI_Aint, 3>& displacements, MPI_Aint extent) {
    const std::array<int, 3> lengths = {1, 1, 1};
    const std::array<MPI_Datatype, 3> types = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    check(MPI_Type_create_struct(3, lengths.data(), displacements.data(), types.data(), &inner));
    TestType type;
    check(MPI_Type_create_resized(inner, 0, extent, &type.handle));
    check(MPI_Type_free(&inner));
    type.name = "struct of char at " + std::to_string(displacements[0]) + ", double, int";
    type.parts = {
        {displacements[0], sizeof(char)}, {displacements[1], sizeof(double)}, {displacements[2], sizeof(int)}};
    ask_bounds(type);
    type.fill = [parts = type.parts](std::byte* item, const Draw& /*how*/, Random& random) {
        fill_with_random_bytes(item, parts, random);
    };
    return Layout(std::move(type));
}

}  // namespace layout

// Numbers of words per item: 1, 2, 3, 4 and 6, which all divide words_of_every_layout.
inline constexpr std::int64_t words_of_every_layout = 12;

inline std::vector<Layout> derived_layouts() {
    std::vector<Layout> layouts;
    layouts.push_back(layout::contiguous(3));
    layouts.push_back(layout::vector(3, 2, 4));
    layouts.push_back(layout::indexed({1, 0}));  // size == extent, yet not in memory order
    layouts.push_back(layout::indexed({4, 0, 2}));
    layouts.push_back(layout::gapped_struct());
    layouts.push_back(layout::resized(layout::contiguous(1), 0, 12));
    layouts.push_back(layout::resized(layout::contiguous(2), -4, 20));
    layouts.push_back(layout::hvector(layout::indexed({1, 0}), 2, 20));
    layouts.push_back(layout::hvector(layout::contiguous(1), 3, -8));
    layouts.push_back(layout::darray());
    layouts.push_back(layout::resized(layout::vector(2, 1, 3), 0, 8));  // items inside one another
    return layouts;
}

}  // namespace hcoll::test
