// Which ranks of MPI_COMM_WORLD a communicator consists of.
#pragma once

#include <vector>

#include "progress/network/vendor.hpp"

namespace hcoll {

// By the communicator's ranks; empty where some of them are not in MPI_COMM_WORLD, or where it cannot be told. A function
// of the group alone, so that all ranks of a communicator come to the same result. Only while MPI_COMM_WORLD exists; no
// communication.
std::vector<int> world_ranks_of(MPI_Comm communicator);
// By the ranks of `group`, which ranks of `others` they are; empty where some are none. In Open MPI 4.1 it takes a time that grows
// with the product of both.
std::vector<int> ranks_within(MPI_Group group, MPI_Group others);

}  // namespace hcoll
