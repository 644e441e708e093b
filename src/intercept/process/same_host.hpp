// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one host that the MPI library takes for ranks of several: some do in a container or a chroot, others when they are told not to use
// shared memory.
#pragma once

#include "progress/network/vendor.hpp"

namespace hcoll {

// `node`: this rank's part of `communicator` as the MPI library divides it into nodes. Returns a communicator of all ranks of the host,
// in the order of `communicator`, where that is more, and frees `node`; else returns `node`. Ranks are on one host where they see the
// same running kernel and all namespaces that matter to memory and messages are the same (a cluster of containers on one machine stays one), and
// where each of them could open memory that the first of them has made.
//
// Collective over `communicator`, whose errors return; no rank goes on alone.
MPI_Comm join_ranks_of_host(MPI_Comm communicator, MPI_Comm node);

}  // namespace hcoll
