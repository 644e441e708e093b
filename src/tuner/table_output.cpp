// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/table_output.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tuning/table_file.hpp"

namespace hcoll {

namespace {

// In a folder like /tmp only its owner replaces a file.
bool belongs_to_others(const std::string& path) {
    const std::string folder = std::filesystem::absolute(path).parent_path().string();
    struct stat of_file {};
    struct stat of_folder {};
    if (stat(path.c_str(), &of_file) != 0 || stat(folder.c_str(), &of_folder) != 0) return false;
    const uid_t me = geteuid();
    return (of_folder.st_mode & S_ISVTX) != 0 && me != 0 && of_file.st_uid != me && of_folder.st_uid != me;
}

const std::string* find_origin(const Table& table, std::string_view key) {
    for (const auto& [name, value] : table.origin)
        if (name == key) return &value;
    return nullptr;
}

}  // namespace

std::optional<TableOutput::Identity> TableOutput::identity_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return std::nullopt;
    return Identity(status.st_dev, status.st_ino);
}

std::optional<std::string> TableOutput::find_mistake() const {
    if (path_.empty()) return "--output names no file";
    struct stat status {};
    if (stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
        return fmt::format("{} is {}", path_, S_ISDIR(status.st_mode) ? "a folder" : "no file");
    const std::string trial = fresh_name(path_);
    std::FILE* file = std::fopen(trial.c_str(), "we");
    if (file == nullptr) return fmt::format("{} cannot be written ({})", path_, std::strerror(errno));
    std::fclose(file);
    unlink(trial.c_str());
    if (belongs_to_others(path_)) return fmt::format("{} belongs to somebody else and cannot be replaced", path_);
    return std::nullopt;
}

std::optional<std::string> TableOutput::resume() {
    if (!identity_of(path_)) return std::nullopt;
    std::vector<std::string> mistakes;
    std::optional<Table> before = read_table(path_, mistakes);
    if (!mistakes.empty()) return mistakes.front();
    if (!before) return std::nullopt;
    // Times of two machines in one table compare nothing.
    const auto refuse = [&](std::string_view was, std::string_view is) {
        return fmt::format("{} was measured on or with {}, and this is {}; name another --output", path_, was, is);
    };
    if (before->vendor && table_.vendor && *before->vendor != *table_.vendor)
        return refuse(name_of(*before->vendor), name_of(*table_.vendor));
    for (const std::string_view key : {"cluster", "cpu", "interconnect", "mpi_version", "progress"}) {
        const std::string* was = find_origin(*before, key);
        const std::string* is = find_origin(table_, key);
        if (was != nullptr && is != nullptr && *was != *is) return refuse(*was, *is);
    }
    for (auto& line : before->origin)
        if (find_origin(table_, line.first) == nullptr) table_.origin.push_back(std::move(line));
    table_.entries = std::move(before->entries);
    ours_ = identity_of(path_);
    return std::nullopt;
}

bool TableOutput::write() {
    const std::optional<Identity> there = identity_of(path_);
    if (ours_ && there && there != ours_) {
        if (beside_.empty()) beside_ = old_name(path_);
        if (!replace_file(beside_, table_json(table_))) beside_.clear();
        return false;
    }
    const bool is_kept = !there || there == ours_ || rename(path_.c_str(), old_name(path_).c_str()) == 0;
    if (!is_kept || !replace_file(path_, table_json(table_))) return false;
    ours_ = identity_of(path_);
    return true;
}

std::string TableOutput::why_not_written() const {
    if (beside_.empty()) return fmt::format("{} cannot be written", path_);
    return fmt::format("somebody else writes {}, too, so this table is in {}", path_, beside_);
}

std::string key_of(const TableCall& call, const SubLayout& layout, std::uint64_t bytes) {
    return fmt::format("{} {} {} {}", call.name(), layout.nodes, layout.ranks_per_node, bytes);
}

std::set<std::string> keys_of(const Table& table) {
    std::set<std::string> keys;
    for (const TableEntry& entry : table.entries)
        if (entry.is_point())
            keys.insert(key_of(entry.call, {entry.nodes.least, entry.ranks_per_node.least}, entry.bytes.least));
    return keys;
}

}  // namespace hcoll
