// SPDX-License-Identifier: BSD-3-Clause
// The library's own reduction kernels beside MPI_Reduce_local: every operation on every predefined type that both take
// gives the same bits, except where it is said here why not. In one process, without the library preloaded: the kernels
// and the table that finds them are linked in.
#include "../support/mpi_library.hpp"
#include "../support/program.hpp"

#include <dlfcn.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "intercept/types/reduction_kernel.hpp"

using namespace hcoll;
using namespace hcoll::test;

namespace {

using Random = std::mt19937_64;
using Bytes = std::vector<std::byte>;

enum class Kind : std::uint8_t { signed_integer, unsigned_integer, real, complex, logical, bits, pair };

// One number of an element; an element is one, or two for complex numbers and pairs.
enum class Scalar : std::uint8_t { integer, float32, float64, long_double };

struct Part {
    Scalar scalar;
    std::size_t offset;
    std::size_t bytes;
};

struct Type {
    MPI_Datatype type;
    const char* name;
    Kind kind;
    std::vector<Part> parts;
    std::size_t extent = 0;
};

struct Op {
    MPI_Op op;
    const char* name;
};
// Open MPI's handles are known only after load_vendor().
auto all_operations() {
    return std::array{Op{MPI_SUM, "MPI_SUM"},   Op{MPI_PROD, "MPI_PROD"},     Op{MPI_MIN, "MPI_MIN"},
                      Op{MPI_MAX, "MPI_MAX"},   Op{MPI_LAND, "MPI_LAND"},     Op{MPI_LOR, "MPI_LOR"},
                      Op{MPI_LXOR, "MPI_LXOR"}, Op{MPI_BAND, "MPI_BAND"},     Op{MPI_BOR, "MPI_BOR"},
                      Op{MPI_BXOR, "MPI_BXOR"}, Op{MPI_MINLOC, "MPI_MINLOC"}, Op{MPI_MAXLOC, "MPI_MAXLOC"}};
}

// What MPI defines (MPI-4.0, 6.9.2): MPICH ends the program on some of the other pairs.
bool is_defined(Kind kind, MPI_Op op) {
    const auto among = [op](std::initializer_list<MPI_Op> ops) {
        return std::find(ops.begin(), ops.end(), op) != ops.end();
    };
    switch (kind) {
        case Kind::signed_integer:
        case Kind::unsigned_integer: return !among({MPI_MINLOC, MPI_MAXLOC});
        case Kind::real: return among({MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX});
        case Kind::complex: return among({MPI_SUM, MPI_PROD});
        case Kind::logical: return among({MPI_LAND, MPI_LOR, MPI_LXOR});
        case Kind::bits: return among({MPI_BAND, MPI_BOR, MPI_BXOR});
        case Kind::pair: return among({MPI_MINLOC, MPI_MAXLOC});
    }
    return false;
}

std::vector<Type> all_types() {
    std::vector<Type> types;
    const auto add = [&](MPI_Datatype type, const char* name, Kind kind, std::initializer_list<Scalar> scalars) {
        if (!exists(type)) return;
        int size = 0;
        MPI_Aint lower_bound = 0;
        MPI_Aint extent = 0;
        check(MPI_Type_size(type, &size));
        if (size == 0) return;
        check(MPI_Type_get_extent(type, &lower_bound, &extent));
        Type made{type, name, kind, {}, static_cast<std::size_t>(extent)};
        for (const Scalar scalar : scalars)
            made.parts.push_back({scalar, 0, static_cast<std::size_t>(size) / scalars.size()});
        if (scalars.size() == 2) made.parts[1].offset = made.parts[0].bytes;
        types.push_back(made);
    };
    // As in C: struct { Value value; int index; }
    const auto add_pair = [&]<typename Value>(MPI_Datatype type, const char* name, Scalar scalar, Value) {
        struct Pair {
            Value value;
            int index;
        };
        types.push_back({type,
                         name,
                         Kind::pair,
                         {{scalar, 0, sizeof(Value)}, {Scalar::integer, offsetof(Pair, index), sizeof(int)}},
                         sizeof(Pair)});
    };
#define ADD(kind, type, ...) add(type, #type, Kind::kind, {__VA_ARGS__})
#define ADD_INTEGER(type) add(type, #type, Kind::signed_integer, {Scalar::integer})
#define ADD_UNSIGNED(type) add(type, #type, Kind::unsigned_integer, {Scalar::integer})
#define ADD_LOGICAL(type) add(type, #type, Kind::logical, {Scalar::integer})
#define ADD_COMPLEX(type, scalar) add(type, #type, Kind::complex, {Scalar::scalar, Scalar::scalar})
    ADD_INTEGER(MPI_SIGNED_CHAR);
    ADD_INTEGER(MPI_SHORT);
    ADD_INTEGER(MPI_INT);
    ADD_INTEGER(MPI_LONG);
    ADD_INTEGER(MPI_LONG_LONG);
    ADD_INTEGER(MPI_INT8_T);
    ADD_INTEGER(MPI_INT16_T);
    ADD_INTEGER(MPI_INT32_T);
    ADD_INTEGER(MPI_INT64_T);
    ADD_INTEGER(MPI_AINT);
    ADD_INTEGER(MPI_OFFSET);
    ADD_INTEGER(MPI_COUNT);
    ADD_INTEGER(MPI_INTEGER);
    ADD_INTEGER(MPI_INTEGER1);
    ADD_INTEGER(MPI_INTEGER2);
    ADD_INTEGER(MPI_INTEGER4);
    ADD_INTEGER(MPI_INTEGER8);
    ADD_UNSIGNED(MPI_UNSIGNED_CHAR);
    ADD_UNSIGNED(MPI_UNSIGNED_SHORT);
    ADD_UNSIGNED(MPI_UNSIGNED);
    ADD_UNSIGNED(MPI_UNSIGNED_LONG);
    ADD_UNSIGNED(MPI_UNSIGNED_LONG_LONG);
    ADD_UNSIGNED(MPI_UINT8_T);
    ADD_UNSIGNED(MPI_UINT16_T);
    ADD_UNSIGNED(MPI_UINT32_T);
    ADD_UNSIGNED(MPI_UINT64_T);
    ADD(real, MPI_FLOAT, Scalar::float32);
    ADD(real, MPI_DOUBLE, Scalar::float64);
    ADD(real, MPI_LONG_DOUBLE, Scalar::long_double);
    ADD(real, MPI_REAL, Scalar::float32);
    ADD(real, MPI_REAL4, Scalar::float32);
    ADD(real, MPI_REAL8, Scalar::float64);
    ADD(real, MPI_DOUBLE_PRECISION, Scalar::float64);
    ADD_COMPLEX(MPI_C_COMPLEX, float32);
    ADD_COMPLEX(MPI_C_DOUBLE_COMPLEX, float64);
    ADD_COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long_double);
    ADD_COMPLEX(MPI_CXX_FLOAT_COMPLEX, float32);
    ADD_COMPLEX(MPI_CXX_DOUBLE_COMPLEX, float64);
    ADD_COMPLEX(MPI_CXX_LONG_DOUBLE_COMPLEX, long_double);
    ADD_COMPLEX(MPI_COMPLEX, float32);
    ADD_COMPLEX(MPI_DOUBLE_COMPLEX, float64);
    ADD_COMPLEX(MPI_COMPLEX8, float32);
    ADD_COMPLEX(MPI_COMPLEX16, float64);
    ADD_LOGICAL(MPI_C_BOOL);
    ADD_LOGICAL(MPI_CXX_BOOL);
    ADD_LOGICAL(MPI_LOGICAL);
#if defined(MPI_LOGICAL1)
    ADD_LOGICAL(MPI_LOGICAL1);
    ADD_LOGICAL(MPI_LOGICAL2);
    ADD_LOGICAL(MPI_LOGICAL4);
    ADD_LOGICAL(MPI_LOGICAL8);
#endif
    ADD(bits, MPI_BYTE, Scalar::integer);
    ADD(pair, MPI_2INT, Scalar::integer, Scalar::integer);
    ADD(pair, MPI_2INTEGER, Scalar::integer, Scalar::integer);
    ADD(pair, MPI_2REAL, Scalar::float32, Scalar::float32);
    ADD(pair, MPI_2DOUBLE_PRECISION, Scalar::float64, Scalar::float64);
    add_pair(MPI_FLOAT_INT, "MPI_FLOAT_INT", Scalar::float32, 0.0F);
    add_pair(MPI_DOUBLE_INT, "MPI_DOUBLE_INT", Scalar::float64, 0.0);
    add_pair(MPI_LONG_INT, "MPI_LONG_INT", Scalar::integer, 0L);
    add_pair(MPI_SHORT_INT, "MPI_SHORT_INT", Scalar::integer, short{0});
    add_pair(MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", Scalar::long_double, 0.0L);
    return types;
}

// ---- numbers --------------------------------------------------------------------------------------------------------------

// x87's extended precision fills 10 of the 16 (or 12) bytes of a long double.
constexpr std::size_t long_double_bytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof(long double);

template <typename T>
void put_real(std::byte* place, std::size_t bytes, Random& random) {
    using Limits = std::numeric_limits<T>;
    const std::array special{T{0},
                             -T{0},
                             T{1},
                             T{-1},
                             T{2},
                             Limits::max(),
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::denorm_min(),
                             Limits::quiet_NaN(),
                             -Limits::quiet_NaN()};
    const T value = random() % 4 != 0 ? special[random() % special.size()]
                                      : std::ldexp(static_cast<T>(static_cast<std::int64_t>(random())), -60);
    std::memcpy(place, &value, std::is_same_v<T, long double> ? long_double_bytes : bytes);
}

void put_integer(std::byte* place, std::size_t bytes, Kind kind, Random& random) {
    const std::array<std::uint64_t, 6> special{
        0, 1, 2, ~std::uint64_t{0}, std::uint64_t{1} << (8 * bytes - 1), (std::uint64_t{1} << (8 * bytes - 1)) - 1};
    std::uint64_t value = random() % 2 == 0 ? special[random() % special.size()] : random();
    if (kind == Kind::logical) value &= 1U;  // others are no values of a logical type
    std::memcpy(place, &value, bytes);
}

void fill(const Type& type, Bytes& elements, Random& random) {
    for (std::byte& byte : elements) byte = static_cast<std::byte>(random());
    for (std::size_t at = 0; at < elements.size(); at += type.extent)
        for (const Part& part : type.parts) {
            std::byte* place = elements.data() + at + part.offset;
            switch (part.scalar) {
                case Scalar::integer: put_integer(place, part.bytes, type.kind, random); break;
                case Scalar::float32: put_real<float>(place, part.bytes, random); break;
                case Scalar::float64: put_real<double>(place, part.bytes, random); break;
                case Scalar::long_double: put_real<long double>(place, part.bytes, random); break;
            }
        }
}

bool is_nan(const Part& part, const std::byte* element) {
    float single = 0;
    double twice = 0;
    long double extended = 0;
    switch (part.scalar) {
        case Scalar::integer: return false;
        case Scalar::float32: std::memcpy(&single, element + part.offset, sizeof single); return std::isnan(single);
        case Scalar::float64: std::memcpy(&twice, element + part.offset, sizeof twice); return std::isnan(twice);
        case Scalar::long_double:
            std::memcpy(&extended, element + part.offset, sizeof extended);
            return std::isnan(extended);
    }
    return false;
}

bool is_zero(const Part& part, const std::byte* element) {
    const std::size_t bytes = part.scalar == Scalar::long_double ? long_double_bytes : part.bytes;
    for (std::size_t i = 0; i + 1 < bytes; ++i)
        if (element[part.offset + i] != std::byte{0}) return false;
    return (element[part.offset + bytes - 1] & std::byte{0x7f}) == std::byte{0};
}

// ---- where bits may differ --------------------------------------------------------------------------------------------------

struct Element3 {
    const std::byte* left;
    const std::byte* right;
    const std::byte* ours;
    const std::byte* vendors;
};

// MIN and MAX of these types compare unsigned numbers as signed ones, or the other way round: MPICH before 4.1
// (pmodels/mpich 6083) all unsigned types, Open MPI 4.1 two types. Ours must be right.
bool vendor_confuses_signs(const Type& type) {
    if (is_openmpi()) return type.type == MPI_UNSIGNED_LONG || type.type == MPI_OFFSET;
    return type.kind == Kind::unsigned_integer;
}

bool is_right_minimum_or_maximum(const Type& type, bool maximum, const Element3& element) {
    const std::size_t bytes = type.parts[0].bytes;
    const bool is_signed = type.kind == Kind::signed_integer;
    const auto value = [&](const std::byte* place) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, place, bytes);
        // Signed numbers in the order of unsigned ones.
        return is_signed ? bits ^ (std::uint64_t{1} << (8 * bytes - 1)) : bits;
    };
    const std::uint64_t left = value(element.left);
    const std::uint64_t right = value(element.right);
    return value(element.ours) == (maximum ? std::max(left, right) : std::min(left, right));
}

