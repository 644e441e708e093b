// SPDX-License-Identifier: BSD-3-Clause
// An MPI datatype together with what a test must know of it: where its values lie, and how they are drawn and combined.
#pragma once

#include "program.hpp"
#include "scalars.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace hcoll::test {

struct TestType {
    std::string name;
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    OpList ops;
    OpList narrow_ops;        // those of 'ops' that are tested away from the ends of the range only
    std::vector<Part> parts;  // in the order of the type map
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    // Bytes of an item (from true_lower) that may change though they carry no value: padding inside a predefined type.
    std::vector<bool> padding;
    std::function<void(std::byte* item, const Draw& how, Random& random)> fill;
    // right = left op right
    std::function<void(Op op, const std::byte* left, std::byte* right)> combine;

    [[nodiscard]] Draw draws(Op op, int rank) const {
        return {op, rank, std::find(narrow_ops.begin(), narrow_ops.end(), op) != narrow_ops.end()};
    }

    [[nodiscard]] bool is_dense() const {
        std::size_t bytes = 0;
        for (const Part& part : parts) bytes += part.size;
        return static_cast<MPI_Aint>(bytes) == extent;
    }

    // Bytes from the first to the last one of 'count' items.
    [[nodiscard]] std::size_t span(std::int64_t count) const {
        if (count == 0) return 0;
        return static_cast<std::size_t>((count - 1) * extent + true_extent);
    }
};

inline void ask_bounds(TestType& type) {
    check(MPI_Type_get_extent(type.handle, &type.lower, &type.extent));
    check(MPI_Type_get_true_extent(type.handle, &type.true_lower, &type.true_extent));
}

template <class T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Copies only the bytes that carry a value.
template <class T>
void store(const T& value, std::byte* to) {
    for (const Part& part : parts_of<T>())
        std::memcpy(to + part.offset, reinterpret_cast<const std::byte*>(&value) + part.offset, part.size);
}

inline void fill_with_random_bytes(std::byte* item, const std::vector<Part>& parts, Random& random) {
    for (const Part& part : parts)
        for (std::size_t i = 0; i < part.size; ++i)
            item[part.offset + static_cast<std::ptrdiff_t>(i)] = static_cast<std::byte>(random.next());
}

template <class T>
TestType make_predefined(std::string name, MPI_Datatype handle, OpList ops) {
    TestType type;
    type.name = std::move(name);
    type.handle = handle;
    type.ops = std::move(ops);
    type.parts = parts_of<T>();
    ask_bounds(type);
    type.padding.assign(static_cast<std::size_t>(type.extent), true);
    for (const Part& part : type.parts) std::fill_n(type.padding.begin() + part.offset, part.size, false);
    if (std::find(type.padding.begin(), type.padding.end(), true) == type.padding.end()) type.padding.clear();
    type.fill = [parts = type.parts](std::byte* item, const Draw& how, Random& random) {
        if (how.op == Op::none && !std::is_same_v<T, bool>)
            fill_with_random_bytes(item, parts, random);
        else
            store(draw<T>(how, random), item);
    };
    type.combine = [](Op op, const std::byte* left, std::byte* right) {
        store(combine(op, load<T>(left), load<T>(right)), right);
    };
    return type;
}

}  // namespace hcoll::test
