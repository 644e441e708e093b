#include "tuning/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tuning/text.hpp"

namespace hcoll {

namespace {

constexpr std::string_view vendor_names[] = {"mpich", "openmpi"};  // in the order of VendorKind

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

template <typename Number>
std::string range_text(const TableRange<Number>& range) {
    if (range.is_point()) return std::to_string(range.least);
    if (range.most == std::numeric_limits<Number>::max()) return fmt::format("{}-", range.least);
    return fmt::format("{}-{}", range.least, range.most);
}

template <typename Number>
bool parse_range(std::string_view text, TableRange<Number>& range) {
    const std::size_t dash = text.find('-');
    if (!parse_number(text.substr(0, dash), range.least)) return false;
    range.most = range.least;
    if (dash == std::string_view::npos) return true;
    range.most = std::numeric_limits<Number>::max();
    return dash + 1 == text.size() || parse_number(text.substr(dash + 1), range.most);
}

}  // namespace

std::string_view name_of(VendorKind vendor) { return vendor_names[static_cast<std::size_t>(vendor)]; }

std::string_view TableCall::name() const {
    return is_nonblocking ? nonblocking_names[static_cast<std::size_t>(collective)] : name_of(collective);
}

std::optional<TableCall> TableCall::of(std::string_view name) {
    for (std::size_t i = 0; i < collective_count; ++i)
        if (collective_names[i].name == name) return TableCall{static_cast<Collective>(i), false};
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        if (nonblocking_names[i] == name) return TableCall{static_cast<Collective>(i), true};
    return std::nullopt;
}

const TableCandidate* TableEntry::find(std::string_view choice) const {
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const TableCandidate& each) { return each.choice == choice; });
    return found == candidates.end() ? nullptr : &*found;
}

// name;vendor;choice;choice;...;;entry;entry;...   An entry: call nodes ranks bytes number:microseconds ...
std::string wire_text(const Table& table) {
    std::vector<std::string_view> choices;
    const auto number_of = [&](std::string_view choice) {
        const auto number =
            static_cast<std::size_t>(std::find(choices.begin(), choices.end(), choice) - choices.begin());
        if (number == choices.size()) choices.push_back(choice);
        return number;
    };
    std::string entries;
    for (const TableEntry& entry : table.entries) {
        entries += fmt::format(";{} {} {} {}", entry.call.name(), range_text(entry.nodes),
                               range_text(entry.ranks_per_node), range_text(entry.bytes));
        for (const TableCandidate& each : entry.candidates)
            entries += fmt::format(" {}:{:.4g}", number_of(each.choice), each.seconds * 1e6);
    }
    std::string name = table.name;
    std::replace_if(
        name.begin(), name.end(), [](char letter) { return letter == ';' || letter == '\n'; }, '_');
    std::string text = fmt::format("{};{}", name, table.vendor ? name_of(*table.vendor) : std::string_view());
    for (const std::string_view choice : choices) text += fmt::format(";{}", choice);
    return text + ';' + entries;
}

std::optional<Table> parse_wire_text(std::string_view text) {
    const std::vector<std::string_view> fields = split(text, ';');
    if (fields.size() < 3) return std::nullopt;
    Table table;
    table.name = fields[0];
    for (std::size_t i = 0; i < std::size(vendor_names); ++i)
        if (fields[1] == vendor_names[i]) table.vendor = static_cast<VendorKind>(i);
    std::size_t at = 2;
    std::vector<std::string_view> choices;
    for (; at < fields.size() && !fields[at].empty(); ++at) choices.push_back(fields[at]);
    for (++at; at < fields.size(); ++at) {
        const std::vector<std::string_view> words = split(fields[at], ' ');
        constexpr std::size_t before_candidates = 4;
        if (words.size() <= before_candidates) return std::nullopt;
        TableEntry entry;
        const auto call = TableCall::of(words[0]);
        if (!call || !parse_range(words[1], entry.nodes) || !parse_range(words[2], entry.ranks_per_node) ||
            !parse_range(words[3], entry.bytes))
            return std::nullopt;
        entry.call = *call;
        if (!call->is_nonblocking) table.says_of[static_cast<std::size_t>(call->collective)] = true;
        for (std::size_t i = before_candidates; i < words.size(); ++i) {
            const std::size_t colon = words[i].find(':');
            std::size_t number = 0;
            double microseconds = 0;
            if (colon == std::string_view::npos || !parse_number(words[i].substr(0, colon), number) ||
                number >= choices.size() || !parse_number(words[i].substr(colon + 1), microseconds))
                return std::nullopt;
            entry.candidates.push_back({std::string(choices[number]), microseconds * 1e-6});
        }
        table.entries.push_back(std::move(entry));
    }
    return table;
}

}  // namespace hcoll
