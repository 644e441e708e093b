// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives of the vendor as a beginning and a wait (taken_apart.hpp), on all ranks of a communicator alike.
#pragma once

#include "intercept/communicator/communicator.hpp"
#include "intercept/process/taken_apart.hpp"

namespace hcoll {

// `begin(request)` begins what `blocking` does at once: a collective of the vendor on `comm`.
template <typename Begin, typename Blocking>
inline int collective_apart(MPI_Comm comm, Begin&& begin, Blocking&& blocking) {
    if (!Background::takes_collectives_apart() || !Communicator::is_within_world(comm)) [[likely]]
        return blocking();
    return begin_and_finish(MPI_STATUS_IGNORE, comm, begin);
}

}  // namespace hcoll
