// SPDX-License-Identifier: BSD-3-Clause
// Where a process runs.
#pragma once

#include <string>

#include "topology/machine.hpp"

namespace hcoll {

struct Place {
    std::string host;
    // hwloc's logical numbers, the same for all processes of the host; -1 where the process may run on several, or where
    // it cannot be told.
    int socket = -1;  // the package of processors
    int numa = -1;
    int cache = -1;  // the last one that cores share
    int core = -1;
    int cores = 0;          // on which the process may run
    int cores_of_host = 0;  // that the host has
};

// Of the calling process, from its CPU binding.
Place place_on(const Machine& machine);

// The same on the machine as this process reads it itself, at the first call; later calls give the same. From any thread.
const Place& local_place();

}  // namespace hcoll
