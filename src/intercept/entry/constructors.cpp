// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of what makes communicators: they are passed on. A communicator of processes that are known to run this library may be set up
// right here, where all of them wait for all; and a process that meets others which were not started with it remembers that.
#include <optional>

#include "hcoll/hcoll.h"
#include "intercept/calls/guarded.hpp"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/gather_places.hpp"
#include "intercept/process/process.hpp"
#include "intercept/process/reach.hpp"

namespace hcoll {

namespace {

int born(int status, const MPI_Comm* made) {
    if (status != MPI_SUCCESS || made == nullptr || *made == MPI_COMM_NULL) return status;
    return guarded(*made, [&] { return Communicator::note_birth(*made); });
}

// A communicator of two groups.
int joined(int status, const MPI_Comm* made) {
    if (status == MPI_SUCCESS && made != nullptr && *made != MPI_COMM_NULL) note_other_group(*made);
    return status;
}

// Does the program want to know which ranks libhcoll takes for those of a node?
bool asks_for_nodes(int type, MPI_Info info) {
    if (type != MPI_COMM_TYPE_SHARED || info == MPI_INFO_NULL) return false;
    // What is no info is for the call itself to tell of. Not where communicators that another thread makes meanwhile would be born with this handler.
    std::optional<ErrorsReturn> of_world;
    std::optional<ErrorsReturn> of_self;
    if (Process::get().has_world() && !Background::get().application_has_threads()) {
        of_world.emplace(MPI_COMM_WORLD);
        of_self.emplace(MPI_COMM_SELF);
    }
    int length = 0;
    int is_there = 0;
    return mpi.Info_get_valuelen(info, HCOLL_INFO_NODES, &length, &is_there) == MPI_SUCCESS && is_there != 0;
}

// It was made while errors returned, and has that from its origin.
void take_errors_as(MPI_Comm origin, MPI_Comm made) {
    MPI_Errhandler handler{};
    if (mpi.Comm_get_errhandler(origin, &handler) != MPI_SUCCESS) return;
    mpi.Comm_set_errhandler(made, handler);
    mpi.Errhandler_free(&handler);
}

}  // namespace

// Not what makes one, but what is said of one by all its ranks.
int wrap_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    const int status = onward.Comm_set_info(comm, info);
    return status != MPI_SUCCESS ? status : guarded(comm, [&] { return Communicator::note_info(comm, info); });
}

int wrap_Comm_dup(MPI_Comm comm, MPI_Comm* made) { return born(onward.Comm_dup(comm, made), made); }

int wrap_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
    return born(onward.Comm_dup_with_info(comm, info, made), made);
}

int wrap_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    return born(onward.Comm_split(comm, color, key, made), made);
}

int wrap_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    if (made != nullptr && asks_for_nodes(type, info)) {
        {
            const ErrorsReturn errors_return(comm);
            *made = make_node_communicator(comm);
        }
        if (*made != MPI_COMM_NULL) take_errors_as(comm, *made);
        if (*made != MPI_COMM_NULL) return born(MPI_SUCCESS, made);
    }
    return born(onward.Comm_split_type(comm, type, key, info, made), made);
}

int wrap_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    return born(onward.Comm_create(comm, group, made), made);
}

int wrap_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
    return born(onward.Comm_create_group(comm, group, tag, made), made);
}

// Not set up at its birth: some of the processes may have no MPI_COMM_WORLD, and so no settings that all of them have.
int wrap_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler handler,
                                MPI_Comm* made) {
    return onward.Comm_create_from_group(group, tag, info, handler, made);
}

// Collectives of two groups are the MPI library's. What waits for a group is told of where a setting watches.
int wrap_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm* made) {
    return joined(onward.Intercomm_create(local, leader, peers, remote_leader, tag, made), made);
}

int wrap_Intercomm_create_from_groups(MPI_Group local, int leader, MPI_Group remote, int remote_leader, const char* tag,
                                      MPI_Info info, MPI_Errhandler handler, MPI_Comm* made) {
    return joined(onward.Intercomm_create_from_groups(local, leader, remote, remote_leader, tag, info, handler, made),
                  made);
}

int wrap_Cart_create(MPI_Comm comm, int dimensions, const int* extents, const int* periods, int reorder,
                     MPI_Comm* made) {
    return born(onward.Cart_create(comm, dimensions, extents, periods, reorder, made), made);
}

int wrap_Cart_sub(MPI_Comm comm, const int* remain, MPI_Comm* made) {
    return born(onward.Cart_sub(comm, remain, made), made);
}

int wrap_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made) {
    return born(onward.Graph_create(comm, nodes, index, edges, reorder, made), made);
}

int wrap_Dist_graph_create(MPI_Comm comm, int nodes, const int* sources, const int* degrees, const int* destinations,
                           const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
    return born(onward.Dist_graph_create(comm, nodes, sources, degrees, destinations, weights, info, reorder, made),
                made);
}

int wrap_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                                    const int* destinations, const int* destination_weights, MPI_Info info, int reorder,
                                    MPI_Comm* made) {
    return born(onward.Dist_graph_create_adjacent(comm, in, sources, source_weights, out, destinations,
                                                  destination_weights, info, reorder, made),
                made);
}

int wrap_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
    return born(onward.Intercomm_merge(comm, high, made), made);
}

int wrap_Comm_spawn(const char* command, char** arguments, int processes, MPI_Info info, int root, MPI_Comm comm,
                    MPI_Comm* made, int* errors) {
    Process::get().note_joining();
    return onward.Comm_spawn(command, arguments, processes, info, root, comm, made, errors);
}

int wrap_Comm_spawn_multiple(int count, char** commands, char*** arguments, const int* processes, const MPI_Info* infos,
                             int root, MPI_Comm comm, MPI_Comm* made, int* errors) {
    Process::get().note_joining();
    return onward.Comm_spawn_multiple(count, commands, arguments, processes, infos, root, comm, made, errors);
}

int wrap_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    Process::get().note_joining();
    return onward.Comm_accept(port, info, root, comm, made);
}

int wrap_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
    Process::get().note_joining();
    return onward.Comm_connect(port, info, root, comm, made);
}

int wrap_Comm_join(int descriptor, MPI_Comm* made) {
    Process::get().note_joining();
    return onward.Comm_join(descriptor, made);
}

}  // namespace hcoll
