// SPDX-License-Identifier: BSD-3-Clause
#include "topology/virtual_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>

#include "base/letters.hpp"

namespace hcoll {

namespace {

using Problem = std::optional<std::string>;

constexpr std::string_view forms =
    "a layout is nodes x sockets x cores (4x2x4, or 4x8 for one socket each) or nodes x sockets x NUMA nodes x "
    "caches x cores (4x2x4x2x8), with :cyclic or :reverse behind it, or a seat node.socket.core or "
    "node.socket.numa.cache.core for each rank (0.0.0,0.1.4,1.0.0), or a file (./name) with a line for each rank";
constexpr std::string_view blanks = " \t\r\v\f";

std::optional<int> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > VirtualLayout::bound) return std::nullopt;
    return static_cast<int>(value);
}

std::string no_number(std::string_view text) {
    return fmt::format("'{}' is no number from 0 to {}", text, VirtualLayout::bound);
}

// Reads node, socket and core, the last ones of which may be missing, from its fields; or node, socket, NUMA node, cache and core.
Problem parse_seat(std::span<const std::string_view> fields, Seat& seat) {
    std::array<int, 5> numbers = {0, -1, -1, -1, -1};
    if (fields.size() > numbers.size()) return fmt::format("'{}' is one number too many", fields[numbers.size()]);
    if (fields.size() == 4) return "four numbers may be read in several ways; there are three, or five";
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto number = parse_number(fields[i]);
        if (!number) return no_number(fields[i]);
        numbers[i] = *number;
    }
    if (fields.size() == numbers.size())
        seat = {
            .node = numbers[0], .socket = numbers[2], .core = numbers[4], .package = numbers[1], .cache = numbers[3]};
    else
        seat = {.node = numbers[0], .socket = numbers[1], .core = numbers[2]};
    return std::nullopt;
}

std::vector<std::string_view> fields_between(std::string_view text, char separator) {
    std::vector<std::string_view> fields;
    for (;;) {
        const std::size_t end = text.find(separator);
        fields.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return fields;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;
         begin = line.find_first_not_of(blanks, begin)) {
        const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

}  // namespace

Problem VirtualLayout::parse(std::string_view text, VirtualLayout& layout) {
    if (text.find('/') != std::string_view::npos) return parse_file(std::string(text), layout);
    const std::string lower = to_lower(text);
    if (lower == "auto") {
        layout = VirtualLayout();
        return std::nullopt;
    }
    if (lower.find('x') != std::string::npos) return parse_grid(lower, layout);
    if (lower.find_first_of(",.") != std::string::npos) return parse_list(lower, layout);
    return fmt::format("'{}' is no layout; {}", text, forms);
}

Problem VirtualLayout::parse_grid(std::string_view text, VirtualLayout& layout) {
    const std::size_t colon = text.find(':');
    VirtualLayout parsed;
    parsed.kind_ = Kind::block;
    if (colon != std::string_view::npos) {
        const std::string_view order = text.substr(colon + 1);
        if (order != "cyclic" && order != "reverse")
            return fmt::format("'{}' is no order of ranks; write {}:cyclic or {}:reverse", order, text.substr(0, colon),
                               text.substr(0, colon));
        parsed.kind_ = order == "cyclic" ? Kind::cyclic : Kind::reverse;
    }
    const std::vector<std::string_view> fields = fields_between(text.substr(0, colon), 'x');
    // Which level each number is of, by how many there are.
    static constexpr std::array<int Grid::*, 5> every_level = {&Grid::nodes, &Grid::sockets, &Grid::numas,
                                                               &Grid::caches, &Grid::cores};
    static constexpr std::array<int Grid::*, 3> with_sockets = {&Grid::nodes, &Grid::sockets, &Grid::cores};
    static constexpr std::array<int Grid::*, 2> with_cores = {&Grid::nodes, &Grid::cores};
    std::span<int Grid::*const> levels = every_level;
    if (fields.size() > every_level.size()) return fmt::format("'{}' has more than five numbers; {}", text, forms);
    if (fields.size() == 4)
        return fmt::format("'{}' has four numbers, which may be read in several ways; {}", text, forms);
    if (fields.size() == 3) levels = with_sockets;
    if (fields.size() == 2) levels = with_cores;
    std::uint64_t places = 1;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto count = parse_number(fields[i]);
        if (!count || *count == 0)
            return fmt::format("'{}' in '{}' is no number from 1 to {}; {}", fields[i], text, bound, forms);
        parsed.grid_.*levels[i] = *count;
        places *= static_cast<std::uint64_t>(*count);
        if (places > bound) return fmt::format("'{}' has more places than {}, the most that there may be", text, bound);
    }
    layout = parsed;
    return std::nullopt;
}

