// SPDX-License-Identifier: BSD-3-Clause
// hcoll-info --topology: where ranks are, or where a virtual layout would put them.
#pragma once

#include <span>
#include <string>

#include "info/job.hpp"
#include "tuning/settings.hpp"

namespace hcoll::info {

struct TopologyOptions {
    std::string layout;  // as LIBHCOLL_TOPOLOGY takes it; empty: what that says
    int ranks = 0;       // that a virtual layout seats, without a job; 0: as many as it has places
    std::string mpi;     // as examine_job takes it
    bool as_json = false;
};

// Prints to standard output, under a launcher on rank 0 only; mistakes and `warnings`, which are about the settings, to
// standard error. Returns the program's exit status.
int print_topology(const TopologyOptions& options, const Settings& settings, std::span<const std::string> warnings);

}  // namespace hcoll::info
