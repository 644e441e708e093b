// SPDX-License-Identifier: BSD-3-Clause
// User-defined operations, for any datatype made of 32-bit words: one that commutes and one that does not.
//
// 'user_sum' adds words modulo 2^32. 'user_affine' takes a word as the map x -> a x + b modulo a prime, a in the upper
// half and b in the lower, and composes: associative, but of every pair of ranks the order shows in the result.
//
// MPI calls a user function with nothing but a datatype handle; which layout it means is told by LayoutScope.
#pragma once

#include "test_type.hpp"

#include <cstdint>

namespace hcoll::test {

inline constexpr std::uint32_t affine_modulus = 65521;

inline std::uint32_t draw_word(Op op, Random& random) {
    if (op != Op::user_affine) return static_cast<std::uint32_t>(random.next());
    const auto a = static_cast<std::uint32_t>(1 + random.below(affine_modulus - 1));
    return a << 16U | static_cast<std::uint32_t>(random.below(affine_modulus));
}

inline std::uint32_t combine_words(Op op, std::uint32_t left, std::uint32_t right) {
    if (op != Op::user_affine) return left + right;
    const std::uint64_t a = left >> 16U;
    const std::uint64_t b = left & 0xffffU;
    const std::uint64_t product = a * (right >> 16U) % affine_modulus;
    const std::uint64_t offset = (a * (right & 0xffffU) + b) % affine_modulus;
    return static_cast<std::uint32_t>(product << 16U | offset);
}

// The type whose items the user functions get, for as long as the object lives. One thread at a time.
class LayoutScope {
public:
    explicit LayoutScope(const TestType& type) { current() = &type; }
    ~LayoutScope() { current() = nullptr; }
    LayoutScope(const LayoutScope&) = delete;
    LayoutScope& operator=(const LayoutScope&) = delete;

    static const TestType*& current() {
        static const TestType* type = nullptr;
        return type;
    }
};

template <Op op>
void user_function(void* left, void* right, int* count, MPI_Datatype* handle) {
    const TestType* type = LayoutScope::current();
    if (type == nullptr) fail("a user operation was called outside of a reduction");
    if (*handle != type->handle) fail("a user operation was called with another datatype than the call's");
    for (std::int64_t i = 0; i < *count; ++i)
        type->combine(op, static_cast<std::byte*>(left) + i * type->extent,
                      static_cast<std::byte*>(right) + i * type->extent);
}

// The two operations, made and freed.
class UserOperations {
public:
    UserOperations() {
        check(MPI_Op_create(user_function<Op::user_sum>, 1, &sum_.handle));
        check(MPI_Op_create(user_function<Op::user_affine>, 0, &affine_.handle));
    }
    ~UserOperations() {
        MPI_Op_free(&sum_.handle);
        MPI_Op_free(&affine_.handle);
    }
    UserOperations(const UserOperations&) = delete;
    UserOperations& operator=(const UserOperations&) = delete;

    [[nodiscard]] const Operation& sum() const { return sum_; }
    [[nodiscard]] const Operation& affine() const { return affine_; }

private:
    Operation sum_{Op::user_sum, "user sum (commutative)", MPI_OP_NULL};
    Operation affine_{Op::user_affine, "user affine map (not commutative)", MPI_OP_NULL};
};

}  // namespace hcoll::test
