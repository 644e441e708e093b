// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/find_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/letters.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

std::string name_from(std::string_view text) {
    std::string name;
    for (const char letter : text) {
        if (is_lower(lower_of(letter)) || is_digit(letter))
            name += lower_of(letter);
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (name.ends_with('-')) name.pop_back();
    return name;
}

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t colon = line.find(':');
        return colon == std::string::npos ? std::string() : line.substr(colon + 1);
    }
    return {};
}

bool has_any(const char* folder, std::string_view prefix) {
    std::error_code error;
    std::filesystem::directory_iterator all(folder, error);
    for (; !error && all != std::filesystem::directory_iterator(); all.increment(error))
        if (all->path().filename().string().starts_with(prefix)) return true;
    return false;
}

std::string fabric_name() {
    struct Fabric {
        const char* folder;
        std::string_view prefix;
        const char* name;
    };
    static constexpr Fabric fabrics[] = {{"/sys/class/cxi", "", "slingshot"},
                                         {"/sys/class/infiniband", "hfi1", "omni-path"},
                                         {"/sys/class/infiniband", "", "infiniband"}};
    for (const Fabric& fabric : fabrics)
        if (has_any(fabric.folder, fabric.prefix)) return fabric.name;
    return "ethernet";
}

}  // namespace

MachineName machine_name() {
    const char* cluster = std::getenv("SLURM_CLUSTER_NAME");
    return {name_from(cluster == nullptr ? "" : cluster), fabric_name(), name_from(cpu_model())};
}

std::vector<std::string> table_file_names(const MachineName& machine, VendorKind vendor) {
    std::vector<std::string> stems;
    if (!machine.cluster.empty()) stems.push_back(machine.cluster);
    if (!machine.cpu.empty()) stems.push_back(fmt::format("{}-{}", machine.fabric, machine.cpu));
    stems.push_back(machine.fabric);
    std::vector<std::string> names;
    for (const std::string& stem : stems) {
        names.push_back(fmt::format("{}-{}.json", stem, name_of(vendor)));
        names.push_back(fmt::format("{}.json", stem));
    }
    return names;
}

std::string find_table_file(const std::string& folder, VendorKind vendor) {
    for (const std::string& name : table_file_names(machine_name(), vendor)) {
        std::error_code error;
        const std::filesystem::path candidate = std::filesystem::path(folder) / name;
        if (std::filesystem::exists(candidate, error)) return candidate.string();
    }
    return {};
}

namespace {

// At most a few of the mistakes in it are named. Its times are of messages and collectives of the MPI library that it was measured under.
std::optional<Table> read_applicable(const std::string& path, VendorKind vendor, std::vector<std::string>& mistakes) {
    constexpr std::size_t most_mistakes = 5;
    std::vector<std::string> all;
    std::optional<Table> table = read_table(path, all);
    for (std::size_t i = 0; i < std::min(all.size(), most_mistakes); ++i) mistakes.push_back(all[i]);
    if (all.size() > most_mistakes)
        mistakes.push_back(fmt::format("{} more mistakes in {}; hcoll-info --table {} names them",
                                       all.size() - most_mistakes, path, path));
    if (!table || !table->vendor || *table->vendor == vendor) return table;
    mistakes.push_back(fmt::format("{} was measured under another MPI library ({}; this one is {}): it is not used",
                                   path, name_of(*table->vendor), name_of(vendor)));
    return std::nullopt;
}

// As the other ranks get it: whoever has other digits looks up other choices.
std::shared_ptr<const Table> as_others_get_it(const Table& table) {
    return std::make_shared<const Table>(*parse_wire_text(wire_text(table)));
}

std::optional<Table> find_file(const std::string& setting, const std::string& folder, VendorKind vendor,
                               std::vector<std::string>& mistakes) {
    const std::string path = setting == "auto" ? find_table_file(folder, vendor) : setting == "off" ? "" : setting;
    return path.empty() ? std::nullopt : read_applicable(path, vendor, mistakes);
}

}  // namespace

std::shared_ptr<const Table> find_table(const std::string& setting, const std::string& folder, VendorKind vendor,
                                        std::vector<std::string>& mistakes) {
    const std::optional<Table> table = find_file(setting, folder, vendor, mistakes);
    return table ? as_others_get_it(*table) : nullptr;
}

void find_tables(Settings& settings, const std::string& seen_from, const std::string& folder, VendorKind vendor,
                 std::vector<std::string>& mistakes) {
    if (settings.tune == TuneMode::off) return;
    const auto seen = [&](const std::string& file) { return (std::filesystem::path(seen_from) / file).string(); };
    const bool is_file = settings.table_file != "auto" && settings.table_file != "off";
    settings.table = find_table(is_file ? seen(settings.table_file) : settings.table_file, folder, vendor, mistakes);
    for (std::string& each : mistakes) each.insert(0, "LIBHCOLL_TABLE: ");
    std::error_code error;
    if (settings.learn_file == "off" || !std::filesystem::exists(seen(settings.learn_file), error)) return;
    std::vector<std::string> of_learned;
    if (const auto learned = read_applicable(seen(settings.learn_file), vendor, of_learned))
        settings.learned = as_others_get_it(*learned);
    for (const std::string& each : of_learned) mistakes.push_back(fmt::format("LIBHCOLL_LEARN: {}", each));
}

}  // namespace hcoll
