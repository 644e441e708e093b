// SPDX-License-Identifier: BSD-3-Clause
// The kernel of an operation and a type of MPI.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "algorithms/kernels/kernel_table.hpp"
#include "algorithms/kernels/kernels.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// As people are told of them; in the order of the elements, and alike for those that differ in how they are multiplied.
inline constexpr std::array<std::string_view, static_cast<std::size_t>(Element::end)> element_names = {
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "long double",
    "complex float32",
    "complex float64",
    "complex long double",
    "complex float32",
    "complex float64",
    "complex long double",
    "logical8",
    "logical16",
    "logical32",
    "logical64",
    "byte",
    "float and int",
    "double and int",
    "long and int",
    "two ints",
    "short and int",
    "long double and int",
    "two floats",
    "two doubles"};

// nullptr for what users made, types without operations (MPI_CHAR) and what kernels are not for (MPI_REAL16): the vendor
// combines those. A kernel's elements lie as MPI says they do, at the type's extent. Some ns, from any thread; the
// vendor is asked once about each complex type of Fortran and C++, and about Fortran's logicals.
Kernel find_kernel(MPI_Op op, MPI_Datatype type);

// Does MPI define this operation for the type (MPI-4.0, 6.9.2)? Of pairs that have a kernel: logical operations are defined for C's integers and for
// logicals; of other integers some MPI libraries refuse them.
bool is_defined(MPI_Op op, MPI_Datatype type);

// What they are to kernels; nothing of those that kernels are not for.
std::optional<Operation> find_operation(MPI_Op op);
std::optional<Element> find_element(MPI_Datatype type);

// Are results of that many ranks the same to the bit, whoever combines them in whatever order, the MPI library or this one? Integers of 32 and 64 bits: of
// shorter ones Open MPI's sums saturate, and MPICH before 4.1 compares unsigned ones as signed. Of two ranks also sums and products of float and double, which are
// rounded once: the order decides only which it is of two NaNs.
bool is_exact(MPI_Op op, MPI_Datatype type, int ranks);

}  // namespace hcoll
