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
    // The key is freed at once and lives on with the attribute.
    int key = MPI_KEYVAL_INVALID;
    int status = mpi.Comm_create_keyval(copy_nothing, on_delete, &key, nullptr);
    if (status != MPI_SUCCESS) return status;
    status = mpi.Comm_set_attr(communicator, key, value);
    const int freed = mpi.Comm_free_keyval(&key);
    return status != MPI_SUCCESS ? status : freed;
}

int DeletionHooks::attach(MPI_Comm communicator, void* value, bool keeps_key) {
    if (!keeps_key) return attach_deletion_hook(communicator, on_delete_, value);
    const std::lock_guard lock(mutex_);
    if (key_ == MPI_KEYVAL_INVALID) {
        const int status = mpi.Comm_create_keyval(copy_nothing, on_delete_, &key_, nullptr);
        if (status != MPI_SUCCESS) {
            key_ = MPI_KEYVAL_INVALID;
            return status;
        }
    }
    return mpi.Comm_set_attr(communicator, key_, value);
}

void DeletionHooks::forget_key() {
    const std::lock_guard lock(mutex_);
    if (key_ != MPI_KEYVAL_INVALID) mpi.Comm_free_keyval(&key_);
    key_ = MPI_KEYVAL_INVALID;
}

}  // namespace hcoll
