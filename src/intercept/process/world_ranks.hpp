// Which ranks of MPI_COMM_WORLD a communicator consists of.
#pragma once

#include <vector>

#include "progress/network/vendor.hpp"

namespace hcoll {

// By the communicator's ranks; empty where some of them are not in MPI_COMM_WORLD, or where it cannot be told. A function
// of the group alone, so that all ranks of a communicator come to the same result. Only while MPI_COMM_WORLD exists; no
// communication. Open MPI takes time for it that grows with the square of the ranks.
std::vector<int> world_ranks_of(MPI_Comm communicator);

// The same as ranks tell it one another.
class WorldRanks {
public:
    int operator[](int rank) const { return table_.empty() ? rank + offset_ : table_[static_cast<std::size_t>(rank)]; }
    // Are the communicator's ranks, one after another, those of MPI_COMM_WORLD from its first on?
    bool begin_the_world() const { return table_.empty() && offset_ == 0; }

private:
    friend bool find_world_ranks(MPI_Comm communicator, int rank, int size, WorldRanks& ranks);

    int offset_ = 0;          // where the table is empty
    std::vector<int> table_;  // by rank
};

// Collective and blocking: only where all ranks of the communicator, whose errors return, are in the same call and known to run
// the library, and all of them are in MPI_COMM_WORLD. A small Allreduce, and where the ranks do not follow one another an
// Allgather of their numbers. False where it failed on this rank.
bool find_world_ranks(MPI_Comm communicator, int rank, int size, WorldRanks& ranks);

}  // namespace hcoll
