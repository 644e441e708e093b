// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>

#include "base/own_arithmetic.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

constexpr std::size_t words_before_candidates = 4;
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

// ---- a time in four letters: five digits, to the base of 64, after the power of ten, A for the least ----

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int least_power = -15;
constexpr int most_power = 10;
constexpr std::size_t letters_of_time = 4;
constexpr unsigned bits_of_letter = 6;

std::string time_text(double seconds) {
    unsigned digits = 0;
    int power = least_power;
    if (seconds > 0) {
        const std::string text = fmt::format("{:.4e}", seconds);  // d.dddde-dd
        digits = static_cast<unsigned>(text[0] - '0');
        for (std::size_t i = 2; i < 6; ++i) digits = 10 * digits + static_cast<unsigned>(text[i] - '0');
        power = std::clamp(std::stoi(text.substr(text.find('e') + 1)), least_power, most_power);
    }
    std::string text(1, letters[static_cast<std::size_t>(power - least_power)]);
    for (int shift = 2; shift >= 0; --shift) text += letters[digits >> (shift * bits_of_letter) & 63U];
    return text;
}

bool parse_time(std::string_view text, double& seconds) {
    if (text.size() != letters_of_time) return false;
    const std::size_t power = letters.find(text[0]);
    unsigned digits = 0;
    for (const char letter : text.substr(1)) {
        const std::size_t digit = letters.find(letter);
        if (digit == std::string_view::npos) return false;
        digits = digits << bits_of_letter | static_cast<unsigned>(digit);
    }
    // As text: the nearest number, on every CPU the same.
    return power <= static_cast<std::size_t>(most_power - least_power) &&
           parse_number(fmt::format("{}e{}", digits, static_cast<int>(power) + least_power - 4), seconds);
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

// name;vendor;choice;choice;...;;entry;entry;...   An entry: "call nodes ranks bytes candidates", "=" for what is as in the one before; its
// candidates: the number of the choice and time_text, one after another.
std::string wire_text(const Table& table) {
    std::vector<std::string_view> choices;
    std::map<std::string_view, std::size_t> numbers;
    const auto number_of = [&](std::string_view choice) {
        const auto [known, is_new] = numbers.try_emplace(choice, choices.size());
        if (is_new) choices.push_back(choice);
        return known->second;
    };
    std::string entries;
    std::array<std::string, words_before_candidates> before;
    for (const TableEntry& entry : table.entries) {
        const std::array<std::string, words_before_candidates> words = {
            std::string(entry.call.name()), range_text(entry.nodes), range_text(entry.ranks_per_node),
            range_text(entry.bytes)};
        for (std::size_t i = 0; i < words.size(); ++i)
            entries += (i == 0 ? ';' : ' ') + (words[i] == before[i] ? "=" : words[i]);
        before = words;
        entries += ' ';
        for (const TableCandidate& each : entry.candidates)
            entries += std::to_string(number_of(each.choice)) + time_text(each.seconds);
    }
    std::string name = table.name;
    std::replace_if(
        name.begin(), name.end(), [](char letter) { return letter == ';' || letter == '\n'; }, '_');
    std::string text = fmt::format("{};{}", name, table.vendor ? name_of(*table.vendor) : std::string_view());
    for (const std::string_view choice : choices) text += fmt::format(";{}", choice);
    return text + ';' + entries;
}

std::optional<Table> parse_wire_text(std::string_view text) {
    const OwnArithmetic own;
    const std::vector<std::string_view> fields = split(text, ';');
    if (fields.size() < 3) return std::nullopt;
    Table table;
    table.name = fields[0];
    for (std::size_t i = 0; i < std::size(vendor_names); ++i)
        if (fields[1] == vendor_names[i]) table.vendor = static_cast<VendorKind>(i);
    std::size_t at = 2;
    std::vector<std::string_view> choices;
    for (; at < fields.size() && !fields[at].empty(); ++at) choices.push_back(fields[at]);
    std::vector<std::string_view> before(words_before_candidates);
    for (++at; at < fields.size(); ++at) {
        std::vector<std::string_view> words = split(fields[at], ' ');
        if (words.size() != words_before_candidates + 1 || words.back().empty()) return std::nullopt;
        std::string_view candidates = words.back();
        words.pop_back();
        for (std::size_t i = 0; i < words.size(); ++i)
            if (words[i] == "=") words[i] = before[i];
        before = words;
        TableEntry entry;
        const auto call = TableCall::of(words[0]);
        if (!call || !parse_range(words[1], entry.nodes) || !parse_range(words[2], entry.ranks_per_node) ||
            !parse_range(words[3], entry.bytes))
            return std::nullopt;
        entry.call = *call;
        if (!call->is_nonblocking) table.says_of[static_cast<std::size_t>(call->collective)] = true;
        while (!candidates.empty()) {
            const std::size_t digits = std::min(candidates.find_first_not_of("0123456789"), candidates.size());
            std::size_t number = 0;
            double seconds = 0;
            if (!parse_number(candidates.substr(0, digits), number) || number >= choices.size() ||
                !parse_time(candidates.substr(digits, letters_of_time), seconds))
                return std::nullopt;
            entry.candidates.push_back({std::string(choices[number]), seconds});
            candidates.remove_prefix(digits + letters_of_time);
        }
        table.entries.push_back(std::move(entry));
    }
    return table;
}

}  // namespace hcoll
