// One collective at some sizes, timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace hcoll::simulation {

struct Result {
    std::uint64_t bytes = 0;
    std::vector<double> seconds;  // of each repetition: until the last rank has returned, from when all began
    std::string choice;           // what the library has run; empty where it was a selector's
};

// To be called once. `report` gets each size's result when it is there. Returns the number of wrong results
// (--check), or -1 where ranks wait for ever.
long run_bench(const Options& options, void (*report)(const Options&, const Result&));

}  // namespace hcoll::simulation
