// SPDX-License-Identifier: BSD-3-Clause
// What the vendor keeps with a communicator.
#pragma once

#include <mutex>

#include "progress/network/vendor.hpp"

namespace hcoll {

// Has `on_delete` called when `communicator` is freed. The attribute is not copied by MPI_Comm_dup.
int attach_deletion_hook(MPI_Comm communicator, MPI_Comm_delete_attr_function* on_delete, void* value);

// The same for many communicators and one function, with one key for all: MPICH 4.0 takes 105 KB where there are more than a few keys. From any thread.
class DeletionHooks {
public:
    explicit constexpr DeletionHooks(MPI_Comm_delete_attr_function* on_delete) : on_delete_(on_delete) {}

    // As long as `keeps_key`, the key that is made first is kept for the next one, until forget_key(). Otherwise each has its own.
    int attach(MPI_Comm communicator, void* value, bool keeps_key);
    // Before MPI may end: a key does not outlive it. The hooks do.
    void forget_key();

private:
    MPI_Comm_delete_attr_function* on_delete_;
    std::mutex mutex_;
    int key_ = MPI_KEYVAL_INVALID;
};

// The largest tag of a communicator, as far as this rank is told.
int tag_upper_bound(MPI_Comm communicator);

}  // namespace hcoll
