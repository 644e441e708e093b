// SPDX-License-Identifier: BSD-3-Clause
// The loops of all kernels, which the compiler makes vectors of. Included by one file per variant, each compiled for
// other CPUs, in a namespace of its own: HCOLL_KERNEL_VARIANT. The file defines that variant's table as make_table().
//
// No function may be emitted here that another file may have too (an inline function or a template of the standard
// library, or of ours): the linker keeps one copy for the whole program, and one made for AVX-512 would be an illegal
// instruction elsewhere. So everything is in an unnamed namespace, and nothing of std is called; the test
// kernels.objects holds the object files to that.
//
// Bits are the same in all variants: elements do not depend on one another, and -ffp-contract=off keeps products and sums
// apart.
#include <type_traits>

#include "algorithms/kernels/kernel_table.hpp"

namespace hcoll::HCOLL_KERNEL_VARIANT {

namespace {

// Iterations of the next loop are independent, though `result` may be `left` or `right`: an iteration reads its own
// elements before it writes them. Without this, the compiler checks at run time, and takes the slow loop.
#if defined(__clang__)
#define HCOLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define HCOLL_INDEPENDENT _Pragma("GCC ivdep")
#endif

// An element at any address, whatever the application takes it for.
template <typename T>
struct __attribute__((packed, may_alias)) Cell {
    T value;
};

template <typename T>
const Cell<T>* cells(const std::byte* bytes) {
    return reinterpret_cast<const Cell<T>*>(bytes);
}
template <typename T>
Cell<T>* cells(std::byte* bytes) {
    return reinterpret_cast<Cell<T>*>(bytes);
}

// ---- operations on values -----------------------------------------------------------------------------------------------

// What values are combined as. Narrow integers as unsigned ones: as int, a product of two 16-bit numbers can overflow.
// 16-bit floats as float, rounded once: their own comparison is a function of a new compiler's run-time library.
template <typename T>
using WideReal = std::conditional_t<sizeof(T) == 2, float, T>;
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::common_type_t<T, unsigned>, WideReal<T>>;

template <typename T>
bool is_nan(T value) {
    if constexpr (sizeof(T) == 2)
        return (__builtin_bit_cast(std::uint16_t, value) & 0x7fffU) > 0x7c00U;
    else
        return __builtin_isnan(value);
}

// Of two NaNs an instruction gives its first operand, and compilers exchange the operands of a sum as they like.
template <typename T>
T with_nan_of(T right, T result) {
    if constexpr (std::is_integral_v<T>)
        return result;
    else
        return is_nan(right) ? right : result;
}

struct Sum {
    template <typename T>
    static T of(T left, T right) {
        return with_nan_of(right, static_cast<T>(static_cast<Wide<T>>(right) + static_cast<Wide<T>>(left)));
    }
};
struct Product {
    template <typename T>
    static T of(T left, T right) {
        return with_nan_of(right, static_cast<T>(static_cast<Wide<T>>(right) * static_cast<Wide<T>>(left)));
    }
};
// As the instructions (MINPS) have it, with their operands exchanged: `left` for a NaN and for two zeros.
struct Minimum {
    template <typename T>
    static T of(T left, T right) {
        return right < left ? right : left;
    }
};
struct Maximum {
    template <typename T>
    static T of(T left, T right) {
        return right > left ? right : left;
    }
};
struct LogicalAnd {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>(static_cast<int>(left != 0) & static_cast<int>(right != 0));
    }
};
struct LogicalOr {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>((left | right) != 0);
    }
};
struct LogicalXor {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>(static_cast<int>(left != 0) ^ static_cast<int>(right != 0));
    }
};
struct BitAnd {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>(left & right);
    }
};
struct BitOr {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>(left | right);
    }
};
struct BitXor {
    template <typename T>
    static T of(T left, T right) {
        return static_cast<T>(left ^ right);
    }
};

struct Less {
    template <typename T>
    static bool of(T left, T right) {
        return left < right;
    }
};
struct Greater {
    template <typename T>
    static bool of(T left, T right) {
        return left > right;
    }
};

// ---- loops ----------------------------------------------------------------------------------------------------------------

// `parts` values make an element: 2 for the sum of complex numbers.
template <typename Function, typename T, std::size_t parts = 1>
void elementwise(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    const auto* a = cells<T>(left);
    const auto* b = cells<T>(right);
    auto* c = cells<T>(result);
    const std::size_t values = elements * parts;
    HCOLL_INDEPENDENT
    for (std::size_t i = 0; i < values; ++i) c[i].value = Function::template of<T>(a[i].value, b[i].value);
}

template <typename Value, typename Index>
struct Pair {
    Value value;
    Index index;
};

