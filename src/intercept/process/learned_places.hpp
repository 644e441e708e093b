// SPDX-License-Identifier: BSD-3-Clause
// What this process's communicators have learned, until it is reported (LIBHCOLL_REPORT) and kept (LIBHCOLL_LEARN).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "topology/placement.hpp"
#include "tuning/learning.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// A place of one layout; those of several communicators that sit alike are one.
struct LearnedPlace {
    Collective collective = Collective::bcast;
    int nodes = 1;
    int ranks_per_node = 1;
    std::uint64_t bytes = 0;  // of the last call
    std::uint64_t calls = 0;
    double regret = 0;  // seconds that trying has cost beyond what the best candidate takes
    double gained = 0;  // seconds that the MPI library's own would have taken beyond what was chosen; below 0: lost
    std::uint32_t decisions = 0;
    // The chosen one first; seconds of a call, and how many were timed.
    struct Candidate {
        std::string what;    // for reports
        std::string choice;  // as a table has it
        double seconds = 0;
        std::uint32_t samples = 0;
    };
    std::vector<Candidate> candidates;
};

// From any thread.
class LearnedPlaces {
public:
    // Of a communicator whose ranks sit as `placement` says, before what it has learned goes.
    void add(const Learning& learning, const Placement& placement);
    std::vector<LearnedPlace> take();

private:
    std::mutex mutex_;
    std::vector<LearnedPlace> places_;
};

// As a table keeps them.
std::vector<TableEntry> entries_of(const std::vector<LearnedPlace>& places);

}  // namespace hcoll
