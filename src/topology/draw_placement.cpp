// SPDX-License-Identifier: BSD-3-Clause
#include "topology/draw_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/check.hpp"

namespace hcoll {

namespace {

std::string counted(int count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string counted(int fewest, int most, std::string_view what) {
    return fewest == most ? counted(most, what) : fmt::format("{} to {} {}s", fewest, most, what);
}

// How many numbers from `begin` on lie at the same distance from one another.
std::size_t length_of_run(std::span<const int> numbers, std::size_t begin) {
    std::size_t end = std::min(begin + 2, numbers.size());
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == numbers[begin + 1] - numbers[begin]) ++end;
    return end - begin;
}

std::string cores_text(const Placement& placement, std::span<const int> ranks) {
    std::vector<int> cores;
    for (const int rank : ranks) cores.push_back(placement.core_of(rank));
    if (std::all_of(cores.begin(), cores.end(), [](int core) { return core < 0; })) return "on any core";
    return fmt::format("on {} {}", cores.size() == 1 ? "core" : "cores", numbers_text(cores));
}

std::string ranks_text(std::span<const int> ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", numbers_text(ranks));
}

// How many parts of one kind the nodes have.
struct Parts {
    using Count = int (Placement::*)(int) const;
    Parts(const Placement& placement, Count count_of) {
        for (int node = 0; node < placement.nodes(); ++node) {
            const int count = (placement.*count_of)(node);
            fewest = node == 0 ? count : std::min(fewest, count);
            most = std::max(most, count);
        }
    }
    friend bool operator==(const Parts&, const Parts&) = default;

    int fewest = 0;
    int most = 0;
};

// "2 sockets", or with what is not the same as they: "2 packages, 4 sockets, 8 caches".
std::string parts_text(const Placement& placement, std::string_view each) {
    const auto count_text = [&](const Parts& parts, std::string_view what) {
        return counted(parts.fewest, parts.most, what) + std::string(each);
    };
    const Parts packages(placement, &Placement::packages_of_node);
    const Parts sockets(placement, &Placement::sockets_of_node);
    const Parts caches(placement, &Placement::caches_of_node);
    std::string text = count_text(sockets, "socket");
    if (packages != sockets) text = count_text(packages, "package") + ", " + text;
    if (caches != sockets) text += ", " + count_text(caches, "cache");
    return text;
}

// A socket and, where they divide it, its caches.
std::string draw_socket(const Placement& placement, int node, int socket, std::string_view indentation) {
    std::map<int, std::vector<int>> ranks_of_cache;
    std::vector<int> all;
    for (const int rank : placement.ranks_of_socket(node, socket)) {
        ranks_of_cache[placement.cache_of(rank)].push_back(rank);
        all.push_back(rank);
    }
    if (ranks_of_cache.size() == 1)
        return fmt::format("{}socket {}: {} {}\n", indentation, socket, ranks_text(all), cores_text(placement, all));
    std::string text = fmt::format("{}socket {}: {}\n", indentation, socket, ranks_text(all));
    for (const auto& [cache, ranks] : ranks_of_cache)
        text +=
            fmt::format("{}  cache {}: {} {}\n", indentation, cache, ranks_text(ranks), cores_text(placement, ranks));
    return text;
}

std::string draw_node(const Placement& placement, int node) {
    std::string text;
    const int sockets = placement.sockets_of_node(node);
    if (placement.packages_of_node(node) == sockets) {
        for (int socket = 0; socket < sockets; ++socket) text += draw_socket(placement, node, socket, "  ");
        return text;
    }
    std::map<int, std::string> packages;
    for (int socket = 0; socket < sockets; ++socket)
        packages[placement.package_of(placement.ranks_of_socket(node, socket).front())] +=
            draw_socket(placement, node, socket, "    ");
    for (const auto& [package, drawn] : packages) text += fmt::format("  package {}:\n{}", package, drawn);
    return text;
}

}  // namespace

std::string numbers_text(std::span<const int> numbers) {
    constexpr std::size_t shortest_range = 3;
    constexpr std::size_t shortest_series = 5;
    std::string text;
    const auto add = [&](int number) {
        if (!text.empty()) text += ',';
        text += number < 0 ? "any" : std::to_string(number);
    };
    for (std::size_t begin = 0; begin < numbers.size();) {
        const std::size_t length = length_of_run(numbers, begin);
        const int first = numbers[begin];
        const int last = numbers[begin + length - 1];
        const int distance = length > 1 ? numbers[begin + 1] - first : 0;
        const bool is_known = first >= 0 && last >= 0;
        if (is_known && distance == 1 && length >= shortest_range) {
            add(first);
            text += fmt::format("-{}", last);
            begin += length;
        } else if (is_known && distance != 0 && length >= shortest_series) {
            add(first);
            text += fmt::format(",{},...,{}", numbers[begin + 1], last);
            begin += length;
        } else {
            add(first);
            ++begin;
        }
    }
    return text;
}

std::string placement_summary(const Placement& placement) {
    const int nodes = placement.nodes();
    const std::string_view order = placement.is_in_rank_order() ? "in rank order" : "not in rank order";
    if (nodes == 1)
        return fmt::format("1 node, {}, {}, {}", parts_text(placement, ""), counted(placement.ranks(), "rank"), order);
    return fmt::format("{}, {}, {} per node, {}", counted(nodes, "node"), parts_text(placement, " each"),
                       counted(placement.fewest_ranks_of_a_node(), placement.most_ranks_of_a_node(), "rank"), order);
}

std::string draw_placement(const Placement& placement, std::span<const std::string> hosts) {
    check(hosts.empty() || static_cast<int>(hosts.size()) == placement.ranks(), "a host for each rank, or none");
    std::string text;
    for (int node = 0; node < placement.nodes(); ++node) {
        const RankList ranks = placement.ranks_of_node(node);
        text += fmt::format("node {}", node);
        if (!hosts.empty()) text += fmt::format(" (host {})", hosts[static_cast<std::size_t>(ranks.front())]);
        text += fmt::format(": {}\n", counted(static_cast<int>(ranks.size()), "rank"));
        text += draw_node(placement, node);
    }
    return text + fmt::format("\n{}\n", placement_summary(placement));
}

}  // namespace hcoll
