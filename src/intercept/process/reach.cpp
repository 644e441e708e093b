// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/reach.hpp"

#include "intercept/process/process.hpp"
#include "intercept/process/world_ranks.hpp"

namespace hcoll {

namespace {

// Is it within the processes that were started together, as this process's sessions name them?
bool group_lies_within_start(MPI_Group group) {
    MPI_Group started = MPI_GROUP_NULL;
    if (!Process::get().find_started(started)) return false;
    const bool is_within = lies_within(group, started);
    mpi.Group_free(&started);
    return is_within;
}

bool lies_within_start(MPI_Comm communicator) {
    MPI_Group group = MPI_GROUP_NULL;
    if (mpi.Comm_group(communicator, &group) != MPI_SUCCESS) return false;
    const bool is_within = group_lies_within_start(group);
    mpi.Group_free(&group);
    return is_within;
}

}  // namespace

// Where sessions came before MPI_COMM_WORLD, a communicator of theirs may have been used before on some ranks and not on others, and
// cannot be told from one that was made of MPI_COMM_WORLD: it is taken for one of a session.
Reach reach_of(MPI_Comm communicator) {
    const Process& process = Process::get();
    if (!process.has_world()) return lies_within_start(communicator) ? Reach::start : Reach::beyond;
    if (communicator == MPI_COMM_WORLD) return Reach::world;
    const Reach within = process.has_earlier_sessions() ? Reach::start : Reach::world;
    if (!process.may_have_joined()) return within;
    return lies_within_world(communicator) ? within : Reach::beyond;
}

void note_other_group(MPI_Comm between_groups) {
    Process& process = Process::get();
    if (process.may_have_joined()) return;
    MPI_Group others = MPI_GROUP_NULL;
    bool is_within = false;
    if (mpi.Comm_remote_group(between_groups, &others) == MPI_SUCCESS) {
        is_within = process.has_world() ? group_lies_within_world(others) : group_lies_within_start(others);
        mpi.Group_free(&others);
    }
    if (!is_within) process.note_joining();
}

}  // namespace hcoll
