// Who is tried on a program's own calls, besides what is usual (learning.hpp): a pure function of what all ranks know.
//
// In this order: the MPI library's own; what the machine's table has for the next best; what the cost model says of the layout, for that length
// and its neighbors; shared memory, on one node. Three or four are enough, since they are the best that is known.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "tuning/place_learning.hpp"
#include "tuning/selection.hpp"

namespace hcoll {

// What reports say of a candidate that was chosen.
inline constexpr const char* why_of_trials = "learned (LIBHCOLL_TUNE)";

// By bytes in ascending order; the last one has no bound. Empty: nothing is tried.
struct TrialRange {
    std::uint64_t largest_bytes = std::numeric_limits<std::uint64_t>::max();
    std::vector<Decision> others;
};
using TrialTable = std::vector<TrialRange>;
using TrialTables = std::array<TrialTable, collective_count>;

// `usual`: the decisions without any trying.
TrialTable make_trial_table(const Settings& settings, Collective collective, const Placement& placement,
                            bool has_shared_memory, const DecisionTable& usual);

// None where `table` is empty.
const std::vector<Decision>& others_at(const TrialTable& table, std::uint64_t bytes);

}  // namespace hcoll
