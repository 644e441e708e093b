// SPDX-License-Identifier: BSD-3-Clause
// What hcoll-tune is asked to do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tuner/search.hpp"

namespace CLI {
class App;
}

namespace hcoll {

struct TuneOptions {
    std::string output = "libhcoll-table.json";
    std::string report;  // all that was measured and predicted, as JSON; empty: none
    std::vector<TableCall> calls;
    bool names_calls = false;  // by the user: else all there are, but the non-blocking ones
    std::vector<std::uint64_t> sizes;
    std::vector<int> nodes;           // empty: powers of two, and all
    std::vector<int> ranks_per_node;  // the same
    double most_seconds = 0;          // 0: no bound
    bool resume = false;
    bool compare = false;
    bool explain = false;
    SearchOptions search;
};

// True where the program is to go on; else it ends with `status`. Mistakes are told by the rank that `speaks`. `more` adds options of a
// program's own.
bool read_tune_options(int argc, char** argv, bool speaks, TuneOptions& options, int& status,
                       const std::function<void(CLI::App&)>& more = {});

}  // namespace hcoll
