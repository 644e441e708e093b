// SPDX-License-Identifier: BSD-3-Clause
// Tables for tests.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuning/table.hpp"

namespace hcoll::test {

inline constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();
inline constexpr TableCall bcast{Collective::bcast, false};

inline std::string file_with(std::string_view entries) {
    return std::string("{\n  \"format\": \"libhcoll table\",\n  \"version\": 1,\n  \"entries\": [\n") +
           std::string(entries) + "\n  ]\n}\n";
}
inline constexpr int first_line_of_entries = 5;

inline Table parse(std::string_view text, std::vector<std::string>& mistakes) {
    return parse_table(text, "m.json", mistakes);
}

inline Table parse_well(std::string_view entries) {
    std::vector<std::string> mistakes;
    Table table = parse(file_with(entries), mistakes);
    EXPECT_TRUE(mistakes.empty()) << mistakes.front();
    return table;
}

inline TableEntry point(int nodes, int ranks, std::uint64_t bytes, std::vector<TableCandidate> candidates) {
    return {.call = bcast,
            .nodes = {nodes, nodes},
            .ranks_per_node = {ranks, ranks},
            .bytes = {bytes, bytes},
            .candidates = std::move(candidates),
            .why = {}};
}

inline bool anything(std::string_view) { return true; }

inline const std::string& chosen_at(const std::vector<TableRow>& rows, std::uint64_t bytes) {
    auto row = rows.begin();
    while (row->largest_bytes < bytes) ++row;
    return row->choice;
}

}  // namespace hcoll::test
