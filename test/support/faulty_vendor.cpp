// SPDX-License-Identifier: BSD-3-Clause
// Preloaded behind the library: as if the MPI library could revoke communicators and shrink them, which those of Linux distributions
// cannot; and one whose messages, or whose making of communicators, fail when the test program asks for it.
// The library finds the vendor by PMPI_Get_library_version, and so here; what is not defined here is the MPI library's that this
// one is linked to. All communicators of the test are of all ranks, so that a number tells them, the same on all ranks.
#include <mpi.h>

#include "next_function.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace {

#if defined(MPIX_ERR_REVOKED)
constexpr int error_revoked = MPIX_ERR_REVOKED;
#else
constexpr int error_revoked = MPI_ERR_OTHER;
#endif

constexpr int most_communicators = 4096;

struct Revoking {
    std::atomic<int>* revoked = nullptr;  // by number, shared by all ranks
    int made = 0;
    std::map<MPI_Comm, int> numbers;
    std::map<MPI_Request, int> requests;
    bool fails_next = false;
    int creates = 0;
    bool fails_creates = false;
    int keys = 0;
    int allreduces_until_failure = 0;
    bool fails_next_look = false;
    MPI_Comm all = MPI_COMM_NULL;
};

Revoking& state() {
    static auto* instance = new Revoking;
    return *instance;
}

bool is_number_revoked(int number) { return state().revoked[number].load() != 0; }

bool is_revoked(MPI_Comm comm) {
    const auto found = state().numbers.find(comm);
    return found != state().numbers.end() && is_number_revoked(found->second);
}

int note_made(int status, const MPI_Comm* comm) {
    if (status != MPI_SUCCESS || *comm == MPI_COMM_NULL) return status;
    if (state().made == most_communicators) std::abort();
    state().numbers[*comm] = state().made++;
    return status;
}

int note_started(int status, MPI_Comm comm, const MPI_Request* request) {
    const auto found = state().numbers.find(comm);
    if (status == MPI_SUCCESS && found != state().numbers.end()) state().requests[*request] = found->second;
    return status;
}

bool is_known(MPI_Request request) { return state().requests.count(request) != 0; }

bool is_of_revoked(MPI_Request request) { return is_known(request) && is_number_revoked(state().requests.at(request)); }

bool fails_now(MPI_Request request) { return is_known(request) && std::exchange(state().fails_next, false); }

void start() {
    MPI_Win window = MPI_WIN_NULL;
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    NEXT(PMPI_Comm_dup)(MPI_COMM_WORLD, &state().all);
    MPI_Aint bytes = rank == 0 ? most_communicators * static_cast<MPI_Aint>(sizeof(std::atomic<int>)) : 0;
    void* own = nullptr;
    int unit = 0;
    PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, state().all, &own, &window);
    PMPI_Win_shared_query(window, 0, &bytes, &unit, &state().revoked);
    if (rank == 0) std::fill_n(state().revoked, most_communicators, 0);
    NEXT(PMPI_Barrier)(state().all);
}

}  // namespace

extern "C" {

int PMPI_Get_library_version(char* version, int* length) { return NEXT(PMPI_Get_library_version)(version, length); }

int PMPI_Init(int* argc, char*** argv) {
    const int status = NEXT(PMPI_Init)(argc, argv);
    if (status == MPI_SUCCESS) start();
    return status;
}

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int status = NEXT(PMPI_Init_thread)(argc, argv, required, provided);
    if (status == MPI_SUCCESS) start();
    return status;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return note_made(NEXT(PMPI_Comm_dup)(comm, made), made); }

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    ++state().creates;
    const int status = note_made(NEXT(PMPI_Comm_create)(comm, group, made), made);
    return state().fails_creates ? MPI_ERR_OTHER : status;
}

// How many calls of MPI_Comm_create there were; whether they fail from now on, on this rank, although the others get what they make.
int hcoll_test_creates(int fail) {
    state().fails_creates = fail != 0;
    return state().creates;
}

// How many keys of attributes there were.
int hcoll_test_keys() { return state().keys; }

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* on_copy, MPI_Comm_delete_attr_function* on_delete, int* key,
                            void* extra) {
    ++state().keys;
    return NEXT(PMPI_Comm_create_keyval)(on_copy, on_delete, key, extra);
}

int PMPI_Comm_free(MPI_Comm* comm) {
    state().numbers.erase(*comm);
    return NEXT(PMPI_Comm_free)(comm);
}

