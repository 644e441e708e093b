// SPDX-License-Identifier: BSD-3-Clause
// What one rank cannot do for itself, and how the others come to know: a rank that left alone would have them wait for ever.
#pragma once

#include <new>
#include <utility>

#include "progress/network/vendor.hpp"

namespace hcoll {

// Runs what this rank does for itself, without a message; false where there is no memory for it, which the other ranks have to be told.
template <typename Step>
bool has_memory_for(Step&& step) {
    try {
        std::forward<Step>(step)();
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// The same on all ranks of the communicator, which are in the same call; true also where it cannot be told. Errors must return.
inline bool is_true_anywhere(bool here, MPI_Comm communicator) {
    const int mine = here ? 1 : 0;
    int anywhere = 1;
    return mpi.Allreduce(&mine, &anywhere, 1, MPI_INT, MPI_MAX, communicator) != MPI_SUCCESS || anywhere != 0;
}

}  // namespace hcoll
