// The end of a job that cannot be right any more.
#pragma once

#include <chrono>
#include <thread>

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

}  // namespace hcoll
