// SPDX-License-Identifier: BSD-3-Clause
#include "progress/engine/simulation.hpp"

#include <simgrid/s4u.hpp>

namespace hcoll {

SimulatedCosts simulated_costs;

namespace {

bool charge(double seconds) {
    if (seconds > 0) simgrid::s4u::this_actor::sleep_for(seconds);
    return simulated_costs.has_data;
}

}  // namespace

bool charge_copy(std::uint64_t bytes) {
    return charge(static_cast<double>(bytes) * simulated_costs.copy_seconds_per_byte);
}

bool charge_reduction(std::uint64_t bytes) {
    return charge(static_cast<double>(bytes) * simulated_costs.reduce_seconds_per_byte);
}

std::size_t simulated_process() {
    // Before and after the simulation there is no actor to ask.
    if (!simgrid::s4u::Engine::has_instance()) return 0;
    return static_cast<std::size_t>(simgrid::s4u::this_actor::get_pid());
}

std::uint64_t simulated_nanoseconds() { return static_cast<std::uint64_t>(simgrid::s4u::Engine::get_clock() * 1e9); }

}  // namespace hcoll
