// SPDX-License-Identifier: BSD-3-Clause
// What the library finds out about datatypes, and how it packs them, beside their type maps and MPI_Pack: random types, packed in
// pieces that begin and end anywhere. In one process, without the library preloaded: its files are linked in.
//
//   --types N            how many (default 3000)
//   --foreign-orders     the MPI library answers with numbers that are no order of a subarray: such types may be unknown
#include <dlfcn.h>
#include <cstring>

#include "../support/random_layouts.hpp"

#include "intercept/types/type_layout.hpp"

using namespace hcoll;
using namespace hcoll::test;

namespace {

bool has_foreign_orders = false;

bool may_be_unknown(const TestType& type) {
    return has_foreign_orders && type.name.find("subarray") != std::string::npos;
}

void compare(const Layout& layout, bool has_empty, Random& random) {
    const TestType& type = layout.type();
    const TypeLayout* found = find_type_layout(type.handle);
    require(found == find_type_layout(type.handle), type.name + ": its layout is not kept");
    const int count = static_cast<int>(random.between(1, 40));
    std::vector<std::byte> memory(type.span(count));
    for (std::byte& each : memory) each = static_cast<std::byte>(random.next());
    std::byte* elements = memory.data() - type.true_lower;
    std::vector<std::byte> expected;
    for (int i = 0; i < count; ++i)
        for (const Part& part : type.parts) {
            const std::byte* first = elements + i * type.extent + part.offset;
            expected.insert(expected.end(), first, first + part.size);
        }
    std::vector<std::byte> by_vendor;
    if (!has_empty) {
        int bytes = 0;
        int position = 0;
        check(MPI_Pack_size(count, type.handle, MPI_COMM_SELF, &bytes));
        by_vendor.resize(static_cast<std::size_t>(bytes));
        check(MPI_Pack(elements, count, type.handle, by_vendor.data(), bytes, &position, MPI_COMM_SELF));
        by_vendor.resize(static_cast<std::size_t>(position));
    }
    if (found == nullptr) {
        require(by_vendor != expected || may_be_unknown(type), type.name + ": its layout is not known");
        return;
    }
    require(expected.size() == static_cast<std::size_t>(count) * found->size(), type.name + ": another size");

    std::vector<std::byte> packed(expected.size());
    std::vector<std::byte> unpacked = memory;
    std::byte* unpacked_elements = unpacked.data() - type.true_lower;
    // What is unpacked differs from what is there.
    std::vector<std::byte> inverse = expected;
    for (std::byte& each : inverse) each = ~each;
    for (std::size_t at = 0; at < expected.size();) {
        const std::size_t piece =
            std::min<std::size_t>(1 + random.below(random.chance(2) ? 7 : 500), expected.size() - at);
        found->pack(elements, at, piece, packed.data() + at);
        found->unpack(unpacked_elements, at, piece, inverse.data() + at);
        at += piece;
    }
    require(packed == expected, type.name + ": packed wrongly");
    std::vector<std::byte> expected_memory = memory;
    const std::byte* next = inverse.data();
    for (int i = 0; i < count; ++i)
        for (const Part& part : type.parts) {
            std::byte* first = expected_memory.data() - type.true_lower + i * type.extent + part.offset;
            std::copy(next, next + part.size, first);
            next += part.size;
        }
    require(unpacked == expected_memory, type.name + ": unpacked wrongly");

    require(has_empty || packed == by_vendor, type.name + ": packed other than by the MPI library");
}

Layout subarray_of_all() {
    const std::array<int, 3> sizes = {3, 4, 5};
    const std::array<int, 3> starts = {};
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_subarray(3, sizes.data(), sizes.data(), starts.data(), MPI_ORDER_C, MPI_UINT32_T, &handle));
    return {"subarray of all", handle, {}};
}

// struct {double; int; int}
Layout natural_struct() {
    const std::array<int, 3> lengths = {1, 1, 1};
    const std::array<MPI_Aint, 3> displacements = {0, 8, 12};
    const std::array<MPI_Datatype, 3> types = {MPI_DOUBLE, MPI_INT, MPI_INT};
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    check(MPI_Type_create_struct(3, lengths.data(), displacements.data(), types.data(), &handle));
    return {"struct of double, int, int", handle, {}};
}

