// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind the library: one call of the MPI library's that libhcoll makes fails (injected.py).
//
// HCOLL_TEST_FAULT=<function>:<k>:<rank>, as in "Isend:12:1": the k-th such call of that rank returns an error. A message is not sent or received then, nor a request tested; of functions
// that all ranks come to the MPI library does its part, and this rank alone gets an error: else the others would wait for it, as they do for any program. Where
// communicators' errors are fatal, the job ends by it.
//
// The library finds the MPI library by PMPI_Get_library_version, and so here; what is not defined here is that one's.
#include <mpi.h>

#include "next_function.hpp"

#include <execinfo.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<long> calls{0};

bool fails(const char* function) {
    static const char* fault = std::getenv("HCOLL_TEST_FAULT");
    static const char* rank =
        std::getenv("PMI_RANK") != nullptr ? std::getenv("PMI_RANK") : std::getenv("OMPI_COMM_WORLD_RANK");
    const std::size_t length = std::strlen(function);
    if (fault == nullptr || rank == nullptr || std::strncmp(fault, function, length) != 0 || fault[length] != ':')
        return false;
    char* end = nullptr;
    const long wanted = std::strtol(fault + length + 1, &end, 10);
    if (*end != ':' || std::string(end + 1) != rank || calls.fetch_add(1) + 1 != wanted) return false;
    std::fprintf(stderr, "injected: %s\n", fault);
    void* callers[24];
    backtrace_symbols_fd(callers, backtrace(callers, 24), STDERR_FILENO);
    return true;
}

// What a communicator's handler makes of it, as in the MPI library.
int error(MPI_Comm comm) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

// The others have one, and this rank has not.
int lose(MPI_Comm parent, int status, MPI_Comm* made) {
    if (status != MPI_SUCCESS) return status;
    *made = MPI_COMM_NULL;
    return error(parent);
}

}  // namespace

extern "C" {

int PMPI_Get_library_version(char* version, int* length) { return NEXT(PMPI_Get_library_version)(version, length); }

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    return fails("Isend") ? error(comm) : NEXT(PMPI_Isend)(data, count, type, to, tag, comm, request);
}

int PMPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    return fails("Issend") ? error(comm) : NEXT(PMPI_Issend)(data, count, type, to, tag, comm, request);
}

int PMPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    return fails("Irecv") ? error(comm) : NEXT(PMPI_Irecv)(data, count, type, from, tag, comm, request);
}

int PMPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return fails("Send") ? error(comm) : NEXT(PMPI_Send)(data, count, type, to, tag, comm);
}

int PMPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    return fails("Recv") ? error(comm) : NEXT(PMPI_Recv)(data, count, type, from, tag, comm, status);
}

int PMPI_Sendrecv(const void* sent, int send_count, MPI_Datatype send_type, int to, int send_tag, void* received,
                  int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    if (fails("Sendrecv")) return error(comm);
    return NEXT(PMPI_Sendrecv)(sent, send_count, send_type, to, send_tag, received, count, type, from, tag, comm,
                               status);
}

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    return fails("Test") ? MPI_ERR_OTHER : NEXT(PMPI_Test)(request, flag, status);
}

int PMPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    return fails("Testsome") ? MPI_ERR_OTHER : NEXT(PMPI_Testsome)(count, requests, done, indices, statuses);
}

int PMPI_Reduce_local(const void* left, void* right, int count, MPI_Datatype type, MPI_Op op) {
    return fails("Reduce_local") ? MPI_ERR_OTHER : NEXT(PMPI_Reduce_local)(left, right, count, type, op);
}

int PMPI_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* free_function,
                        MPI_Grequest_cancel_function* cancel, void* state, MPI_Request* request) {
    return fails("Grequest_start") ? MPI_ERR_OTHER
                                   : NEXT(PMPI_Grequest_start)(query, free_function, cancel, state, request);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    const bool is_lost = fails("Comm_dup");
    const int status = NEXT(PMPI_Comm_dup)(comm, made);
    return is_lost ? lose(comm, status, made) : status;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
    return fails("Comm_group") ? error(comm) : NEXT(PMPI_Comm_group)(comm, group);
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    const bool is_lost = fails("Comm_create");
    const int status = NEXT(PMPI_Comm_create)(comm, group, made);
    return is_lost ? lose(comm, status, made) : status;
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    const bool is_lost = fails("Comm_create_group");
    const int status = NEXT(PMPI_Comm_create_group)(comm, group, tag, made);
    return is_lost ? lose(comm, status, made) : status;
}

int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    const bool is_lost = fails("Comm_split_type");
    const int status = NEXT(PMPI_Comm_split_type)(comm, type, key, info, made);
    return is_lost ? lose(comm, status, made) : status;
}

}  // extern "C"