// A comma at the end tells the list of one node number from a number alone.
Problem VirtualLayout::parse_list(std::string_view text, VirtualLayout& layout) {
    VirtualLayout parsed;
    parsed.kind_ = Kind::list;
    std::string_view items = text;
    if (items.ends_with(',')) items.remove_suffix(1);
    for (const std::string_view item : fields_between(items, ',')) {
        const std::vector<std::string_view> fields = fields_between(item, '.');
        Seat seat;
        if (const Problem problem = parse_seat(fields, seat))
            return fmt::format("the seat '{}' of rank {} is not valid: {}; {}", item, parsed.list_.size(), *problem,
                               forms);
        if (parsed.list_.size() == bound) return fmt::format("there are more than {} seats", bound);
        parsed.list_.push_back(seat);
    }
    layout = std::move(parsed);
    return std::nullopt;
}

Problem VirtualLayout::parse_file(const std::string& name, VirtualLayout& layout) {
    constexpr std::string_view form =
        "a line `node [socket [core]]` or `node socket numa cache core` for each rank, rank 0 first";
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(name, error);
    std::ifstream file(name);
    // Anything else, such as a device, might never end.
    if (!is_file || !file) return fmt::format("the file {} cannot be read; a layout file has {}", name, form);

    VirtualLayout parsed;
    parsed.kind_ = Kind::list;
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        const std::vector<std::string_view> words = words_of(std::string_view(line).substr(0, line.find('#')));
        if (words.empty()) continue;
        Seat seat;
        if (const Problem problem = parse_seat(words, seat))
            return fmt::format("line {} of the file {} is not valid: {}; a layout file has {}", number, name, *problem,
                               form);
        if (parsed.list_.size() == bound)
            return fmt::format("line {} of the file {} is not valid: it is the seat of more than {} ranks", number,
                               name, bound);
        parsed.list_.push_back(seat);
    }
    if (file.bad()) return fmt::format("the file {} cannot be read to its end; a layout file has {}", name, form);
    if (parsed.list_.empty())
        return fmt::format("the file {} has a seat for no rank; a layout file has {}", name, form);
    layout = std::move(parsed);
    return std::nullopt;
}

std::string VirtualLayout::text() const {
    if (kind_ == Kind::automatic) return "auto";
    if (kind_ != Kind::list) {
        const std::string parts =
            grid_.numas * grid_.caches == 1 ? "" : fmt::format("{}x{}x", grid_.numas, grid_.caches);
        return fmt::format("{}x{}x{}{}{}", grid_.nodes, grid_.sockets, parts, grid_.cores,
                           kind_ == Kind::cyclic    ? ":cyclic"
                           : kind_ == Kind::reverse ? ":reverse"
                                                    : "");
    }
    std::string text;
    for (const Seat& seat : list_) {
        fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", seat.node);
        if (seat.package >= 0) {
            fmt::format_to(std::back_inserter(text), ".{}.{}.{}.{}", seat.package, seat.socket, seat.cache, seat.core);
            continue;
        }
        if (seat.socket >= 0) fmt::format_to(std::back_inserter(text), ".{}", seat.socket);
        if (seat.core >= 0) fmt::format_to(std::back_inserter(text), ".{}", seat.core);
    }
    if (text.find_first_of(",.") == std::string::npos) text += ',';
    return text;
}

int VirtualLayout::places() const {
    return kind_ == Kind::list ? static_cast<int>(list_.size()) : grid_.nodes * grid_.places_of_node();
}

Seat VirtualLayout::place(int index) const {
    const int on_node = index % grid_.places_of_node();
    const int cache = on_node / grid_.cores;
    const int socket = cache / grid_.caches;
    Seat seat{.node = index / grid_.places_of_node(), .socket = socket, .core = on_node};
    if (grid_.numas > 1) seat.package = socket / grid_.numas;
    if (grid_.caches > 1) seat.cache = cache;
    return seat;
}

Problem VirtualLayout::seats(int ranks, std::vector<Seat>& seats) const {
    assert(!is_automatic() && "there is no layout");
    if (ranks > places())
        return fmt::format("the layout has {} {} for {} ranks", places(), places() == 1 ? "place" : "places", ranks);
    seats.clear();
    for (int rank = 0; rank < ranks; ++rank) switch (kind_) {
            case Kind::list: seats.push_back(list_[static_cast<std::size_t>(rank)]); break;
            case Kind::cyclic:
                seats.push_back(place(rank % grid_.nodes * grid_.places_of_node() + rank / grid_.nodes));
                break;
            case Kind::reverse: seats.push_back(place(ranks - 1 - rank)); break;
            case Kind::block:
            case Kind::automatic: seats.push_back(place(rank)); break;
        }
    return std::nullopt;
}

}  // namespace hcoll
