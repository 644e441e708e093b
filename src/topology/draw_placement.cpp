#include "topology/draw_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
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

std::string cores_text(const Placement& placement, const RankList& ranks) {
    std::vector<int> cores;
    for (const int rank : ranks) cores.push_back(placement.core_of(rank));
    if (std::all_of(cores.begin(), cores.end(), [](int core) { return core < 0; })) return "on any core";
    return fmt::format("on {} {}", cores.size() == 1 ? "core" : "cores", numbers_text(cores));
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
        return fmt::format("1 node, {}, {}, {}", counted(placement.sockets_of_node(0), "socket"),
                           counted(placement.ranks(), "rank"), order);
    int fewest_sockets = placement.sockets_of_node(0);
    int most_sockets = fewest_sockets;
    for (int node = 1; node < nodes; ++node) {
        fewest_sockets = std::min(fewest_sockets, placement.sockets_of_node(node));
        most_sockets = std::max(most_sockets, placement.sockets_of_node(node));
    }
    return fmt::format("{}, {} each, {} per node, {}", counted(nodes, "node"),
                       counted(fewest_sockets, most_sockets, "socket"),
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
        for (int socket = 0; socket < placement.sockets_of_node(node); ++socket) {
            const RankList here = placement.ranks_of_socket(node, socket);
            text += fmt::format("  socket {}: {} {} {}\n", socket, here.size() == 1 ? "rank" : "ranks",
                                numbers_text(std::vector<int>(here.begin(), here.end())), cores_text(placement, here));
        }
    }
    return text + fmt::format("\n{}\n", placement_summary(placement));
}

}  // namespace hcoll
