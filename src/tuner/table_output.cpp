#include "tuner/table_output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hcoll {

std::optional<std::string> TableOutput::find_mistake() const {
    const std::string trial = path_ + ".new";
    if (std::filesystem::is_directory(path_)) return fmt::format("{} is a folder", path_);
    std::FILE* file = std::fopen(trial.c_str(), "we");
    if (file == nullptr) return fmt::format("{} cannot be written ({})", path_, std::strerror(errno));
    std::fclose(file);
    std::filesystem::remove(trial);
    return std::nullopt;
}

std::optional<std::string> TableOutput::resume() {
    if (!std::filesystem::exists(path_)) return std::nullopt;
    std::vector<std::string> mistakes;
    std::optional<Table> before = read_table(path_, mistakes);
    if (before) table_.entries = std::move(before->entries);
    return mistakes.empty() ? std::nullopt : std::make_optional(mistakes.front());
}

bool TableOutput::write() const {
    const std::string fresh = path_ + ".new";
    std::ofstream file(fresh);
    file << table_json(table_);
    file.close();
    std::error_code error;
    if (file) std::filesystem::rename(fresh, path_, error);
    return file.good() && !error;
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
