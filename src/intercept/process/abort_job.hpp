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
    if (is_simulated) return;
    // Launchers (Hydra) lose what was written just before: nothing is waited for here but them.
    constexpr std::chrono::milliseconds until_launcher_has_read{300};
    std::this_thread::sleep_for(until_launcher_has_read);
    mpi.Abort(MPI_COMM_WORLD, code);
}

// Of a message of the library's own: where it fails another rank waits for it, and would for ever. `when`: as in "while a clock is read".
inline void expect_message(int status, const char* when) {
    if (status == MPI_SUCCESS) return;
    log_line(LogLevel::error, "a message fails while {} (MPI error {}); others wait for it, so the job ends", when,
             status);
    abort_job(status);
}

}  // namespace hcoll
