// SPDX-License-Identifier: BSD-3-Clause
// The seam to a simulation, where one process holds all ranks, and where only messages take time by themselves. Whatever is different
// there asks `is_simulated`; no other file of the library asks which MPI it is compiled for because of a simulation, but for
// vendor.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcoll {

#if defined(HCOLL_FLAVOUR_SIMGRID)

inline constexpr bool is_simulated = true;

// The number of the simulated process that runs; 0 outside of all.
std::size_t simulated_process();
// The time in the simulation.
std::uint64_t simulated_nanoseconds();

// What the library's own work costs.
struct SimulatedCosts {
    double copy_seconds_per_byte = 0;
    double reduce_seconds_per_byte = 0;  // of the result, for one operation
    // Are messages, copies and results real? Where only times are asked for, memory is never touched.
    bool has_data = true;
};
extern SimulatedCosts simulated_costs;

// The simulated rank is busy for as long as that takes. Returns whether there are data to work on.
bool charge_copy(std::uint64_t bytes);
bool charge_reduction(std::uint64_t bytes);

#else

inline constexpr bool is_simulated = false;
inline constexpr std::size_t simulated_process() { return 0; }
inline constexpr std::uint64_t simulated_nanoseconds() { return 0; }
inline constexpr bool charge_copy(std::uint64_t) { return true; }
inline constexpr bool charge_reduction(std::uint64_t) { return true; }

#endif

}  // namespace hcoll
