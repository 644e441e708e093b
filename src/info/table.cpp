// SPDX-License-Identifier: BSD-3-Clause
#include "info/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "tuning/find_table.hpp"
#include "tuning/table_file.hpp"
#include "tuning/text.hpp"

namespace hcoll::info {

namespace {

template <typename Number>
std::string range_text(const TableRange<Number>& range, const std::function<std::string(Number)>& text) {
    if (range.is_point()) return text(range.least);
    if (range.most == std::numeric_limits<Number>::max()) return fmt::format("{} or more", text(range.least));
    return fmt::format("{} to {}", text(range.least), text(range.most));
}

// A, B, ..., Z, AA, ...
std::string letter_of(std::size_t number) {
    std::string letters;
    for (std::size_t rest = number + 1; rest != 0; rest = (rest - 1) / 26)
        letters.insert(letters.begin(), static_cast<char>('A' + (rest - 1) % 26));
    return letters;
}

// How many times as long the vendor takes; empty where one of them was not measured.
std::string gain_text(const TableEntry& entry) {
    const TableCandidate* vendor = entry.find("vendor");
    if (vendor == nullptr || vendor->seconds <= 0 || entry.chosen().seconds <= 0) return {};
    return fmt::format("{:.2f}", vendor->seconds / entry.chosen().seconds);
}

// The points of one call: lengths downwards, layouts to the right.
void draw_points(const TableCall& call, const std::vector<const TableEntry*>& points) {
    std::vector<std::pair<int, int>> layouts;
    std::set<std::uint64_t> lengths;
    std::vector<std::string> choices;
    for (const TableEntry* entry : points) {
        layouts.emplace_back(entry->nodes.least, entry->ranks_per_node.least);
        lengths.insert(entry->bytes.least);
        const std::string& choice = entry->chosen().choice;
        if (choice != "vendor" && std::find(choices.begin(), choices.end(), choice) == choices.end())
            choices.push_back(choice);
    }
    std::sort(layouts.begin(), layouts.end());
    layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
    fmt::print("\n{}: nodes x ranks of each, to the right; bytes, downwards\n\n{:>8}", call.name(), "");
    for (const auto& [nodes, ranks] : layouts) fmt::print("  {:<10}", fmt::format("{} x {}", nodes, ranks));
    fmt::print("\n");
    for (const std::uint64_t bytes : lengths) {
        fmt::print("{:>8}", size_text(bytes));
        for (const auto& [nodes, ranks] : layouts) {
            const auto entry = std::find_if(points.begin(), points.end(),
                                            [&, of_nodes = nodes, of_ranks = ranks](const TableEntry* each) {
                                                return each->bytes.least == bytes && each->nodes.least == of_nodes &&
                                                       each->ranks_per_node.least == of_ranks;
                                            });
            std::string cell;
            if (entry != points.end()) {
                const std::string& choice = (*entry)->chosen().choice;
                const auto number = std::find(choices.begin(), choices.end(), choice) - choices.begin();
                cell = choice == "vendor"
                           ? "."
                           : fmt::format("{} {}", letter_of(static_cast<std::size_t>(number)), gain_text(**entry));
                if (is_learned(**entry)) cell += cell.ends_with(' ') ? "*" : " *";
            }
            fmt::print("  {:<10}", cell);
        }
        fmt::print("\n");
    }
    fmt::print("\n");
    for (std::size_t i = 0; i < choices.size(); ++i) fmt::print("{:>8}  {}\n", letter_of(i), choices[i]);
    fmt::print("{:>8}  the MPI library's own; a number: how many times as long that takes\n", ".");
}

void print_rules(const std::vector<const TableEntry*>& rules) {
    fmt::print("\nRules, which go before what was measured\n");
    const std::function<std::string(int)> number = [](int each) { return std::to_string(each); };
    const std::function<std::string(std::uint64_t)> size = [](std::uint64_t each) { return size_text(each); };
    for (const TableEntry* rule : rules)
        fmt::print("  {:<10} nodes {}, ranks of each {}, bytes {}: {}\n", rule->call.name(),
                   range_text(rule->nodes, number), range_text(rule->ranks_per_node, number),
                   range_text(rule->bytes, size), rule->chosen().choice);
}

void print_text(const Table& table, const std::string& path) {
    const auto learned = std::count_if(table.entries.begin(), table.entries.end(), is_learned);
    fmt::print("{}: {} entries{}{}\n", path, table.entries.size(),
               learned != 0 ? fmt::format(", {} of them learned by programs (*)", learned) : std::string(),
               table.vendor ? fmt::format(", measured under {}", name_of(*table.vendor)) : std::string());
    for (const auto& [key, value] : table.origin) fmt::print("  {}: {}\n", key, value);
    std::vector<const TableEntry*> rules;
    std::vector<std::pair<TableCall, std::vector<const TableEntry*>>> calls;
    for (const TableEntry& entry : table.entries) {
        if (!entry.is_point()) {
            rules.push_back(&entry);
            continue;
        }
        auto call =
            std::find_if(calls.begin(), calls.end(), [&](const auto& each) { return each.first == entry.call; });
        if (call == calls.end()) call = calls.insert(calls.end(), {entry.call, {}});
        call->second.push_back(&entry);
    }
    if (!rules.empty()) print_rules(rules);
    for (const auto& [call, points] : calls) draw_points(call, points);
}

}  // namespace

int print_table(const TableOptions& options, const std::string& folder, const std::string& setting) {
    std::string path = options.file.empty() ? setting : options.file;
    if (path == "auto" || path == "off") {
        const MachineName machine = machine_name();
        const std::string wanted = path;
        path.clear();
        for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi})
            if (wanted == "auto" && path.empty()) path = find_table_file(folder, vendor);
        if (path.empty()) {
            fmt::print("No table is in force: LIBHCOLL_TABLE={}. For this machine {} may have one of\n", wanted,
                       folder);
            for (const VendorKind vendor : {VendorKind::mpich, VendorKind::openmpi})
                fmt::print("  {}   ({})\n", fmt::join(table_file_names(machine, vendor), "  "), name_of(vendor));
            return 1;
        }
    }
    std::vector<std::string> mistakes;
    const std::optional<Table> table = read_table(path, mistakes);
    for (const std::string& mistake : mistakes) fmt::print(stderr, "hcoll-info: {}\n", mistake);
    if (!table) return 1;
    if (options.as_json)
        fmt::print("{}", table_json(*table));
    else
        print_text(*table, path);
    return mistakes.empty() ? 0 : 1;
}

}  // namespace hcoll::info
