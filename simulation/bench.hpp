// SPDX-License-Identifier: BSD-3-Clause
// One collective at some sizes, timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace hcoll::simulation {

// What trying has found out (--learn).
struct Learned {
    int calls = 0;            // that were made for it
    int settled_after = 0;    // so many of them; 0: not yet
    double regret_calls = 0;  // what trying has cost beyond the best candidate, in calls of what was chosen
    struct Candidate {
        std::string choice;
        double seconds = 0;
        unsigned int timed_calls = 0;
    };
    std::vector<Candidate> candidates;
};

struct Result {
    std::uint64_t bytes = 0;
    std::vector<double> seconds;  // of each repetition: until the last rank has returned, from when all began
    std::string choice;           // what the library has run; empty where it was a selector's
    std::optional<Learned> learned = std::nullopt;
};

// To be called once. `report` gets each size's result when it is there. Returns the number of wrong results
// (--check), or -1 where ranks wait for ever.
long run_bench(const Options& options, void (*report)(const Options&, const Result&));

}  // namespace hcoll::simulation
