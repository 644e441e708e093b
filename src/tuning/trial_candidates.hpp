// SPDX-License-Identifier: BSD-3-Clause
// Who is tried on a program's own calls, besides what is usual (learning.hpp): a pure function of what all ranks know.
//
// In this order: the MPI library's own; what other jobs have learned here, which is where the place begins; what the machine's table has for the next best; what the cost model says of the layout, for that length
// and its neighbors; shared memory, on one node. Three or four are enough, since they are the best that is known.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "tuning/place_learning.hpp"
#include "tuning/selection.hpp"

namespace hcoll {

// What reports say of a candidate that was chosen.
inline constexpr const char* why_of_trials = "learned (LIBHCOLL_TUNE)";

// Messages of 0 bytes, of 1, of 2, of 3 and 4, of 5 to 8, and so on: rules, too, end with powers of two.
constexpr int size_class_of_place(std::uint64_t bytes) {
    return bytes == 0 ? 0 : 1 + static_cast<int>(std::bit_width(bytes - 1));
}
constexpr std::uint64_t most_bytes_of_place(int size_class) {
    return size_class == 0   ? 0
           : size_class > 64 ? std::numeric_limits<std::uint64_t>::max()
                             : std::uint64_t{1} << (size_class - 1);
}

// By bytes in ascending order; the last one has no bound. Empty: nothing is tried.
struct TrialRange {
    std::uint64_t largest_bytes = std::numeric_limits<std::uint64_t>::max();
    std::vector<Decision> others;
    int first = PlaceLearning::usual;  // who runs until something is found out
};
using TrialTable = std::vector<TrialRange>;
using TrialTables = std::array<TrialTable, collective_count>;

// How ranks reach one another's memory: not all of them do, they share some, or they also copy out of one another's buffers.
enum class NodeMemory : std::uint8_t { apart, shared, copied_once };

// `usual`: the decisions without any trying.
TrialTable make_trial_table(const Settings& settings, Collective collective, const Placement& placement,
                            NodeMemory memory, const DecisionTable& usual);

// nullptr where `table` is empty.
const TrialRange* trials_at(const TrialTable& table, std::uint64_t bytes);

}  // namespace hcoll
