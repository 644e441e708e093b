// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/machine_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace hcoll {

namespace {

constexpr std::uint64_t short_message = 8;
constexpr std::uint64_t long_message = 1 << 20;
constexpr std::uint64_t shorter_message = long_message / 4;
constexpr int burst = 17;
constexpr std::size_t most_at_once = 8;
static_assert(most_at_once * shorter_message <= bytes_to_fit_machine && long_message <= bytes_to_fit_machine);

// Two ranks that such a link lies between.
std::optional<RankPair> find_pair(const Placement& placement, Link link) {
    for (int node = 0; node < std::min(placement.nodes(), 2); ++node)
        for (const int rank : placement.ranks_of_node(node))
            if (rank != 0 && placement.link(0, rank) == link) return RankPair{0, rank};
    return std::nullopt;
}

// Each rank of a node with one of the next node, or with its neighbor on its own.
std::vector<RankPair> pairs_of_nodes(const Placement& placement) {
    std::vector<RankPair> pairs;
    const RankList here = placement.ranks_of_node(0);
    const RankList there = placement.ranks_of_node(1);
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i) pairs.push_back({here[i], there[i]});
    return pairs;
}

std::vector<RankPair> pairs_inside(const Placement& placement) {
    std::vector<RankPair> pairs;
    const RankList here = placement.ranks_of_node(0);
    for (std::size_t i = 0; i + 1 < here.size(); i += 2) pairs.push_back({here[i], here[i + 1]});
    return pairs;
}

// A rank with others of its node.
std::vector<RankPair> fan_inside(const Placement& placement) {
    std::vector<RankPair> pairs;
    const RankList here = placement.ranks_of_node(0);
    for (std::size_t i = 1; i < std::min(here.size(), most_at_once + 1); ++i) pairs.push_back({here[0], here[i]});
    return pairs;
}

// The fewest bytes that wait for the receiver.
std::uint64_t eager_limit(Laboratory& laboratory, RankPair pair) {
    constexpr std::uint64_t first = 256;
    std::uint64_t bytes = first;
    while (bytes <= long_message && laboratory.is_sent_at_once(pair, bytes)) bytes *= 2;
    return bytes == first ? 0 : bytes;
}

LinkCost fit_link(Laboratory& laboratory, RankPair pair, std::uint64_t eager_below) {
    const std::array<RankPair, 1> pairs = {pair};
    const auto one_way = [&](std::uint64_t bytes) { return laboratory.exchange(pairs, bytes, 1, 0) / 2; };
    const double shortest = one_way(short_message);
    // What one more message adds: while nothing else keeps the sender from it, and where the one before has long gone.
    const auto of_one_more = [&](double pause) {
        return (laboratory.exchange(pairs, short_message, burst, pause) - 2 * shortest) / (burst - 1);
    };
    const double of_burst = of_one_more(0);
    const double posted = of_one_more(2 * shortest);
    LinkCost cost;
    cost.seconds_per_byte =
        std::max(one_way(long_message) - one_way(shorter_message), 0.0) / (long_message - shorter_message);
    // Both sides' overhead is in a message's time, and the wire is not free. What a burst adds beyond it keeps the port, not the CPU.
    constexpr double clearly = 1.25;
    cost.overhead = std::clamp(posted, 0.0, shortest / 3);
    cost.gap = of_burst > clearly * cost.overhead
                   ? std::max(of_burst - static_cast<double>(short_message) * cost.seconds_per_byte, 0.0)
                   : 0;
    cost.latency = shortest - 2 * cost.overhead;
    if (eager_below > short_message) {
        const std::uint64_t longest = eager_below / 2;
        const auto bytes = static_cast<double>(longest);
        cost.eager_below_bytes = eager_below;
        cost.copied_below_bytes = eager_below;
        cost.copy_seconds_per_byte =
            std::max(one_way(longest) - shortest - bytes * cost.seconds_per_byte, 0.0) / 2 / bytes;
    }
    return cost;
}

// Bytes per second of all pairs together; infinite where they do not hinder each other.
double fit_rate(Laboratory& laboratory, std::span<const RankPair> pairs, const LinkCost& cost) {
    constexpr double free = 0.8;
    if (pairs.size() < 2) return std::numeric_limits<double>::infinity();
    const double seconds = laboratory.exchange(pairs, long_message, 1, 0) / 2 - cost.latency - 2 * cost.overhead;
    const double rate = static_cast<double>(pairs.size() * long_message) / seconds;
    const double alone = static_cast<double>(pairs.size()) / cost.seconds_per_byte;
    return seconds > 0 && rate < free * alone ? rate : std::numeric_limits<double>::infinity();
}

// How many messages of one rank to others of its node move as fast as one: any number, where the receivers fetch them; one, where it copies
// them.
int fit_at_once(Laboratory& laboratory, std::span<const RankPair> fan, const LinkCost& cost) {
    if (fan.size() < 2) return 1;
    const auto transfer = [&](std::span<const RankPair> pairs) {
        return laboratory.exchange(pairs, shorter_message, 1, 0) / 2 - cost.latency - 2 * cost.overhead;
    };
    const double one = transfer(fan.first(1));
    const double all = transfer(fan);
    if (one <= 0 || all <= 0) return 1;
    constexpr double nearly = 0.25;
    const auto at_once = static_cast<std::size_t>(one / all * static_cast<double>(fan.size()) + nearly);
    return at_once >= fan.size() ? any_number : std::max(static_cast<int>(at_once), 1);
}

}  // namespace

MachineModel fit_machine(Laboratory& laboratory) {
    const Placement& placement = laboratory.placement();
    MachineModel machine;
    std::array<bool, link_count> is_known{};
    for (const Link link : every_link) {
        const auto pair = find_pair(placement, link);
        if (!pair) continue;
        machine[link] = fit_link(laboratory, *pair, eager_limit(laboratory, *pair));
        is_known[static_cast<std::size_t>(link)] = true;
    }
    for (std::size_t i = link_count; i-- > 0;)
        if (!is_known[i] && i + 1 < link_count && is_known[i + 1]) {
            machine.links[i] = machine.links[i + 1];
            is_known[i] = true;
        }
    for (std::size_t i = 1; i < link_count; ++i)
        if (!is_known[i]) machine.links[i] = machine.links[i - 1];
    if (placement.nodes() > 1)
        machine.injection_rate = fit_rate(laboratory, pairs_of_nodes(placement), machine[Link::network]);
    machine.memory_rate = fit_rate(laboratory, pairs_inside(placement), machine[Link::socket]);
    const int at_once = fit_at_once(laboratory, fan_inside(placement), machine[Link::socket]);
    for (const Link link : every_link)
        if (link != Link::network) machine[link].at_once = at_once;
    machine.copy_seconds_per_byte = laboratory.copy(shorter_message) / static_cast<double>(shorter_message);
    machine.reduce_seconds_per_byte = laboratory.reduce(shorter_message) / static_cast<double>(shorter_message);
    return machine;
}

}  // namespace hcoll