// However they were made, the elements of some types lie side by side.
void recognize_what_has_no_gaps() {
    constexpr std::uint64_t many = 1000;
    const auto starts_at = [](const Layout& layout, std::uint64_t count) {
        const TypeLayout* found = find_type_layout(layout.type().handle);
        return found == nullptr ? std::nullopt : found->one_block(count);
    };
    const auto is_one_block = [&](const Layout& layout) {
        require(starts_at(layout, many) == 0, layout.type().name + " has no gaps");
    };
    is_one_block(layout::contiguous(7));
    is_one_block(natural_struct());
    is_one_block(layout::vector(5, 1, 1));
    is_one_block(layout::vector(5, 3, 3));
    is_one_block(layout::indexed({0, 1, 2, 3}));
    is_one_block(layout::resized(layout::contiguous(3), 0, 12));
    is_one_block(layout::hvector(layout::vector(2, 1, 1), 4, 8));
    if (!has_foreign_orders) is_one_block(subarray_of_all());
    for (const Layout& each : {layout::indexed({1, 0}), layout::vector(3, 2, 4), layout::gapped_struct(),
                               layout::resized(layout::contiguous(2), -4, 20)})
        require(!starts_at(each, many).has_value(), each.type().name + " has gaps, or another order");
    // One element, or elements that begin behind their origin.
    require(starts_at(layout::resized(layout::contiguous(3), 0, 20), 1) == 0, "one element has no gap");
    require(starts_at(layout::indexed({2}), many) == 2 * word_bytes, "elements of one word behind their origin");
}

void find_what_predefined_types_are() {
    require(find_type_layout(MPI_INT) == nullptr, "of a predefined type without gaps there is nothing to know");
    const TypeLayout* pair = find_type_layout(MPI_SHORT_INT);
    require(pair != nullptr && pair->size() == sizeof(short) + sizeof(int), "the layout of a pair");
    require(find_type_layout(layout::darray().type().handle) == nullptr,
            "distributed arrays are the MPI library's to pack");
}

// What is kept goes with the type, and is not copied.
void free_and_make_anew() {
    for (int i = 0; i < 1000; ++i) {
        const Layout first = layout::vector(3, 1, 2 + i % 5);
        const TypeLayout* found = find_type_layout(first.type().handle);
        const Layout copy = layout::resized(first, 0, 4);
        require(found != find_type_layout(copy.type().handle), "two types share what is kept");
        MPI_Datatype duplicate = MPI_DATATYPE_NULL;
        check(MPI_Type_dup(first.type().handle, &duplicate));
        require(found != find_type_layout(duplicate), "a duplicate has what its original keeps");
        check(MPI_Type_free(&duplicate));
    }
    forget_type_layouts();
    const Layout after = layout::vector(3, 1, 2);
    require(find_type_layout(after.type().handle) != nullptr, "after all was forgotten nothing is kept");
    forget_type_layouts();
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "type_layouts");
    const std::int64_t types = program.options().number("--types", 3000);
    has_foreign_orders = program.options().flag("--foreign-orders");
    program.options().reject_rest();
    const std::string missing = load_vendor(dlopen(nullptr, RTLD_NOW));  // the program's own MPI library
    require(missing.empty(), "the MPI library lacks " + missing);
    {
        Random random(program.seed());
        for (const bool has_empty : {false, true}) {
            RandomLayouts layouts(program.seed(), has_empty);
            for (std::int64_t i = 0; i < types / 2; ++i) compare(layouts.next(), has_empty, random);
        }
        for (const Layout& each : derived_layouts())
            if (each.type().extent > 0 && each.type().name != "darray") compare(each, false, random);
        recognize_what_has_no_gaps();
        find_what_predefined_types_are();
        free_and_make_anew();
    }
    return program.finish(std::to_string(types) + " types");
}
