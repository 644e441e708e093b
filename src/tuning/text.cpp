// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/letters.hpp"

namespace hcoll {

std::optional<double> parse_real(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    std::string unit = to_lower(text.substr(static_cast<std::size_t>(end - text.data())));
    if (!unit.empty() && unit.back() == 'b') unit.pop_back();
    if (unit.size() > 1) return std::nullopt;
    unsigned shift = 0;
    if (!unit.empty()) {
        const std::size_t power = std::string_view("kmg").find(unit[0]);
        if (power == std::string_view::npos) return std::nullopt;
        shift = 10 * (static_cast<unsigned>(power) + 1);
    }
    if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) return std::nullopt;
    return value << shift;
}

std::string size_text(std::uint64_t bytes) {
    for (const auto& [unit, shift] : {std::pair{'G', 30U}, std::pair{'M', 20U}, std::pair{'k', 10U}})
        if (bytes != 0 && bytes % (std::uint64_t{1} << shift) == 0) return fmt::format("{}{}", bytes >> shift, unit);
    return std::to_string(bytes);
}

namespace {

constexpr std::pair<std::string_view, std::int64_t> units_of_time[] = {
    {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return std::nullopt;
    std::string unit = to_lower(text.substr(static_cast<std::size_t>(end - text.data())));
    if (unit.empty()) unit = "s";
    for (const auto& [name, milliseconds] : units_of_time)
        if (unit == name && value <= std::numeric_limits<std::int64_t>::max() / milliseconds)
            return std::chrono::milliseconds(value * milliseconds);
    return std::nullopt;
}

std::string duration_text(std::chrono::milliseconds duration) {
    for (const auto& [name, milliseconds] : units_of_time)
        if (duration.count() != 0 && duration.count() % milliseconds == 0)
            return fmt::format("{}{}", duration.count() / milliseconds, name);
    return "0s";
}

std::optional<bool> parse_switch(std::string_view text) {
    const std::string word = to_lower(text);
    for (const std::string_view yes : {"1", "yes", "on", "true"})
        if (word == yes) return true;
    for (const std::string_view no : {"0", "no", "off", "false"})
        if (word == no) return false;
    return std::nullopt;
}

namespace {

// Levenshtein's distance.
std::size_t letters_to_change(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
    std::string_view best;
    std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
        if (longer - shorter >= fewest) continue;
        const std::size_t distance = letters_to_change(to_lower(word), to_lower(candidate));
        if (distance < fewest) {
            fewest = distance;
            best = candidate;
        }
    }
    return best;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::string alternatives(std::span<const std::string_view> words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
    return text;
}

}  // namespace hcoll
