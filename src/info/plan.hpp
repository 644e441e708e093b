// SPDX-License-Identifier: BSD-3-Clause
// hcoll-info --plan: what an algorithm does for one call, counted, listed or drawn.
#pragma once

#include <span>
#include <string>

#include "tuning/settings.hpp"

namespace hcoll::info {

struct PlanOptions {
    std::string collective;
    std::string algorithm;  // as LIBHCOLL_<COLLECTIVE> takes it
    std::string bytes = "1M";
    std::string layout;  // as LIBHCOLL_TOPOLOGY takes it; empty: what that says; where it says nothing, one node
    int ranks = 0;       // 0: as many as the layout has places; 16 on one node
    int root = 0;
    int rank = -1;                 // whose steps to list; -1: nobody's
    std::string unit_bytes = "8";  // of an element of a reduction
    bool as_dot = false;
    bool as_svg = false;
    bool as_json = false;
};

// Prints to standard output; a mistake, in one sentence, and `warnings`, which are about the settings, to standard error.
// Returns the program's exit status: 2 after a mistake.
int print_plan(const PlanOptions& options, const Settings& settings, std::span<const std::string> warnings);

}  // namespace hcoll::info
