// SPDX-License-Identifier: BSD-3-Clause
// A barrier that is checked: nobody leaves it before the last has entered. The ranks of a test are on one host and have
// one clock, so each notes when it came and when it went, and the MPI library's own MPI_Allgather tells all.
#pragma once

#include "program.hpp"

#include <array>
#include <thread>

namespace hcoll::test {

// By all ranks of the intra-communicator `comm`. Rank `late`, if there is one of that number, comes late, so that others
// are seen to wait. Returns MPI's error code; a rank that left too early takes the job down.
inline int timed_barrier(MPI_Comm comm, int late = -1) {
    using Clock = std::chrono::steady_clock;
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    if (rank == late) std::this_thread::sleep_for(std::chrono::microseconds(200));
    const Clock::rep entered = Clock::now().time_since_epoch().count();
    const int code = MPI_Barrier(comm);
    const Clock::rep left = Clock::now().time_since_epoch().count();
    if (code != MPI_SUCCESS) return code;
    const std::array<std::int64_t, 2> own{entered, left};
    std::vector<std::array<std::int64_t, 2>> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(own.data(), 2, MPI_INT64_T, all.data(), 2, MPI_INT64_T, comm));
    for (int other = 0; other < size; ++other)
        require(
            all[static_cast<std::size_t>(other)][0] <= left,
            "MPI_Barrier: left before rank " + std::to_string(other) + " of " + std::to_string(size) + " had entered");
    return MPI_SUCCESS;
}

}  // namespace hcoll::test
