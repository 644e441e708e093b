// SPDX-License-Identifier: BSD-3-Clause
// How far a communicator reaches: which of its processes are known to run this library.
//
// Nothing of the library's may travel on a communicator of the application whose other side may be a stranger: a process that was
// spawned or has joined (MPI_Comm_connect, MPI_Comm_accept, MPI_Comm_join) and was not given the preload. What starts
// together gets it together: MPI_COMM_WORLD, and the processes that a session calls mpi://WORLD. All others may be strangers, and
// there is no message by which to ask one: what it does not expect may match a receive of its own.
#pragma once

#include <cstdint>

#include "progress/network/vendor.hpp"

namespace hcoll {

enum class Reach : std::uint8_t {
    world,   // within MPI_COMM_WORLD, whose processes have agreed on their settings in MPI_Init
    start,   // within what was started together; settings are not compared yet
    beyond,  // there may be strangers
};

// Of an intra-communicator, the same on all its ranks, without a message. One comparison in a process that nobody has joined and that
// has no sessions; otherwise a look at the group.
Reach reach_of(MPI_Comm communicator);

// A process may meet strangers without a call that is for them: another one of its group has started or met them, and all are joined to that one's
// (MPI_Intercomm_create). To be called with each communicator of two groups that is made so; no communication, but the comparison of groups that
// world_ranks.hpp speaks of.
void note_other_group(MPI_Comm between_groups);

}  // namespace hcoll
