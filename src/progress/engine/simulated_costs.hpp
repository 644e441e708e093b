// What the library's own work costs in a simulation, where only messages take time by themselves. Elsewhere: nothing.
#pragma once

#include <cstdint>

namespace hcoll {

#if defined(HCOLL_FLAVOUR_SIMGRID)

inline constexpr bool is_simulated = true;

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
inline constexpr bool charge_copy(std::uint64_t) { return true; }
inline constexpr bool charge_reduction(std::uint64_t) { return true; }

#endif

}  // namespace hcoll
