// The file that a tuner writes: whole at any time, so that a job may end at any time.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "tuner/allocation.hpp"
#include "tuning/table.hpp"

namespace hcoll {

class TableOutput {
public:
    TableOutput(std::string path, Table table) : path_(std::move(path)), table_(std::move(table)) {}

    // By the rank that writes, before anything is measured: a sentence where the file cannot be written.
    std::optional<std::string> find_mistake() const;
    // Takes over what stands there already; a sentence where that is no table, or one of another machine or MPI library.
    std::optional<std::string> resume();
    // Replaces the file; false where that failed. What stood there before, and was not taken over, is kept beside it, with .old behind its name.
    bool write();

    void add(const TableEntry& entry) { table_.entries.push_back(entry); }
    const Table& table() const { return table_; }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    Table table_;
    bool is_ours_ = false;  // what stands in the file
};

// Tells points apart.
std::string key_of(const TableCall& call, const SubLayout& layout, std::uint64_t bytes);
// Of all measured points.
std::set<std::string> keys_of(const Table& table);

}  // namespace hcoll
