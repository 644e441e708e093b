// The kernel of an operation and a type of MPI.
#pragma once

#include "algorithms/kernels/kernels.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// nullptr for what users made, types without operations (MPI_CHAR) and what kernels are not for (MPI_REAL16): the vendor
// combines those. A kernel's elements lie as MPI says they do, at the type's extent. Some ns; from any thread.
Kernel find_kernel(MPI_Op op, MPI_Datatype type);

// Are results the same to the bit, whoever combines them in whatever order, the MPI library or this one? Integers of 32 and 64 bits: of
// shorter ones Open MPI's sums saturate, and MPICH before 4.1 compares unsigned ones as signed.
bool is_exact(MPI_Op op, MPI_Datatype type);

}  // namespace hcoll
