// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell one another of where they run. The one part of src/topology that calls MPI: it is compiled into the backends.
#pragma once

#include <vector>

#include "progress/network/vendor.hpp"
#include "topology/host_cores.hpp"
#include "topology/place.hpp"
#include "topology/seats_of_places.hpp"

namespace hcoll {

// All functions are collective and blocking, on intra-communicators whose errors return.

// The ranks that share memory with this one, in the order of the communicator; the caller frees it. MPI_COMM_NULL, on all ranks
// alike, where one of them has none.
MPI_Comm make_node_communicator(MPI_Comm communicator);

// Where the ranks of the communicator `node` find themselves: one of them reads the machine and tells the others.
struct Host {
    Place place;  // of this process
    HostCores cores;
};
Host meet_on_host(MPI_Comm node);

// `mine` is this process's place, `node` the communicator of its node. By rank, and the same on all ranks; a node's number is its
// lowest rank. False, on all ranks, where one of them failed.
bool gather_places(MPI_Comm communicator, MPI_Comm node, const Place& mine, std::vector<RankPlace>& places);
// With a communicator of the node that is made for it.
bool gather_places(MPI_Comm communicator, const Place& mine, std::vector<RankPlace>& places);

}  // namespace hcoll
