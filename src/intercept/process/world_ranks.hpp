// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of MPI_COMM_WORLD a communicator consists of.
#pragma once

#include <vector>

#include "progress/network/vendor.hpp"

namespace hcoll {

// Are all its processes in MPI_COMM_WORLD? False where it cannot be told. A function of the group alone, so that all ranks of a
// communicator come to the same result: the library takes no memory for it, which one of them may lack. Only while MPI_COMM_WORLD exists; no
// communication. Open MPI takes time for it that grows with the square of the ranks.
bool lies_within_world(MPI_Comm communicator);
bool group_lies_within_world(MPI_Group group);
// Are its processes those of MPI_COMM_WORLD, in the same order? False for two groups of processes, and where there is no MPI_COMM_WORLD. Groups
// tell: Open MPI from 5.0 on ends a program that compares a session's communicator with MPI_COMM_WORLD itself.
bool has_ranks_of_world(MPI_Comm communicator);
// Are all processes of `group` among `others`? In Open MPI 4.1 it takes a time that grows with the product of both.
bool lies_within(MPI_Group group, MPI_Group others);

// The same as the ranks of a communicator tell it one another where they are all in one call (communicator/set_up.hpp).
struct WorldRanks {
    int ranks = 0;
    int offset = 0;          // from a rank to that of MPI_COMM_WORLD, where there is no table
    std::vector<int> table;  // by rank; empty where the offset tells

    int operator[](int rank) const { return table.empty() ? rank + offset : table[static_cast<std::size_t>(rank)]; }
    // Are they, one after another, those of MPI_COMM_WORLD from its first on?
    bool begin_the_world() const { return table.empty() && offset == 0; }

    friend bool operator==(const WorldRanks&, const WorldRanks&) = default;
};

}  // namespace hcoll
