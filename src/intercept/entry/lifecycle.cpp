// The wrappers of what begins and ends: MPI itself, communicators, and the two modes of MPI_Pcontrol.
#include "hcoll/hcoll.h"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "intercept/types/type_layout.hpp"

namespace hcoll {

// The level that the application asks for is the one that the vendor is asked for, unless a setting wants more; in any case
// the application is told of no more than it asked for then.
int wrap_Init(int* argc, char*** argv) noexcept {
    Background& background = Background::get();
    const int level = background.level_to_ask(MPI_THREAD_SINGLE);
    int given = MPI_THREAD_SINGLE;
    const int status = level == MPI_THREAD_SINGLE ? mpi.Init(argc, argv) : mpi.Init_thread(argc, argv, level, &given);
    if (status != MPI_SUCCESS) return status;
    if (level == MPI_THREAD_SINGLE && mpi.Query_thread(&given) != MPI_SUCCESS) given = MPI_THREAD_SINGLE;
    (void)background.level_to_tell(MPI_THREAD_SINGLE, given);
    background.enter();
    Process::get().start_world(background.start(given));
    Communicator::set_up_world();
    return status;
}

int wrap_Init_thread(int* argc, char*** argv, int required, int* provided) noexcept {
    Background& background = Background::get();
    const int status = mpi.Init_thread(argc, argv, background.level_to_ask(required), provided);
    if (status != MPI_SUCCESS) return status;
    const int given = *provided;
    *provided = background.level_to_tell(required, given);
    background.enter();
    Process::get().start_world(background.start(given));
    Communicator::set_up_world();
    return status;
}

// What is in flight ends here, and the thread with it: inside of the vendor's MPI_Finalize, where the hook on MPI_COMM_SELF
// runs, MPICH 4.0 locks no more, and a thread that is in a call of MPI then never gives its lock back. Where a session is left,
// MPI goes on, and the communicators of the session have nothing to do with this call.
int wrap_Finalize() noexcept {
    if (Background::get().leave()) forget_type_layouts();
    return mpi.Finalize();
}

int wrap_Query_thread(int* provided) noexcept {
    const int status = mpi.Query_thread(provided);
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

int wrap_Comm_free(MPI_Comm* comm) noexcept {
    if (!may_be_freed(comm)) return mpi.Comm_free(comm);
    const Communicator::Freeing freeing(*comm);
    return mpi.Comm_free(comm);
}

int wrap_Comm_disconnect(MPI_Comm* comm) noexcept {
    if (!may_be_freed(comm)) return mpi.Comm_disconnect(comm);
    const Communicator::Freeing freeing(*comm);
    return mpi.Comm_disconnect(comm);
}

int wrap_Pcontrol(int level) noexcept {
    Process::get().set_own_mode(level == HCOLL_PCONTROL_OWN);
    return MPI_SUCCESS;
}

}  // namespace hcoll
