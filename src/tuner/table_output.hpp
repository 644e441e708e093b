// SPDX-License-Identifier: BSD-3-Clause
// The file that a tuner writes: whole at any time, so that a job may end at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tuner/allocation.hpp"
#include "tuning/table.hpp"
#include "tuning/table_file.hpp"

namespace hcoll {

class TableOutput {
public:
    TableOutput(const std::string& path, Table table) : path_(real_path(path)), table_(std::move(table)) {}

    // By the rank that writes, before anything is measured: a sentence where the file cannot be written.
    std::optional<std::string> find_mistake() const;
    // Takes over what stands there already; a sentence where that is no table, or one of another machine or MPI library.
    std::optional<std::string> resume();
    // Replaces the file; false where that failed. What somebody else has put there before, and was not taken over, is kept beside it, with .old
    // behind its name (or .old2, ...). Where somebody else has written meanwhile, that stays, and what there is here is written there: false.
    bool write();
    // A clause that says so.
    std::string why_not_written() const;
    // Is what there is in the file?
    bool is_written() const { return ours_.has_value(); }

    void add(const TableEntry& entry) { table_.entries.push_back(entry); }
    const Table& table() const { return table_; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    Table table_;
    // What was taken over, or written last: device and number of the file, which tell it from another one of the same name.
    using Identity = std::pair<std::uint64_t, std::uint64_t>;
    static std::optional<Identity> identity_of(const std::string& path);
    std::optional<Identity> ours_;
    std::string beside_;  // where it is since somebody else writes, too
};

// Tells points apart.
std::string key_of(const TableCall& call, const SubLayout& layout, std::uint64_t bytes);
// Of all measured points.
std::set<std::string> keys_of(const Table& table);

}  // namespace hcoll
