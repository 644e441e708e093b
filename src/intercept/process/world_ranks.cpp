#include "intercept/process/world_ranks.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace hcoll {

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
        std::vector<int> ranks(static_cast<std::size_t>(size));
        std::iota(ranks.begin(), ranks.end(), 0);
        world_ranks.assign(ranks.size(), MPI_UNDEFINED);
        const int status = mpi.Group_translate_ranks(group, size, ranks.data(), world, world_ranks.data());
        if (status != MPI_SUCCESS ||
            std::find(world_ranks.begin(), world_ranks.end(), MPI_UNDEFINED) != world_ranks.end())
            world_ranks.clear();
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return world_ranks;
}

bool find_world_ranks(MPI_Comm communicator, int rank, int size, WorldRanks& ranks) {
    ranks = WorldRanks();
    if (communicator == MPI_COMM_WORLD) return true;
    int world_rank = 0;
    if (mpi.Comm_rank(MPI_COMM_WORLD, &world_rank) != MPI_SUCCESS) return false;
    const int offset = world_rank - rank;
    const std::array<int, 2> mine = {offset, -offset};
    std::array<int, 2> most{};
    if (mpi.Allreduce(mine.data(), most.data(), 2, MPI_INT, MPI_MAX, communicator) != MPI_SUCCESS) return false;
    if (most[0] == -most[1]) {
        ranks.offset_ = offset;
        return true;
    }
    std::vector<int> table(static_cast<std::size_t>(size));
    if (mpi.Allgather(&world_rank, 1, MPI_INT, table.data(), 1, MPI_INT, communicator) != MPI_SUCCESS) return false;
    ranks.table_ = std::move(table);
    return true;
}

}  // namespace hcoll
