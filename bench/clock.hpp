// SPDX-License-Identifier: BSD-3-Clause
// The clock of all measurements. Not MPI_Wtime, which an MPI library may implement at any resolution.
#pragma once

#include <chrono>

namespace hcoll::bench {

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hcoll::bench
