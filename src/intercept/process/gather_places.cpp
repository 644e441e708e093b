#include "intercept/process/gather_places.hpp"

#include <algorithm>

namespace hcoll {

namespace {

constexpr int no_node = -1;

// The lowest rank that shares memory with this one: rank 0 of the node's own communicator, which is ordered like the
// whole one. Its group says which rank that is, without a message.
int lowest_rank_of_node(MPI_Comm communicator, MPI_Comm node) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group here = MPI_GROUP_NULL;
    if (mpi.Comm_group(communicator, &all) != MPI_SUCCESS) return no_node;
    int lowest = no_node;
    if (mpi.Comm_group(node, &here) == MPI_SUCCESS) {
        const int first = 0;
        if (mpi.Group_translate_ranks(here, 1, &first, all, &lowest) != MPI_SUCCESS || lowest == MPI_UNDEFINED)
            lowest = no_node;
        mpi.Group_free(&here);
    }
    mpi.Group_free(&all);
    return lowest;
}

}  // namespace

bool gather_places(MPI_Comm communicator, const Place& mine, std::vector<RankPlace>& places) {
    int rank = 0;
    int size = 0;
    MPI_Comm node = MPI_COMM_NULL;
    bool has_node = mpi.Comm_rank(communicator, &rank) == MPI_SUCCESS;
    // Collective: every rank calls it, whatever went wrong before.
    has_node = mpi.Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) == MPI_SUCCESS &&
               has_node && node != MPI_COMM_NULL;
    const RankPlace place{.node = has_node ? lowest_rank_of_node(communicator, node) : no_node,
                          .package = mine.socket,
                          .numa = mine.numa,
                          .core = mine.core};

    constexpr int numbers = sizeof(RankPlace) / sizeof(int);
    mpi.Comm_size(communicator, &size);
    std::vector<RankPlace> gathered(static_cast<std::size_t>(size));
    int status = mpi.Allgather(&place, numbers, MPI_INT, gathered.data(), numbers, MPI_INT, communicator);
    int failed = status != MPI_SUCCESS || std::any_of(gathered.begin(), gathered.end(),
                                                      [](const RankPlace& one) { return one.node == no_node; })
                     ? 1
                     : 0;
    int failed_anywhere = 1;
    status = mpi.Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, communicator);
    // Where some rank has no communicator of its node, freeing it, which is collective, could wait for ever.
    if (status != MPI_SUCCESS || failed_anywhere != 0) return false;
    mpi.Comm_free(&node);
    places = std::move(gathered);
    return true;
}

}  // namespace hcoll
