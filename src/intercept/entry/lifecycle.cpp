// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of what begins and ends: MPI itself, communicators, and the two modes of MPI_Pcontrol.
#include <new>

#include "hcoll/hcoll.h"
#include "intercept/calls/onward.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "intercept/types/type_layout.hpp"

namespace hcoll {

namespace {

// MPI has been initialized with the level `given`.
int start_world(int given) {
    if (Process::get().has_world()) return MPI_SUCCESS;  // a tool below came back here
    Background& background = Background::get();
    try {
        background.enter();
        Process::get().start_world(background.start(given));
        return Communicator::note_birth(MPI_COMM_WORLD);
    } catch (const std::bad_alloc&) {
        return MPI_ERR_NO_MEM;
    }
}

}  // namespace

// The level that the application asks for is the one that the vendor is asked for, unless a setting wants more; in any case
// the application is told of no more than it asked for then.
int wrap_Init(int* argc, char*** argv) {
    Background& background = Background::get();
    // A tool below that has MPI_Init alone is to see it.
    const bool has_level = onward.Init == mpi.Init || onward.Init_thread != mpi.Init_thread;
    const int level = has_level ? background.level_to_ask(MPI_THREAD_SINGLE) : MPI_THREAD_SINGLE;
    int given = MPI_THREAD_SINGLE;
    const int status =
        level == MPI_THREAD_SINGLE ? onward.Init(argc, argv) : onward.Init_thread(argc, argv, level, &given);
    if (status != MPI_SUCCESS) return status;
    if (level == MPI_THREAD_SINGLE && mpi.Query_thread(&given) != MPI_SUCCESS) given = MPI_THREAD_SINGLE;
    (void)background.level_to_tell(MPI_THREAD_SINGLE, given);
    return start_world(given);
}

int wrap_Init_thread(int* argc, char*** argv, int required, int* provided) {
    Background& background = Background::get();
    const int status = onward.Init_thread(argc, argv, background.level_to_ask(required), provided);
    if (status != MPI_SUCCESS) return status;
    const int given = *provided;
    *provided = background.level_to_tell(required, given);
    return start_world(given);
}

// What is in flight ends here, and the thread with it: inside of the vendor's MPI_Finalize, where the hook on MPI_COMM_SELF
// runs, MPICH 4.0 locks no more, and a thread that is in a call of MPI then never gives its lock back. Where a session is left,
// MPI goes on, and the communicators of the session have nothing to do with this call.
int wrap_Finalize() {
    Background::get().leave();
    if (!Process::get().has_session()) forget_type_layouts();
    Communicator::forget_key();
    const Background::Finalizing finalizing;
    return onward.Finalize();
}

int wrap_Query_thread(int* provided) {
    const int status = onward.Query_thread(provided);
    const int told = Background::get().told_level();
    if (status == MPI_SUCCESS && told >= 0) *provided = told;
    return status;
}

namespace {

// A call that the vendor rejects must change nothing here.
bool may_be_freed(const MPI_Comm* comm) {
    return comm != nullptr && *comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF;
}

}  // namespace

int wrap_Comm_free(MPI_Comm* comm) {
    if (!may_be_freed(comm)) return onward.Comm_free(comm);
    const Communicator::Freeing freeing(*comm);
    return onward.Comm_free(comm);
}

int wrap_Comm_disconnect(MPI_Comm* comm) {
    if (!may_be_freed(comm)) return onward.Comm_disconnect(comm);
    const Communicator::Freeing freeing(*comm);
    return onward.Comm_disconnect(comm);
}

int wrap_Comm_idup(MPI_Comm comm, MPI_Comm* duplicate, MPI_Request* request) {
    if (Process::vendor_kind() == VendorKind::openmpi) Background::get().note_idup();
    return onward.Comm_idup(comm, duplicate, request);
}

int wrap_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* duplicate, MPI_Request* request) {
    if (Process::vendor_kind() == VendorKind::openmpi) Background::get().note_idup();
    return onward.Comm_idup_with_info(comm, info, duplicate, request);
}

int wrap_Comm_revoke(MPI_Comm comm) {
    const int status = onward.Comm_revoke(comm);
    if (status == MPI_SUCCESS) Communicator::note_revoked(comm);
    return status;
}

int wrap_Pcontrol(int level) {
    Process::get().set_own_mode(level == HCOLL_PCONTROL_OWN);
    return MPI_SUCCESS;
}

}  // namespace hcoll