// No process has failed.
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* made) {
    (void)comm;
    return note_made(NEXT(PMPI_Comm_dup)(state().all, made), made);
}

int PMPIX_Comm_revoke(MPI_Comm comm) {
    state().revoked[state().numbers.at(comm)].store(1);
    return MPI_SUCCESS;
}

// ---- what fails on a communicator that is revoked ----

int PMPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    if (is_revoked(comm)) return error_revoked;
    return note_started(NEXT(PMPI_Isend)(data, count, type, to, tag, comm, request), comm, request);
}

int PMPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    if (is_revoked(comm)) return error_revoked;
    return note_started(NEXT(PMPI_Issend)(data, count, type, to, tag, comm, request), comm, request);
}

int PMPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    if (is_revoked(comm)) return error_revoked;
    return note_started(NEXT(PMPI_Irecv)(data, count, type, from, tag, comm, request), comm, request);
}

// The next test of messages of a communicator whose number is known fails, and leaves them as they are.
void hcoll_test_fail_next() { state().fails_next = true; }

int PMPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    const MPI_Request asked = *request;
    if (fails_now(asked)) return MPI_ERR_INTERN;
    const int result = NEXT(PMPI_Test)(request, flag, status);
    if (result == MPI_SUCCESS && *flag == 0 && is_of_revoked(asked)) return error_revoked;
    if (*flag != 0) state().requests.erase(asked);
    return result;
}

int PMPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    const std::vector<MPI_Request> asked(requests, requests + count);
    if (std::any_of(asked.begin(), asked.end(), fails_now)) return MPI_ERR_INTERN;
    const int result = NEXT(PMPI_Testsome)(count, requests, done, indices, statuses);
    if (result != MPI_SUCCESS) return result;
    if (*done == 0 && std::any_of(asked.begin(), asked.end(), is_of_revoked)) return error_revoked;
    for (int i = 0; i < *done; ++i) state().requests.erase(asked[static_cast<std::size_t>(indices[i])]);
    return result;
}

// The calls that wait are made of those that begin, so that they fail as those do.
static int wait_for(int begun, MPI_Request request, MPI_Status* status) {
    int done = 0;
    int result = begun;
    while (result == MPI_SUCCESS && done == 0) result = PMPI_Test(&request, &done, status);
    if (begun == MPI_SUCCESS && result != MPI_SUCCESS) {
        PMPI_Cancel(&request);
        state().requests.erase(request);
        NEXT(PMPI_Wait)(&request, MPI_STATUS_IGNORE);
    }
    return result;
}

int PMPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (state().numbers.count(comm) == 0) return NEXT(PMPI_Send)(data, count, type, to, tag, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = PMPI_Isend(data, count, type, to, tag, comm, &request);
    return wait_for(begun, request, MPI_STATUS_IGNORE);
}

int PMPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (state().numbers.count(comm) == 0) return NEXT(PMPI_Ssend)(data, count, type, to, tag, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = PMPI_Issend(data, count, type, to, tag, comm, &request);
    return wait_for(begun, request, MPI_STATUS_IGNORE);
}

int PMPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    if (state().numbers.count(comm) == 0) return NEXT(PMPI_Recv)(data, count, type, from, tag, comm, status);
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = PMPI_Irecv(data, count, type, from, tag, comm, &request);
    return wait_for(begun, request, status);
}

// The next look for messages of a communicator whose number is known fails.
void hcoll_test_fail_next_look() { state().fails_next_look = true; }

int PMPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
    if (state().numbers.count(comm) != 0 && std::exchange(state().fails_next_look, false)) return MPI_ERR_INTERN;
    return is_revoked(comm) ? error_revoked : NEXT(PMPI_Iprobe)(from, tag, comm, flag, status);
}

// That of so many calls from now on fails, on this rank alone.
void hcoll_test_fail_allreduce(int number) { state().allreduces_until_failure = number; }

int PMPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    if (is_revoked(comm)) return error_revoked;
    const int status = NEXT(PMPI_Allreduce)(send, receive, count, type, op, comm);
    const bool fails = state().allreduces_until_failure != 0 && --state().allreduces_until_failure == 0;
    return fails ? MPI_ERR_OTHER : status;
}

int PMPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return is_revoked(comm) ? error_revoked : NEXT(PMPI_Bcast)(data, count, type, root, comm);
}

int PMPI_Barrier(MPI_Comm comm) { return is_revoked(comm) ? error_revoked : NEXT(PMPI_Barrier)(comm); }

}  // extern "C"
