// The wrappers of what begins and ends: MPI itself, communicators, and the two modes of MPI_Pcontrol.
#include "hcoll/hcoll.h"
#include "intercept/communicator.hpp"
#include "intercept/wrappers.hpp"

namespace hcoll {

int wrap_Init(int* argc, char*** argv) noexcept {
    const int status = mpi.Init(argc, argv);
    if (status == MPI_SUCCESS) Process::get().start_world();
    return status;
}

// The level that the application asks for is the one that the vendor is asked for.
int wrap_Init_thread(int* argc, char*** argv, int required, int* provided) noexcept {
    const int status = mpi.Init_thread(argc, argv, required, provided);
    if (status == MPI_SUCCESS) Process::get().start_world();
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
