// SPDX-License-Identifier: BSD-3-Clause
// Calls that libhcoll makes for itself on a communicator of the application.
#pragma once

#include "progress/engine/simulation.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// While it exists, errors on the communicator come back to libhcoll, and the application's handler sees none of them.
class ErrorsReturn {
public:
    explicit ErrorsReturn(MPI_Comm communicator) : communicator_(communicator) {
        // Simulated ranks share one MPI_COMM_WORLD, with one handler, and a simulation ends at an error anyway.
        if (is_simulated) return;
        if (mpi.Comm_get_errhandler(communicator, &handler_) == MPI_SUCCESS)
            is_set_ = mpi.Comm_set_errhandler(communicator, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    }
    ~ErrorsReturn() {
        if (!is_set_) return;
        // Another thread of the application's may have set one meanwhile.
        MPI_Errhandler now{};
        const bool is_known = mpi.Comm_get_errhandler(communicator_, &now) == MPI_SUCCESS;
        if (!is_known || now == MPI_ERRORS_RETURN) mpi.Comm_set_errhandler(communicator_, handler_);
        if (is_known) mpi.Errhandler_free(&now);
        mpi.Errhandler_free(&handler_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

private:
    MPI_Comm communicator_;
    MPI_Errhandler handler_{};
    bool is_set_ = false;
};

}  // namespace hcoll
