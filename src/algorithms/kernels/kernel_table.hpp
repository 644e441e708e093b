// SPDX-License-Identifier: BSD-3-Clause
// What a kernel is, and the table of them that every variant fills: all that the variants' files see.
//
// Nothing here may make the compiler emit code, nor may what it includes: see kernel_loops.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcoll {

enum class Operation : std::uint8_t { sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc, end };

enum class Element : std::uint8_t {
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,  // where the CPU converts it
    float32,
    float64,
    long_double,
    // Product as C has it: infinite where a factor is, even if the plain formula gives two NaNs (C99, annex G).
    complex_float32,
    complex_float64,
    complex_long_double,
    // Product by the plain formula, as Fortran has it and C++ in some MPI libraries.
    plain_complex_float32,
    plain_complex_float64,
    plain_complex_long_double,
    // C's and C++'s bool, Fortran's logical where true is 1. Anything but 0 is true, results are 0 and 1.
    logical8,
    logical16,
    logical32,
    logical64,
    byte,
    // Pairs of a value and an index, laid out as C structs. What lies between is neither read nor written.
    float_int,
    double_int,
    long_int,
    int_int,
    short_int,
    long_double_int,
    two_floats,
    two_doubles,
    end
};

// result = left op right, element by element. `result` may be exactly `left` or exactly `right`; no other overlap. Any
// alignment.
//
// Values, as in the MPI libraries' plain loops: integers wrap; min and max of floating point are `left` unless `right` is
// strictly less or greater, so also for a NaN and for zeros of both signs; minloc and maxloc take the pair of `right`
// unless `left` is strictly less or greater, and for equal values the lesser index. Of two NaNs a sum or product is
// that of `right`; a part of a complex product that is a NaN is the positive quiet one.
using Kernel = void (*)(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements);

constexpr std::size_t operation_count = static_cast<std::size_t>(Operation::end);
constexpr std::size_t element_count = static_cast<std::size_t>(Element::end);

// nullptr where MPI does not define the operation.
struct KernelRow {
    std::size_t bytes;  // from one element to the next
    Kernel plain[operation_count];
};

struct KernelTable {
    KernelRow rows[element_count];
};

// One for each variant that there may be.
namespace kernels_baseline {
extern const KernelTable table;
}
namespace kernels_avx2 {
extern const KernelTable table;
}
namespace kernels_avx512 {
extern const KernelTable table;
}

}  // namespace hcoll
