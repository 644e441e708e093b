// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/attributes.hpp"

#include "intercept/process/process.hpp"

namespace hcoll {

namespace {

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

}  // namespace

// Open MPI says it of MPI_COMM_WORLD and its duplicates only, and means all.
int tag_upper_bound(MPI_Comm communicator) {
    constexpr int guaranteed = 32767;
    int* bound = nullptr;
    int found = 0;
    if (mpi.Comm_get_attr(communicator, MPI_TAG_UB, &bound, &found) != MPI_SUCCESS) return guaranteed;
    if (found == 0 && Process::get().has_world() &&
        mpi.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found) != MPI_SUCCESS)
        return guaranteed;
    return found == 0 ? guaranteed : *bound;
}

int attach_deletion_hook(MPI_Comm communicator, MPI_Comm_delete_attr_function* on_delete, void* value) {
    // The key is freed at once and lives on with the attribute: there is none to be kept, or to go stale when MPI is
    // initialized anew for another session.
    int key = MPI_KEYVAL_INVALID;
    int status = mpi.Comm_create_keyval(copy_nothing, on_delete, &key, nullptr);
    if (status != MPI_SUCCESS) return status;
    status = mpi.Comm_set_attr(communicator, key, value);
    const int freed = mpi.Comm_free_keyval(&key);
    return status != MPI_SUCCESS ? status : freed;
}

}  // namespace hcoll