// Sums of Open MPI's vectors (op/avx) of 8 and 16 bits end at the ends of the range, those of its plain loops wrap. Ours
// must wrap.
bool vendor_saturates(const Type& type, MPI_Op op) {
    const bool is_integer = type.kind == Kind::signed_integer || type.kind == Kind::unsigned_integer;
    return is_openmpi() && op == MPI_SUM && is_integer && type.extent <= 2;
}

bool is_wrapped_sum(const Type& type, const Element3& element) {
    std::uint32_t left = 0;
    std::uint32_t right = 0;
    std::memcpy(&left, element.left, type.extent);
    std::memcpy(&right, element.right, type.extent);
    const std::uint32_t sum = left + right;
    return std::memcmp(&sum, element.ours, type.extent) == 0;
}

// Where the CPU has an instruction for it, compilers round one of the two products of a part not at all (GCC does by default);
// ours rounds both.
#if defined(__FP_FAST_FMA)
constexpr bool vendor_fuses = true;
#else
constexpr bool vendor_fuses = false;
#endif

template <typename T>
bool is_fused_product(bool is_imaginary, const Element3& element, const std::byte* vendors) {
    std::array<T, 2> left{};
    std::array<T, 2> right{};
    T value{};
    std::memcpy(left.data(), element.left, sizeof left);
    std::memcpy(right.data(), element.right, sizeof right);
    std::memcpy(&value, vendors, sizeof value);
    const T first = left[0];
    const T second = is_imaginary ? left[1] : -left[1];
    const T factor = is_imaginary ? right[1] : right[0];
    const T other = is_imaginary ? right[0] : right[1];
    const T one = std::fma(first, factor, second * other);
    const T another = std::fma(second, other, first * factor);
    const auto is_it = [&](T fused) { return value == fused || (std::isnan(value) && std::isnan(fused)); };
    return is_it(one) || is_it(another);
}

