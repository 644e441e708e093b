// SPDX-License-Identifier: BSD-3-Clause
// What the MPI libraries under test are known to do wrong in whole calls; wrong operations are found by a probe, see
// predefined_types.hpp. Such calls are left out of a test unless it runs with --all-right, which says that the calls do
// not end up in the MPI library. Remove an entry when the version that has the defect is no longer supported.
#pragma once

#include "call.hpp"
#include "mpi_library.hpp"

namespace hcoll::test {

// Whether the MPI library crashes in this call, or gives wrong data.
inline bool vendor_fails(const Call& call) {
    // MPICH before 4.1 (pmodels/mpich 6540): an in-place MPI_Reduce to another root than 0 reads from MPI_IN_PLACE,
    // beyond 2 KB and with any operation.
    if (is_mpich_of("4.0") && call.collective == Collective::reduce && call.in_place && call.root != 0 &&
        call.count * call.type->extent > 2048)
        return true;
    // Open MPI 4.1: the ring algorithm of MPI_Allreduce writes outside of its scratch memory when the datatype has a
    // negative true lower bound.
    if (is_openmpi() && call.collective == Collective::allreduce && call.type->true_lower < 0 &&
        call.count * call.type->extent > 4096)
        return true;
    return false;
}

}  // namespace hcoll::test
