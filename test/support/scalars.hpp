// SPDX-License-Identifier: BSD-3-Clause
// Values and serial reductions of the C types behind MPI's predefined types.
//
// Values are drawn so that any order of reduction gives the same bits: floating-point values are small integers (or
// halves), signed integers do not overflow, products of complex numbers never have a part that is zero, whose sign
// would depend on the order. MIN and MAX get the ends of the range.
#pragma once

#include "operation.hpp"
#include "random.hpp"

#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

namespace hcoll::test {

// A Fortran LOGICAL: only .false. and .true. are values.
template <class Integer>
struct Logical {
    Integer value;
};

// A type of MPI_MINLOC and MPI_MAXLOC.
template <class Value, class Index>
struct Pair {
    Value value;
    Index index;
};

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
struct IsPair : std::false_type {};
template <class V, class I>
struct IsPair<Pair<V, I>> : std::true_type {};
template <class T>
struct IsLogical : std::false_type {};
template <class I>
struct IsLogical<Logical<I>> : std::true_type {};

// IEEE binary128, the Fortran REAL(16): GCC's name of it, where it is not a long double as on AArch64.
#if defined(__SIZEOF_FLOAT128__)
__extension__ using Quad = __float128;
#else
using Quad = long double;
#endif

// std::is_floating_point is false for it in strict mode, and it has no limits.
template <class T>
constexpr bool is_quad = std::is_same_v<T, Quad> && !std::is_same_v<T, long double>;
template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || is_quad<T>;

// Which value to draw: what 'rank' contributes to 'op'. 'narrow' keeps integers away from the ends of their range.
struct Draw {
    Op op = Op::none;
    int rank = 0;
    bool narrow = false;
};

// Bytes of an element that carry its value.
struct Part {
    std::ptrdiff_t offset;
    std::size_t size;
};

// x87 extended precision fills 10 of the 16 (or 12) bytes of a long double.
template <class T>
constexpr std::size_t value_bytes() {
    if constexpr (std::is_same_v<T, long double>)
        return std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(T);
    else
        return sizeof(T);
}

template <class T>
std::vector<Part> parts_of() {
    if constexpr (IsComplex<T>::value) {
        using Real = typename T::value_type;
        return {{0, value_bytes<Real>()}, {sizeof(Real), value_bytes<Real>()}};
    } else if constexpr (IsPair<T>::value) {
        return {{offsetof(T, value), value_bytes<decltype(T::value)>()}, {offsetof(T, index), sizeof(T::index)}};
    } else {
        return {{0, value_bytes<T>()}};
    }
}

// What a rank adds to a sum at most, if that is to stay in the range however it is bracketed: some libraries' sums wrap, those
// of others saturate. 400 ranks' bytes are 8 * 9 + 49 together.
template <class T>
int largest_summand(int rank) {
    if (sizeof(T) > 1 || rank < 8) return 9;
    return rank % 8 == 0 ? 1 : 0;
}

template <class T>
T draw_integer(const Draw& how, Random& random) {
    using Limits = std::numeric_limits<T>;
    const auto any = static_cast<T>(how.narrow ? random.below(10) : random.next());
    switch (how.op) {
        case Op::sum: {
            const int most = largest_summand<T>(how.rank);
            if constexpr (std::is_signed_v<T>) return static_cast<T>(random.between(-most, most));
            return how.narrow ? static_cast<T>(random.between(0, most)) : any;
        }
        case Op::prod: {
            const std::int64_t magnitude = how.rank % 4 == 0 ? random.between(1, 3) : 1;
            return static_cast<T>(std::is_signed_v<T> && random.chance(2) ? -magnitude : magnitude);
        }
        case Op::min:
        case Op::max: {
            if (how.narrow) return any;
            const T ends[] = {Limits::min(), static_cast<T>(Limits::min() + 1),     static_cast<T>(Limits::max() - 1),
                              Limits::max(), static_cast<T>(Limits::max() / 2 + 1), any};
            return ends[random.below(std::size(ends))];
        }
        case Op::land:
        case Op::lor:
        case Op::lxor: return random.chance(2) ? T{0} : static_cast<T>(random.chance(2) ? any : T{1});
        default: return any;
    }
}

template <class T>
T draw_real(Op op, Random& random) {
    if (op == Op::prod) {
        const double factors[] = {1, -1, 2, -2, 0.5, -0.5};
        return static_cast<T>(factors[random.below(std::size(factors))]);
    }
    if constexpr (!is_quad<T>) {
        using Limits = std::numeric_limits<T>;
        if ((op == Op::min || op == Op::max) && !random.chance(3)) {
            const T ends[] = {Limits::lowest(),   Limits::max(),       Limits::min(),    -Limits::min(),
                              Limits::infinity(), -Limits::infinity(), Limits::epsilon()};
            return ends[random.below(std::size(ends))];
        }
    }
    return static_cast<T>(static_cast<double>(random.between(-2000, 2000)) / 2);
}

// Powers of distinct Gaussian primes: a product never has a zero part, and stays exact in float for 16 ranks. Those of further ranks are 1: a zero
// part of theirs has no other sign than +, in whichever order.
template <class T>
T draw_complex(const Draw& how, Random& random) {
    using Real = typename T::value_type;
    if (how.op != Op::prod) return {draw_real<Real>(how.op, random), draw_real<Real>(how.op, random)};
    if (how.rank >= 16) return {1, 0};
    const T prime = how.rank < 4 && random.chance(2) ? T{3, 2} : T{2, 1};
    return random.chance(2) ? prime : -prime;
}

template <class T>
T draw(const Draw& how, Random& random) {
    if constexpr (IsLogical<T>::value) {
        return {static_cast<decltype(T::value)>(random.below(2))};
    } else if constexpr (IsPair<T>::value) {
        // Few different values: ties, which the index decides.
        using Value = decltype(T::value);
        T pair{};
        pair.value = random.chance(2) ? draw<Value>({Op::min, how.rank, how.narrow}, random)
                                      : static_cast<Value>(static_cast<int>(random.between(-1, 1)));
        pair.index = static_cast<decltype(T::index)>(random.between(0, 1000));
        return pair;
    } else if constexpr (IsComplex<T>::value) {
        return draw_complex<T>(how, random);
    } else if constexpr (std::is_same_v<T, bool>) {
        return random.chance(2);
    } else if constexpr (is_real<T>) {
        return draw_real<T>(how.op, random);
    } else {
        return draw_integer<T>(how, random);
    }
}

template <class T>
T wrap(std::uint64_t value) {
    return static_cast<T>(value);
}

template <class T>
T combine_integer(Op op, T left, T right) {
    // In 64 unsigned bits, then cut: no overflow that C++ leaves undefined.
    const auto a = static_cast<std::uint64_t>(left);
    const auto b = static_cast<std::uint64_t>(right);
    switch (op) {
        case Op::sum: return wrap<T>(a + b);
        case Op::prod: return wrap<T>(a * b);
        case Op::min: return left < right ? left : right;
        case Op::max: return left < right ? right : left;
        case Op::land: return static_cast<T>(left != 0 && right != 0);
        case Op::lor: return static_cast<T>(left != 0 || right != 0);
        case Op::lxor: return static_cast<T>((left != 0) != (right != 0));
        case Op::band: return wrap<T>(a & b);
        case Op::bor: return wrap<T>(a | b);
        case Op::bxor: return wrap<T>(a ^ b);
        default: return left;
    }
}

// left op right, for one element.
template <class T>
T combine(Op op, T left, T right) {
    if constexpr (IsLogical<T>::value) {
        return {combine_integer(op, left.value, right.value)};
    } else if constexpr (IsPair<T>::value) {
        if (left.value == right.value) return left.index < right.index ? left : right;
        return (left.value < right.value) == (op == Op::minloc) ? left : right;
    } else if constexpr (IsComplex<T>::value) {
        return op == Op::sum ? left + right : left * right;
    } else if constexpr (std::is_same_v<T, bool>) {
        return combine_integer<int>(op, left, right) != 0;
    } else if constexpr (is_real<T>) {
        switch (op) {
            case Op::sum: return left + right;
            case Op::prod: return left * right;
            case Op::min: return left < right ? left : right;
            default: return left < right ? right : left;
        }
    } else {
        return combine_integer(op, left, right);
    }
}

}  // namespace hcoll::test