bool is_fused_product(const Type& type, const Part& part, const Element3& element) {
    const bool is_imaginary = part.offset != type.parts[0].offset;
    const std::byte* vendors = element.vendors + part.offset;
    switch (part.scalar) {
        case Scalar::float32: return is_fused_product<float>(is_imaginary, element, vendors);
        case Scalar::float64: return is_fused_product<double>(is_imaginary, element, vendors);
        default: return false;
    }
}

bool may_differ(const Type& type, MPI_Op op, const Element3& element) {
    const bool is_extreme = op == MPI_MIN || op == MPI_MAX;
    if (is_extreme && vendor_confuses_signs(type)) return is_right_minimum_or_maximum(type, op == MPI_MAX, element);
    if (vendor_saturates(type, op)) return is_wrapped_sum(type, element);
    for (const Part& part : type.parts) {
        if (std::memcmp(element.ours + part.offset, element.vendors + part.offset, part.bytes) == 0) continue;
        const bool both_nans = is_nan(part, element.left) && is_nan(part, element.right);
        // Which NaN it is if both operands are NaNs, and what a new one looks like, is the compiler's choice.
        const bool is_complex_product = type.kind == Kind::complex && op == MPI_PROD;
        if (is_nan(part, element.ours) && is_nan(part, element.vendors) &&
            (is_complex_product || (both_nans && (op == MPI_SUM || op == MPI_PROD))))
            continue;
        if (vendor_fuses && is_complex_product && is_fused_product(type, part, element)) continue;
        // Open MPI's vectors (op/avx) choose the other operand than its plain loops if one is a NaN or both are zeros: its
        // result depends on where in the buffer the element is.
        const bool has_vectors = part.scalar == Scalar::float32 || part.scalar == Scalar::float64;
        const bool is_either = std::memcmp(element.vendors, element.right, type.extent) == 0 &&
                               std::memcmp(element.ours, element.left, type.extent) == 0;
        const bool is_undecided = is_nan(part, element.left) || is_nan(part, element.right) ||
                                  (is_zero(part, element.left) && is_zero(part, element.right));
        if (is_openmpi() && is_extreme && has_vectors && is_either && is_undecided) continue;
        return false;
    }
    return true;
}

