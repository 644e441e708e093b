// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of the vendor as a beginning and a wait, in which what is in flight moves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "intercept/process/background.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/process.hpp"

namespace hcoll {

// Asks again and again until test(is_done) is done or fails, or nothing is in flight any more, nor can be before this is over: then the
// vendor may wait, which `wait` is for.
template <typename Test, typename Wait>
__attribute__((noinline)) int help_until(Test&& test, Wait&& wait) {
    Background& background = Background::get();
    while (Background::may_be_in_flight()) {
        int is_done = 0;
        if (const int status = test(is_done); status != MPI_SUCCESS || is_done != 0) return status;
        background.help();
    }
    return wait();
}

// MPICH tells the handler of MPI_COMM_WORLD of a request that fails, whatever communicator it is of, where a call that blocks would have told that one's. So that handler is held up while a request is
// asked, and `comm`'s is told afterwards. Not where another thread of the application may be in MPI: that might meet it so, and keep it. MPI_COMM_NULL: the vendor knows whom to tell, or nobody does.
inline bool must_tell(MPI_Comm comm) {
    return comm != MPI_COMM_NULL && !vendor_is_openmpi() && Process::get().has_world() &&
           !Background::get().application_has_threads();
}

inline int finish(MPI_Request& request, MPI_Status* status, bool holds_up_handler) {
    const auto ask = [&](auto&& call) {
        std::optional<ErrorsReturn> errors_return;
        if (holds_up_handler) errors_return.emplace(MPI_COMM_WORLD);
        return call();
    };
    return help_until([&](int& done) { return ask([&] { return mpi.Test(&request, &done, status); }); },
                      [&] { return ask([&] { return mpi.Wait(&request, status); }); });
}

// `comm`: of what is begun.
template <typename Begin>
inline int begin_and_finish(MPI_Status* status, MPI_Comm comm, Begin&& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int begun = begin(&request); begun != MPI_SUCCESS) return begun;
    const bool tells = must_tell(comm);
    const int result = finish(request, status, tells);
    if (tells && result != MPI_SUCCESS) mpi.Comm_call_errhandler(comm, result);
    return result;
}

// `begin(request)` begins what `blocking` does at once; it returns a status too.
template <typename Begin, typename Blocking>
inline int apart(MPI_Status* status, MPI_Comm comm, Begin&& begin, Blocking&& blocking) {
    if (!Background::calls_must_move()) [[likely]]
        return blocking();
    return begin_and_finish(status, comm, begin);
}

// The largest that any rank has of each of the numbers. The vendor's own Allreduce would not move what is in flight, on which another rank may wait before
// it comes here.
inline int find_largest(std::span<const std::uint64_t> mine, std::uint64_t* all, MPI_Comm on) {
    const auto count = static_cast<int>(mine.size());
    if (!Background::takes_collectives_apart())
        return mpi.Allreduce(mine.data(), all, count, MPI_UINT64_T, MPI_MAX, on);
    return begin_and_finish(MPI_STATUS_IGNORE, on, [&](MPI_Request* request) {
        return mpi.Iallreduce(mine.data(), all, count, MPI_UINT64_T, MPI_MAX, on, request);
    });
}

}  // namespace hcoll
