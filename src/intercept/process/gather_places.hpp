// Tells every rank of a communicator where all of them run. The one part of src/topology that calls MPI: it is compiled
// into the backends.
#pragma once

#include <vector>

#include "progress/network/vendor.hpp"
#include "topology/place.hpp"
#include "topology/seats_of_places.hpp"

namespace hcoll {

// Collective and blocking, on an intra-communicator whose errors return; `mine` is this process's place. By rank, and the
// same on all ranks; a node's number is its lowest rank. False, on all ranks, where one of them failed; for good reason
// only: a shared-memory communicator is needed for a moment.
bool gather_places(MPI_Comm communicator, const Place& mine, std::vector<RankPlace>& places);

}  // namespace hcoll