// Without branches: which of two values is the better one is anybody's guess.
template <typename Better, typename Value, typename Index>
void locate(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    const auto* a = cells<Pair<Value, Index>>(left);
    const auto* b = cells<Pair<Value, Index>>(right);
    auto* c = cells<Pair<Value, Index>>(result);
    HCOLL_INDEPENDENT
    for (std::size_t i = 0; i < elements; ++i) {
        const Value left_value = a[i].value.value;
        const Value right_value = b[i].value.value;
        const Index left_index = a[i].value.index;
        const Index right_index = b[i].value.index;
        const bool is_better = Better::template of<Value>(left_value, right_value);
        const Index lesser = right_index < left_index ? right_index : left_index;
        const Index otherwise = left_value == right_value ? lesser : right_index;
        c[i].value.value = is_better ? left_value : right_value;
        c[i].value.index = is_better ? left_index : otherwise;
    }
}

template <typename T>
struct Complex {
    T real;
    T imaginary;
};

// C's own complex numbers, which cannot be named as a template.
template <typename T>
struct ComplexOfC;
template <>
struct ComplexOfC<float> {
    using Type = __complex__ float;
};
template <>
struct ComplexOfC<double> {
    using Type = __complex__ double;
};
template <>
struct ComplexOfC<long double> {
    using Type = __complex__ long double;
};

template <typename T>
T one_nan(T value) {
    return is_nan(value) ? static_cast<T>(__builtin_nan("")) : value;
}

// A product of its own, rounded: GCC 12 makes VFMADDSUB of a complex product even under -ffp-contract=off, where the CPU
// has AVX-512, but not across this barrier.
#if defined(__has_builtin) && __has_builtin(__builtin_assoc_barrier)
#define HCOLL_ROUNDED(product) __builtin_assoc_barrier(product)
#else
#define HCOLL_ROUNDED(product) (product)
#endif

template <typename T>
Complex<T> plain_product(Complex<T> left, Complex<T> right) {
    return {one_nan<T>(HCOLL_ROUNDED(left.real * right.real) - HCOLL_ROUNDED(left.imaginary * right.imaginary)),
            one_nan<T>(HCOLL_ROUNDED(left.real * right.imaginary) + HCOLL_ROUNDED(left.imaginary * right.real))};
}

template <typename T>
void multiply_plain(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    const auto* a = cells<Complex<T>>(left);
    const auto* b = cells<Complex<T>>(right);
    auto* c = cells<Complex<T>>(result);
    HCOLL_INDEPENDENT
    for (std::size_t i = 0; i < elements; ++i) {
        const auto product =
            plain_product<T>({a[i].value.real, a[i].value.imaginary}, {b[i].value.real, b[i].value.imaginary});
        c[i].value.real = product.real;
        c[i].value.imaginary = product.imaginary;
    }
}

// C's product: the plain one, and in the rare case that both its parts are NaNs what the compiler's library makes of it.
// A loop with a call in it has no vectors, so a block is multiplied first and looked at then.
template <typename T>
void multiply_as_c(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    constexpr std::size_t block = 128;
    Complex<T> products[block];
    const auto* a = cells<Complex<T>>(left);
    const auto* b = cells<Complex<T>>(right);
    auto* c = cells<Complex<T>>(result);
    for (std::size_t first = 0; first < elements; first += block) {
        const std::size_t count = elements - first < block ? elements - first : block;
        multiply_plain<T>(left + first * sizeof(Complex<T>), right + first * sizeof(Complex<T>),
                          reinterpret_cast<std::byte*>(products), count);
        unsigned lost = 0;
        for (std::size_t i = 0; i < count; ++i)
            lost |=
                static_cast<unsigned>(is_nan(products[i].real)) & static_cast<unsigned>(is_nan(products[i].imaginary));
        for (std::size_t i = 0; lost != 0 && i < count; ++i) {
            if (!is_nan(products[i].real) || !is_nan(products[i].imaginary)) continue;
            typename ComplexOfC<T>::Type factor;
            typename ComplexOfC<T>::Type product;
            __real__ factor = a[first + i].value.real;
            __imag__ factor = a[first + i].value.imaginary;
            __real__ product = b[first + i].value.real;
            __imag__ product = b[first + i].value.imaginary;
            product *= factor;
            products[i] = Complex<T>{one_nan<T>(__real__ product), one_nan<T>(__imag__ product)};
        }
        for (std::size_t i = 0; i < count; ++i) {
            c[first + i].value.real = products[i].real;
            c[first + i].value.imaginary = products[i].imaginary;
        }
    }
}

// ---- rows of the table ------------------------------------------------------------------------------------------------------

consteval std::size_t at(Operation operation) { return static_cast<std::size_t>(operation); }

template <Kernel kernel>
consteval void put(KernelRow& row, Operation operation) {
    row.plain[at(operation)] = kernel;
}

