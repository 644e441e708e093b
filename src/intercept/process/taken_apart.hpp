// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of the vendor as a beginning and a wait, in which what is in flight moves.
#pragma once

#include <cstdint>
#include <span>

#include "intercept/process/background.hpp"

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

inline int finish_one(MPI_Request& request, MPI_Status* status) {
    return help_until([&](int& done) { return mpi.Test(&request, &done, status); },
                      [&] { return mpi.Wait(&request, status); });
}

template <typename Begin>
inline int begin_and_finish(MPI_Status* status, Begin&& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int begun = begin(&request);
    return begun != MPI_SUCCESS ? begun : finish_one(request, status);
}

// `begin(request)` begins what `blocking` does at once; it returns a status too.
template <typename Begin, typename Blocking>
inline int apart(MPI_Status* status, Begin&& begin, Blocking&& blocking) {
    if (!Background::calls_must_move()) [[likely]]
        return blocking();
    return begin_and_finish(status, begin);
}

// The largest that any rank has of each of the numbers. The vendor's own Allreduce would not move what is in flight, on which another rank may wait before
// it comes here.
inline int find_largest(std::span<const std::uint64_t> mine, std::uint64_t* all, MPI_Comm on) {
    const auto count = static_cast<int>(mine.size());
    if (!Background::takes_collectives_apart())
        return mpi.Allreduce(mine.data(), all, count, MPI_UINT64_T, MPI_MAX, on);
    return begin_and_finish(MPI_STATUS_IGNORE, [&](MPI_Request* request) {
        return mpi.Iallreduce(mine.data(), all, count, MPI_UINT64_T, MPI_MAX, on, request);
    });
}

}  // namespace hcoll