// ---- comparison -------------------------------------------------------------------------------------------------------------

std::string hex(const std::byte* bytes, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        constexpr const char* digits = "0123456789abcdef";
        const auto byte = std::to_integer<unsigned>(bytes[i]);
        text += {digits[byte / 16], digits[byte % 16]};
    }
    return text;
}

// The number of elements whose bits differ with good reason.
std::size_t compare(const Type& type, const Op& op, Kernel kernel, std::size_t count, Random& random) {
    Bytes left(count * type.extent);
    Bytes right(count * type.extent);
    fill(type, left, random);
    fill(type, right, random);
    Bytes ours = right;
    Bytes vendors = right;
    kernel(left.data(), ours.data(), ours.data(), count);
    check(MPI_Reduce_local(left.data(), vendors.data(), static_cast<int>(count), type.type, op.op));
    std::size_t different = 0;
    for (std::size_t at = 0; at < left.size(); at += type.extent) {
        const Element3 element{left.data() + at, right.data() + at, ours.data() + at, vendors.data() + at};
        if (std::memcmp(element.ours, element.vendors, type.extent) == 0) continue;
        if (!may_differ(type, op.op, element))
            fail(std::string(op.name) + " of " + type.name + ": left " + hex(element.left, type.extent) + ", right " +
                 hex(element.right, type.extent) + " give " + hex(element.ours, type.extent) + ", not " +
                 hex(element.vendors, type.extent));
        ++different;
    }
    return different;
}

