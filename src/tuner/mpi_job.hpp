// SPDX-License-Identifier: BSD-3-Clause
// The job that a tuner or a check of a whole machine runs in, seen from inside: by all ranks of MPI_COMM_WORLD alike.
#pragma once

#include <string>
#include <string_view>

#include "topology/placement.hpp"
#include "tuning/settings.hpp"
#include "tuning/vendor_kind.hpp"

namespace hcoll {

// Whose MPI library it is, also before MPI_Init. A program of the standard ABI meets several.
VendorKind vendor_of_job();

struct Job {
    int rank = 0;
    int ranks = 1;
    bool speaks() const { return rank == 0; }
};
Job this_job();

// The library that the calls under test go to first; empty where it is not preloaded.
std::string preloaded_library();
// Settings under which no candidate would run; empty where there are none.
std::string_view what_chooses_already(const Settings& settings);
// Without something that moves them the library leaves non-blocking calls to the MPI library, whatever is chosen for them: a sentence that says so,
// or nothing.
std::string why_no_background(const Settings& settings);

// The same text on all ranks: that of one.
std::string shared_text(std::string text, int root = 0);
// Rank 0's, as in the library.
Settings agreed_settings();
// Where all ranks sit, as the library sees it: by shared memory, or as LIBHCOLL_TOPOLOGY puts them.
Placement find_allocation(const Job& job, const Settings& settings);
// Ranks that have nothing to do sleep: those that work may want their cores.
void wait_for_all();

}  // namespace hcoll
