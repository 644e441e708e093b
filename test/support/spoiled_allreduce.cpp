// SPDX-License-Identifier: BSD-3-Clause
// Preloaded before the library: one bit of the last element of what MPI_Allreduce gives rank 1 as a sum of doubles is another, as a defect of the library
// would have it.
#include <mpi.h>

#include "next_function.hpp"

extern "C" int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const int status = NEXT(MPI_Allreduce)(send, receive, count, type, op, comm);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 1 && count > 0 && type == MPI_DOUBLE && op == MPI_SUM) {
        auto* last = static_cast<unsigned char*>(receive) + static_cast<std::size_t>(count) * sizeof(double) - 1;
        *last = static_cast<unsigned char>(*last ^ 1U);
    }
    return status;
}
