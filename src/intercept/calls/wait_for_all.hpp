// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitall while something of this library is in flight, where the MPI library's own call does not move it.
#pragma once

#include "progress/network/vendor.hpp"

namespace hcoll {

// Moves what is in flight until all requests are complete, and returns as MPI_Waitall does. `count` is at least 1.
int wait_for_all(int count, MPI_Request* requests, MPI_Status* statuses);

}  // namespace hcoll
