// The simulated MPI job: every rank runs the same calls; times are simulated time.
#pragma once

#include <cstdint>
#include <vector>

#include "options.hpp"

namespace hcoll::simulation {

struct Result {
    std::uint64_t bytes = 0;
    std::vector<double> seconds;  // of each repetition: until the last rank has returned, from when all began
    double finished = 0;          // simulated time since the job's start
};

// To be called once. `report` gets each size's result when it is there. Returns the number of wrong results
// (--check), or -1 where ranks wait for ever.
long run_job(const Options& options, void (*report)(const Options&, const Result&));

}  // namespace hcoll::simulation
