// SPDX-License-Identifier: BSD-3-Clause
// Where and with what a measurement was made.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mpi.hpp"

namespace hcoll::bench {

struct Environment {
    std::string date;                             // UTC, ISO 8601
    std::string mpi_library;                      // as the library calls itself, first line
    std::string mpi_standard;                     // such as 3.1
    std::string libhcoll;                         // the preloaded file; empty without
    std::map<std::string, int> hosts;             // ranks on each
    std::map<std::string, std::string> settings;  // the LIBHCOLL_ variables
    std::vector<std::string> command_line;
    int ranks = 1;
};

// The file of libhcoll if MPI_Bcast comes from there, else empty.
std::string find_libhcoll();

// Called by all ranks; complete on rank 0.
Environment gather_environment(const World& world, int argc, char** argv);

}  // namespace hcoll::bench
