// SPDX-License-Identifier: BSD-3-Clause
// A machine as SimGrid simulates it.
//
//   rank --.                          .-- rank      a node: one host, a link for its memory (messages inside the node)
//   rank --+-- port == fabric == port-+-- rank      and a port, full duplex; the fabric's links as its kind has them
//   rank --'                          '-- rank
//
// A pair of ranks gets the pair's rate at most, all pairs of a node together its memory's or its port's: the max-rate model
// (Gropp, Olson, Samfass 2016). Flows share a link evenly.
#pragma once

#include <simgrid/s4u.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"

namespace hcoll::simulation {

// What SimGrid is to be told, as it reads it from a command line.
std::vector<std::string> engine_arguments(const Machine& machine);

// The hosts of `nodes` nodes. The machine must outlive the simulation.
std::vector<simgrid::s4u::Host*> make_platform(const Machine& machine, unsigned long nodes);

// Messages below it leave at once, wherever they go to: SimGrid has one limit for all.
std::uint64_t longest_eager(const Machine& machine);

// Seconds that a CPU spends on one message, at each side.
double message_overhead(const Machine& machine, std::uint64_t bytes, bool inside_node);

}  // namespace hcoll::simulation
