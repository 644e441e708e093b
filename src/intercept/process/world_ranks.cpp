#include "intercept/process/world_ranks.hpp"

#include <algorithm>
#include <numeric>

namespace hcoll {

std::vector<int> ranks_within(MPI_Group group, MPI_Group others) {
    int size = 0;
    if (mpi.Group_size(group, &size) != MPI_SUCCESS) return {};
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> found(ranks.size(), MPI_UNDEFINED);
    if (mpi.Group_translate_ranks(group, size, ranks.data(), others, found.data()) != MPI_SUCCESS ||
        std::find(found.begin(), found.end(), MPI_UNDEFINED) != found.end())
        found.clear();
    return found;
}

std::vector<int> world_ranks_of(MPI_Comm communicator) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    if (mpi.Comm_size(communicator, &size) != MPI_SUCCESS) return {};
    std::vector<int> world_ranks;
    if (communicator == MPI_COMM_WORLD) {
        world_ranks.resize(static_cast<std::size_t>(size));
        std::iota(world_ranks.begin(), world_ranks.end(), 0);
        return world_ranks;
    }
    if (mpi.Comm_group(communicator, &group) != MPI_SUCCESS) return {};
    if (mpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        world_ranks = ranks_within(group, world);
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return world_ranks;
}

}  // namespace hcoll
