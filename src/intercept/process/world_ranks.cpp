// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/world_ranks.hpp"

#include "intercept/process/process.hpp"

namespace hcoll {

bool lies_within(MPI_Group group, MPI_Group others) {
    MPI_Group rest = MPI_GROUP_NULL;
    if (mpi.Group_difference(group, others, &rest) != MPI_SUCCESS) return false;
    int left = 0;
    const bool is_within = mpi.Group_size(rest, &left) == MPI_SUCCESS && left == 0;
    if (rest != MPI_GROUP_EMPTY) mpi.Group_free(&rest);
    return is_within;
}

bool lies_within_world(MPI_Comm communicator) {
    if (communicator == MPI_COMM_WORLD) return true;
    MPI_Group group = MPI_GROUP_NULL;
    if (mpi.Comm_group(communicator, &group) != MPI_SUCCESS) return false;
    const bool is_within = group_lies_within_world(group);
    mpi.Group_free(&group);
    return is_within;
}

bool group_lies_within_world(MPI_Group group) {
    MPI_Group world = MPI_GROUP_NULL;
    if (mpi.Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS) return false;
    const bool is_within = lies_within(group, world);
    mpi.Group_free(&world);
    return is_within;
}

bool has_ranks_of_world(MPI_Comm communicator) {
    int is_inter = 0;
    if (!Process::get().has_world() || mpi.Comm_test_inter(communicator, &is_inter) != MPI_SUCCESS || is_inter != 0)
        return false;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    if (mpi.Comm_group(communicator, &group) != MPI_SUCCESS) return false;
    int result = MPI_UNEQUAL;
    if (mpi.Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        if (mpi.Group_compare(group, world, &result) != MPI_SUCCESS) result = MPI_UNEQUAL;
        mpi.Group_free(&world);
    }
    mpi.Group_free(&group);
    return result == MPI_IDENT;
}

}  // namespace hcoll
