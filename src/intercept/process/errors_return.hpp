// SPDX-License-Identifier: BSD-3-Clause
// Calls that libhcoll makes for itself on a communicator of the application.
#pragma once

#include <optional>
#include <utility>

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

// While it exists, an error handler of the application's own on that communicator, of one that may throw or jump elsewhere, hears nothing: what is to be
// done whatever becomes of the call is done first, and then tell() tells it. Not where other threads of the application may make calls on the communicator, whose errors
// would be kept from it, and not for the predefined handlers, which come back or do not.
class HeldHandler {
public:
    // `may_hold`: there is a world, and one thread alone in it. `is_known`: the handle is that of a communicator for certain.
    HeldHandler(MPI_Comm communicator, bool may_hold, bool is_known) : communicator_(communicator) {
        if (is_simulated || !may_hold || communicator == MPI_COMM_NULL) return;
        std::optional<ErrorsReturn> of_no_communicator;  // are told to MPI_COMM_WORLD's handler
        if (!is_known && communicator != MPI_COMM_WORLD) of_no_communicator.emplace(MPI_COMM_WORLD);
        if (mpi.Comm_get_errhandler(communicator, &handler_) != MPI_SUCCESS) return;
        const bool is_own = handler_ != MPI_ERRORS_ARE_FATAL && handler_ != MPI_ERRORS_RETURN;
        is_held_ = is_own && mpi.Comm_set_errhandler(communicator, MPI_ERRORS_RETURN) == MPI_SUCCESS;
        if (!is_held_) mpi.Errhandler_free(&handler_);
    }
    ~HeldHandler() { give_back(); }
    HeldHandler(const HeldHandler&) = delete;
    HeldHandler& operator=(const HeldHandler&) = delete;

    bool is_held() const { return is_held_; }
    // Ends it; returns `status`, if the handler does.
    int tell(int status) {
        const bool was_held = is_held_;
        give_back();
        if (was_held && status != MPI_SUCCESS) mpi.Comm_call_errhandler(communicator_, status);
        return status;
    }

private:
    void give_back() {
        if (!std::exchange(is_held_, false)) return;
        mpi.Comm_set_errhandler(communicator_, handler_);
        mpi.Errhandler_free(&handler_);
    }

    MPI_Comm communicator_;
    MPI_Errhandler handler_{};
    bool is_held_ = false;
};

}  // namespace hcoll
