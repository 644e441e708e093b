// Where a process runs.
#pragma once

#include <string>

namespace hcoll {

struct Place {
    std::string host;
    // Logical numbers in hwloc's order; -1 where the process may run on several, or where it cannot be told.
    int socket = -1;
    int numa = -1;
    int core = -1;
    int cores = 0;          // on which the process may run
    int cores_of_host = 0;  // that the host has
};

// Of the calling process, from hwloc and its CPU binding.
Place local_place();

}  // namespace hcoll
