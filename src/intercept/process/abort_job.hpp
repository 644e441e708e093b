// SPDX-License-Identifier: BSD-3-Clause
// The end of a job that cannot be right any more.
#pragma once

#include <chrono>
#include <thread>

#include "intercept/process/log.hpp"
#include "progress/engine/simulation.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// By the rank that has said why.
inline void abort_job(int code) {
    if constexpr (!is_simulated) {
        // Launchers (Hydra) lose what was written just before: nothing is waited for here but them.
        constexpr std::chrono::milliseconds until_launcher_has_read{300};
        std::this_thread::sleep_for(until_launcher_has_read);
    }
    if (mpi.Abort != nullptr) mpi.Abort(MPI_COMM_WORLD, code);
}

// Of a call of the MPI library's that another rank waits for: where it fails that one would wait for ever. `when`: as in "while clocks are compared". Returns `status`.
inline int end_job_unless(int status, const char* when) {
    if (status == MPI_SUCCESS) return status;
    log_line(LogLevel::error,
             "a call of the MPI library fails while {} (MPI error {}); other ranks wait for it, so the job ends", when,
             status);
    abort_job(status);
    return status;
}

}  // namespace hcoll
