// SPDX-License-Identifier: BSD-3-Clause
// Where C++ of this library ends. What is the library's own (no memory is left) becomes an error code; what the application's
// functions throw under it, and the unwinding of a thread that is cancelled, pass through untouched.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "intercept/communicator/communicator.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// An exception of the application that could be taken for one of the library's.
struct ApplicationHasNoMemory {
    std::exception_ptr thrown;
};

// `call` may run functions of the application (operations, error handlers).
template <typename Call>
int call_application(Call&& call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        throw ApplicationHasNoMemory{std::current_exception()};
    }
}

// Memory that the library lacks in `call` becomes an error code; errors reach the application's handler on its communicator, which
// may throw.
template <typename Call>
int guarded(MPI_Comm comm, Call&& call) {
    int status = MPI_ERR_NO_MEM;
    try {
        status = call();
    } catch (const ApplicationHasNoMemory& application) {
        std::rethrow_exception(application.thrown);
    } catch (const std::bad_alloc&) {
        status = MPI_ERR_NO_MEM;
    }
    if (status != MPI_SUCCESS) mpi.Comm_call_errhandler(comm, status);
    return status;
}

// Runs `leave` unless it was told that all went well: what is half done when it is unwound through has to be left.
template <typename Leave>
class OnUnwinding {
public:
    explicit OnUnwinding(Leave leave) : leave_(std::move(leave)) {}
    ~OnUnwinding() {
        if (!is_over_) leave_();
    }
    OnUnwinding(const OnUnwinding&) = delete;
    OnUnwinding& operator=(const OnUnwinding&) = delete;
    void is_over() { is_over_ = true; }

private:
    Leave leave_;
    bool is_over_ = false;
};

// The same for a collective that runs here. Where it is unwound through, this rank is out of step with the others on the library's
// own communicator, which is not used again: calls are the vendor's from then on.
template <typename Call>
int guarded(Communicator& communicator, Call&& call) {
    return guarded(communicator.handle(), [&] {
        OnUnwinding unwinding([&] { communicator.give_to_vendor_after_unwinding(); });
        const int status = call();
        unwinding.is_over();
        return status;
    });
}

}  // namespace hcoll
