// SPDX-License-Identifier: BSD-3-Clause
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace hcoll::bench {

namespace {

std::size_t read_size(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    int shift = 0;
    if (suffix == "k" || suffix == "K") shift = 10;
    if (suffix == "m" || suffix == "M") shift = 20;
    if (suffix == "g" || suffix == "G") shift = 30;
    if (error == std::errc::invalid_argument || (!suffix.empty() && shift == 0)) {
        throw std::invalid_argument(fmt::format("'{}' is not a size; write for example 8, 1k, 16M or 1G", text));
    }
    if (error != std::errc{} || value > (largest_size >> shift)) {
        throw std::invalid_argument(fmt::format("'{}' is too large; sizes end at {} bytes", text, largest_size));
    }
    if (value == 0) throw std::invalid_argument("a size is at least one byte");
    return static_cast<std::size_t>(value << shift);
}

void add_range(const std::vector<std::string>& parts, std::vector<std::size_t>& sizes) {
    const std::size_t first = read_size(parts[0]);
    const std::size_t last = read_size(parts[1]);
    const std::size_t factor = parts.size() == 3 ? read_size(parts[2]) : 2;
    if (factor < 2) throw std::invalid_argument("the factor of a range is at least 2");
    if (first > last) throw std::invalid_argument(fmt::format("the range {}:{} is empty", parts[0], parts[1]));
    std::size_t size = first;
    while (true) {
        sizes.push_back(size);
        if (size > last / factor) return;
        size *= factor;
    }
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::size_t> read_sizes(std::string_view text) {
    std::vector<std::size_t> sizes;
    for (const std::string& item : split(text, ',')) {
        const std::vector<std::string> parts = split(item, ':');
        if (parts.size() > 3) {
            throw std::invalid_argument(
                fmt::format("'{}' is not a range; write first:last or first:last:factor", item));
        }
        if (parts.size() == 1) {
            sizes.push_back(read_size(item));
        } else {
            add_range(parts, sizes);
        }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

double read_duration(std::string_view text) {
    const std::string copy{text};
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    const std::string_view unit{end};
    double scale = 0;
    if (unit == "s") scale = 1;
    if (unit == "ms" || unit.empty()) scale = 1e-3;
    if (unit == "us") scale = 1e-6;
    const double seconds = value * scale;
    // Written so that a NaN fails as well.
    if (end == copy.c_str() || scale == 0 || !(seconds > 0 && seconds <= 60)) {
        throw std::invalid_argument(
            fmt::format("'{}' is not a time above 0 and up to 60 s; write for example 2ms or 500us", text));
    }
    return seconds;
}

std::string size_text(std::size_t bytes) {
    constexpr std::size_t kilo = 1024;
    if (bytes % (kilo * kilo * kilo) == 0) return fmt::format("{}G", bytes / (kilo * kilo * kilo));
    if (bytes % (kilo * kilo) == 0) return fmt::format("{}M", bytes / (kilo * kilo));
    if (bytes % kilo == 0) return fmt::format("{}k", bytes / kilo);
    return fmt::format("{}", bytes);
}

}  // namespace hcoll::bench