bool vendor_takes(const Type& type, const Op& op) {
    std::array<std::byte, 64> left{};
    std::array<std::byte, 64> right{};
    return MPI_Reduce_local(left.data(), right.data(), 1, type.type, op.op) == MPI_SUCCESS;
}

void refuse_others(MPI_Datatype known) {
    require(find_kernel(MPI_SUM, MPI_CHAR) == nullptr, "a kernel for MPI_CHAR");
    require(find_kernel(MPI_SUM, MPI_DATATYPE_NULL) == nullptr, "a kernel for no type");
    require(find_kernel(MPI_OP_NULL, known) == nullptr, "a kernel for no operation");
    require(find_kernel(MPI_REPLACE, known) == nullptr, "a kernel for MPI_REPLACE");
    MPI_Datatype contiguous = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(2, known, &contiguous));
    check(MPI_Type_commit(&contiguous));
    require(find_kernel(MPI_SUM, contiguous) == nullptr, "a kernel for a derived type");
    check(MPI_Type_free(&contiguous));
    MPI_Op user = MPI_OP_NULL;
    check(MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &user));
    require(find_kernel(user, known) == nullptr, "a kernel for a user's operation");
    check(MPI_Op_free(&user));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "kernels");
    program.options().reject_rest();
    const std::string missing = load_vendor(dlopen(nullptr, RTLD_NOW));  // the program's own MPI library
    require(missing.empty(), "the MPI library lacks " + missing);
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    Random random(program.seed());
    std::size_t pairs = 0;
    const std::vector<Type> types = all_types();
    refuse_others(types.front().type);
    for (const Type& type : types)
        for (const Op& op : all_operations()) {
            if (!is_defined(type.kind, op.op) || !vendor_takes(type, op)) continue;
            const Kernel kernel = find_kernel(op.op, type.type);
            require(kernel != nullptr, std::string("no kernel for ") + op.name + " of " + type.name);
            std::size_t different = 0;
            for (std::size_t count = 0; count <= 70; ++count) different += compare(type, op, kernel, count, random);
            different += compare(type, op, kernel, 5003, random);
            if (different != 0)
                std::printf("%s of %s: %zu elements differ as they may\n", op.name, type.name, different);
            ++pairs;
        }
    return program.finish(std::to_string(pairs) + " pairs of operation and type");
}