template <typename T>
consteval KernelRow bit_row() {
    KernelRow row{.bytes = sizeof(T), .plain = {}};
    put<elementwise<BitAnd, T>>(row, Operation::band);
    put<elementwise<BitOr, T>>(row, Operation::bor);
    put<elementwise<BitXor, T>>(row, Operation::bxor);
    return row;
}

template <typename T>
consteval void put_logical(KernelRow& row) {
    put<elementwise<LogicalAnd, T>>(row, Operation::land);
    put<elementwise<LogicalOr, T>>(row, Operation::lor);
    put<elementwise<LogicalXor, T>>(row, Operation::lxor);
}

template <typename T>
consteval KernelRow logical_row() {
    KernelRow row{.bytes = sizeof(T), .plain = {}};
    put_logical<T>(row);
    return row;
}

// Only min and max see the sign.
template <typename T>
consteval KernelRow integer_row() {
    using Unsigned = std::make_unsigned_t<T>;
    KernelRow row = bit_row<Unsigned>();
    put_logical<Unsigned>(row);
    put<elementwise<Sum, Unsigned>>(row, Operation::sum);
    put<elementwise<Product, Unsigned>>(row, Operation::prod);
    put<elementwise<Minimum, T>>(row, Operation::min);
    put<elementwise<Maximum, T>>(row, Operation::max);
    return row;
}

template <typename T>
consteval KernelRow floating_row() {
    KernelRow row{.bytes = sizeof(T), .plain = {}};
    put<elementwise<Sum, T>>(row, Operation::sum);
    put<elementwise<Product, T>>(row, Operation::prod);
    put<elementwise<Minimum, T>>(row, Operation::min);
    put<elementwise<Maximum, T>>(row, Operation::max);
    return row;
}

template <typename T, Kernel multiply>
consteval KernelRow complex_row() {
    KernelRow row{.bytes = sizeof(Complex<T>), .plain = {}};
    put<elementwise<Sum, T, 2>>(row, Operation::sum);
    put<multiply>(row, Operation::prod);
    return row;
}

template <typename Value, typename Index>
consteval KernelRow pair_row() {
    KernelRow row{.bytes = sizeof(Pair<Value, Index>), .plain = {}};
    put<locate<Less, Value, Index>>(row, Operation::minloc);
    put<locate<Greater, Value, Index>>(row, Operation::maxloc);
    return row;
}

consteval KernelTable make_table() {
    KernelTable made{};
    const auto set = [&](Element element, const KernelRow& row) { made.rows[static_cast<std::size_t>(element)] = row; };
    set(Element::int8, integer_row<std::int8_t>());
    set(Element::int16, integer_row<std::int16_t>());
    set(Element::int32, integer_row<std::int32_t>());
    set(Element::int64, integer_row<std::int64_t>());
    set(Element::uint8, integer_row<std::uint8_t>());
    set(Element::uint16, integer_row<std::uint16_t>());
    set(Element::uint32, integer_row<std::uint32_t>());
    set(Element::uint64, integer_row<std::uint64_t>());
    // Not where it would need functions of a new compiler's run-time library.
#if defined(__FLT16_MAX__) && defined(__F16C__)
    set(Element::float16, floating_row<_Float16>());
#elif defined(__aarch64__)
    set(Element::float16, floating_row<__fp16>());
#else
    made.rows[static_cast<std::size_t>(Element::float16)].bytes = 2;
#endif
    set(Element::float32, floating_row<float>());
    set(Element::float64, floating_row<double>());
    set(Element::long_double, floating_row<long double>());
    set(Element::complex_float32, complex_row<float, multiply_as_c<float>>());
    set(Element::complex_float64, complex_row<double, multiply_as_c<double>>());
    set(Element::complex_long_double, complex_row<long double, multiply_as_c<long double>>());
    set(Element::plain_complex_float32, complex_row<float, multiply_plain<float>>());
    set(Element::plain_complex_float64, complex_row<double, multiply_plain<double>>());
    set(Element::plain_complex_long_double, complex_row<long double, multiply_plain<long double>>());
    set(Element::logical8, logical_row<std::uint8_t>());
    set(Element::logical16, logical_row<std::uint16_t>());
    set(Element::logical32, logical_row<std::uint32_t>());
    set(Element::logical64, logical_row<std::uint64_t>());
    set(Element::byte, bit_row<std::uint8_t>());
    set(Element::float_int, pair_row<float, int>());
    set(Element::double_int, pair_row<double, int>());
    set(Element::long_int, pair_row<long, int>());
    set(Element::int_int, pair_row<int, int>());
    set(Element::short_int, pair_row<short, int>());
    set(Element::long_double_int, pair_row<long double, int>());
    set(Element::two_floats, pair_row<float, float>());
    set(Element::two_doubles, pair_row<double, double>());
    return made;
}

}  // namespace

}  // namespace hcoll::HCOLL_KERNEL_VARIANT
