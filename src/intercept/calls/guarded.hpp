// Where C++ ends.
#pragma once

#include <new>

#include "progress/network/vendor.hpp"

namespace hcoll {

// What throws in `call` becomes an error code; errors reach the application's handler on its communicator.
template <typename Call>
int guarded(MPI_Comm comm, Call&& call) {
    int status = MPI_ERR_INTERN;
    try {
        status = call();
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
    } catch (...) {
        status = MPI_ERR_INTERN;
    }
    if (status != MPI_SUCCESS) mpi.Comm_call_errhandler(comm, status);
    return status;
}

}  // namespace hcoll
