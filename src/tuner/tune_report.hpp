// SPDX-License-Identifier: BSD-3-Clause
// What a tuner says: in words for people, and as JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/placement.hpp"
#include "tuner/tuning.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// By collective: points, how many times as fast as the vendor, and where the vendor stays.
std::string summary_text(const Table& table);
// What would be measured, and what is left out for which reason.
std::string explain_text(const Placement& allocation, const std::vector<SubLayout>& layouts, const TuneOptions& options,
                         bool has_shared_memory);
// The four ways: how long they took, and how near the best they came.
std::string comparison_text(const Tuning& tuning);

// The whole of it, in seconds and bytes.
std::string report_json(const Tuning& tuning);

std::string duration_text(double seconds);
// "[=====     ] 3 of 12 points, 4 min left: what".
std::string progress_text(std::size_t done, std::size_t all, double seconds, double most_seconds,
                          std::string_view what);

}  // namespace hcoll
