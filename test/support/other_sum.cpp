// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind the library: an MPI library whose sums of MPI_INT by non-blocking and persistent collectives are maxima, and which gathers and scatters bytes wrongly, as seen from the library, which finds the vendor by
// PMPI_Get_library_version. So the library's own sums are "wrong", which LIBHCOLL_VERIFY has to find.
#include <mpi.h>

#include "mpi_features.hpp"
#include "next_function.hpp"

#include <cstring>

#if defined(HCOLL_TEST_PERSISTENT)
#define JOINED(first, second) first##second
#define WITH_P(name) JOINED(P, name)
#define PERSISTENT_ALLREDUCE WITH_P(HCOLL_TEST_PERSISTENT(Allreduce_init))
#endif

namespace {

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

MPI_Op other(MPI_Op op, MPI_Datatype type) { return op == MPI_SUM && type == MPI_INT ? MPI_MAX : op; }

}  // namespace

extern "C" {

int PMPI_Get_library_version(char* version, int* length) { return NEXT(PMPI_Get_library_version)(version, length); }

int PMPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Request* request) {
    return NEXT(PMPI_Iallreduce)(send, receive, count, type, other(op, type), comm, request);
}

int PMPI_Ireduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request* request) {
    return NEXT(PMPI_Ireduce)(send, receive, count, type, other(op, type), root, comm, request);
}

#if defined(PERSISTENT_ALLREDUCE)
int PERSISTENT_ALLREDUCE(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                         MPI_Info info, MPI_Request* request) {
    return next(&PERSISTENT_ALLREDUCE, TEXT(PERSISTENT_ALLREDUCE))(send, receive, count, type, other(op, type), comm,
                                                                   info, request);
}
#endif

// The first byte is 77: of what is gathered as bytes, and of each rank's block of what is scattered so.

int PMPI_Gather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const int status = NEXT(PMPI_Gather)(send, count, type, receive, receive_count, receive_type, root, comm);
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == root && type == MPI_BYTE) std::memset(receive, 77, 1);
    return status;
}

int PMPI_Scatter(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const int status = NEXT(PMPI_Scatter)(send, count, type, receive, receive_count, receive_type, root, comm);
    if (receive != MPI_IN_PLACE && receive_type == MPI_BYTE) std::memset(receive, 77, 1);
    return status;
}
}
