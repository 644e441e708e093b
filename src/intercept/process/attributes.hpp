// SPDX-License-Identifier: BSD-3-Clause
// What the vendor keeps with a communicator.
#pragma once

#include "progress/network/vendor.hpp"

namespace hcoll {

// Has `on_delete` called when `communicator` is freed. The attribute is not copied by MPI_Comm_dup.
int attach_deletion_hook(MPI_Comm communicator, MPI_Comm_delete_attr_function* on_delete, void* value);

// The largest tag of a communicator, as far as this rank is told.
int tag_upper_bound(MPI_Comm communicator);

}  // namespace hcoll
