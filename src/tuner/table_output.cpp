#include "tuner/table_output.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

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

std::optional<std::string> TableOutput::find_mistake() const {
    const std::string trial = path_ + ".new";
    if (std::filesystem::is_directory(path_)) return fmt::format("{} is a folder", path_);
    std::FILE* file = std::fopen(trial.c_str(), "we");
    if (file == nullptr) return fmt::format("{} cannot be written ({})", path_, std::strerror(errno));
    std::fclose(file);
    std::filesystem::remove(trial);
    if (belongs_to_others(path_)) return fmt::format("{} belongs to somebody else and cannot be replaced", path_);
    return std::nullopt;
}

std::optional<std::string> TableOutput::resume() {
    if (!std::filesystem::exists(path_)) return std::nullopt;
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
    for (const std::string_view key : {"cluster", "cpu", "interconnect", "mpi_version"}) {
        const std::string* was = find_origin(*before, key);
        const std::string* is = find_origin(table_, key);
        if (was != nullptr && is != nullptr && *was != *is) return refuse(*was, *is);
    }
    for (auto& line : before->origin)
        if (find_origin(table_, line.first) == nullptr) table_.origin.push_back(std::move(line));
    table_.entries = std::move(before->entries);
    is_ours_ = true;
    return std::nullopt;
}

bool TableOutput::write() {
    const std::string fresh = path_ + ".new";
    std::ofstream file(fresh);
    file << table_json(table_);
    file.close();
    if (!file) return false;
    std::error_code error;
    if (!is_ours_ && std::filesystem::exists(path_, error)) std::filesystem::rename(path_, path_ + ".old", error);
    if (!error) std::filesystem::rename(fresh, path_, error);
    is_ours_ = is_ours_ || !error;
    return !error;
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
