// SPDX-License-Identifier: BSD-3-Clause
// hcoll-info --trace: what a job has traced (LIBHCOLL_TRACE), explained, merged, or drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hcoll::info {

struct TraceOptions {
    std::string folder;
    std::optional<std::uint64_t> job;  // nothing: the last one
    std::uint64_t call = 0;            // its number; 0: all
    std::string communicator;          // on which; empty: that where the call took longest
    bool as_svg = false;
    bool as_json = false;
    bool merges = false;
};

// Prints to standard output; a mistake, in one sentence, to standard error. Returns the program's exit status: 2 after a mistake, 1 where there is nothing to explain.
int print_trace(const TraceOptions& options);

}  // namespace hcoll::info
