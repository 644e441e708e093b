// SPDX-License-Identifier: BSD-3-Clause
#include "machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace hcoll::simulation {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 4> fabric_names = {"crossbar", "fat_tree", "dragonfly", "torus"};

constexpr std::uint64_t most_ranks_of_a_node = 1024;
constexpr unsigned long most_nodes = 1'000'000;
constexpr unsigned long most_links = 1'000;  // of a node, a router or a level, in each direction
constexpr double largest_figure = 1e9;

// The value at a path such as "network.fabric.kind".
const Json& member(const Json& machine, std::string_view path) {
    const Json* found = &machine;
    for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find('.', begin), path.size());
        const std::string name(path.substr(begin, end - begin));
        if (!found->is_object() || !found->contains(name))
            throw std::runtime_error(fmt::format("'{}' is missing", path.substr(0, end)));
        found = &(*found)[name];
        begin = end + 1;
    }
    return *found;
}

// A figure is {"value": number, "source": where it is from}.
double figure(const Json& machine, const std::string& path, double largest = largest_figure) {
    const Json& entry = member(machine, path);
    if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number())
        throw std::runtime_error(fmt::format("'{}' has no number as its value", path));
    if (!entry.contains("source") || !entry["source"].is_string() || entry["source"].get<std::string>().empty())
        throw std::runtime_error(fmt::format("'{}' does not say where its value is from", path));
    const auto value = entry["value"].get<double>();
    if (value < 0) throw std::runtime_error(fmt::format("'{}' is negative", path));
    if (value > largest) throw std::runtime_error(fmt::format("'{}' is above {}", path, largest));
    return value;
}

double positive_figure(const Json& machine, const std::string& path) {
    const double value = figure(machine, path);
    if (value <= 0) throw std::runtime_error(fmt::format("'{}' is not above 0", path));
    return value;
}

std::uint64_t whole_figure(const Json& machine, const std::string& path, std::uint64_t minimum, std::uint64_t maximum) {
    const double value = figure(machine, path, std::numeric_limits<double>::max());
    if (value < static_cast<double>(minimum) || value > static_cast<double>(maximum) || value != std::floor(value))
        throw std::runtime_error(fmt::format("'{}' is no whole number from {} to {}", path, minimum, maximum));
    return static_cast<std::uint64_t>(value);
}

Fabric read_fabric(const Json& machine) {
    Fabric fabric;
    const auto kind = member(machine, "network.fabric.kind").get<std::string>();
    std::size_t index = 0;
    while (index < fabric_names.size() && kind != fabric_names[index]) ++index;
    if (index == fabric_names.size())
        throw std::runtime_error(
            fmt::format("'{}' is no kind of fabric; kinds are {}", kind, fmt::join(fabric_names, ", ")));
    fabric.kind = static_cast<Fabric::Kind>(index);
    if (fabric.kind == Fabric::Kind::crossbar) return fabric;
    const Json& shape = member(machine, "network.fabric.shape");
    if (!shape.is_array()) throw std::runtime_error("'network.fabric.shape' is no list of numbers");
    for (const Json& number : shape) {
        if (!number.is_number_unsigned() || number == 0 || number > most_nodes)
            throw std::runtime_error(
                fmt::format("'network.fabric.shape' has numbers other than whole ones from 1 to {}", most_nodes));
        fabric.shape.push_back(number.get<unsigned int>());
    }
    const std::size_t length = fabric.shape.size();
    const bool fits = fabric.kind == Fabric::Kind::torus       ? length >= 1
                      : fabric.kind == Fabric::Kind::dragonfly ? length == 7
                                                               : length >= 3 && length % 3 == 0;
    if (!fits) throw std::runtime_error(fmt::format("the shape of a {} has {} numbers", kind, length));
    unsigned long nodes = 1;
    std::vector<bool> is_of_links(length, true);
    for (const std::size_t place : fabric.places_of_nodes()) {
        is_of_links[place] = false;
        if ((nodes *= fabric.shape[place]) > most_nodes)
            throw std::runtime_error(fmt::format("the fabric has room for more than {} nodes", most_nodes));
    }
    for (std::size_t place = 0; place < length; ++place)
        if (is_of_links[place] && fabric.shape[place] > most_links)
            throw std::runtime_error(fmt::format("the fabric has more than {} links in one place", most_links));
    fabric.link_rate = positive_figure(machine, "network.fabric.link_rate_gb_per_s") * 1e9;
    fabric.latency_per_hop = figure(machine, "network.fabric.latency_per_hop_us") * 1e-6;
    return fabric;
}

constexpr std::uint64_t most_eager_bytes = 1 << 30;
// SimGrid's own collectives, with which the library is set up, send messages that nobody asks for yet.
constexpr std::uint64_t shortest_limit = 1024;

Machine machine_of(const Json& object) {
    constexpr double micro = 1e-6;
    constexpr double giga = 1e9;
    Machine machine;
    machine.name = member(object, "name").get<std::string>();
    machine.ranks_per_node = static_cast<int>(whole_figure(object, "ranks_per_node", 1, most_ranks_of_a_node));
    machine.sockets_per_node = static_cast<int>(whole_figure(object, "sockets_per_node", 1, most_ranks_of_a_node));
    if (machine.ranks_per_node % machine.sockets_per_node != 0)
        throw std::runtime_error("the ranks of a node cannot be shared among its sockets");
    machine.network_latency = figure(object, "network.latency_us") * micro;
    machine.network_rate = positive_figure(object, "network.pair_rate_gb_per_s") * giga;
    machine.injection_rate = positive_figure(object, "network.node_rate_gb_per_s") * giga;
    machine.network_overhead = figure(object, "network.overhead_us") * micro;
    machine.network_eager_bytes = whole_figure(object, "network.eager_bytes", 0, most_eager_bytes);
    machine.fabric = read_fabric(object);
    machine.node_latency = figure(object, "node.latency_us") * micro;
    machine.node_rate = positive_figure(object, "node.pair_rate_gb_per_s") * giga;
    machine.memory_rate = positive_figure(object, "node.memory_rate_gb_per_s") * giga;
    machine.node_overhead = figure(object, "node.overhead_us") * micro;
    machine.node_eager_bytes = whole_figure(object, "node.eager_bytes", 0, most_eager_bytes);
    if (std::max(machine.network_eager_bytes, machine.node_eager_bytes) < shortest_limit)
        throw std::runtime_error(
            fmt::format("'network.eager_bytes' and 'node.eager_bytes' are both below {}", shortest_limit));
    machine.copy_rate = positive_figure(object, "rank.copy_rate_gb_per_s") * giga;
    machine.reduce_rate = positive_figure(object, "rank.reduce_rate_gb_per_s") * giga;
    return machine;
}

}  // namespace

std::vector<std::size_t> Fabric::places_of_nodes() const {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < shape.size(); ++place)
        if (kind == Kind::torus || (kind == Kind::dragonfly && place % 2 == 0) ||
            (kind == Kind::fat_tree && place % 3 == 0))
            places.push_back(place);
    return places;
}

unsigned long Fabric::nodes() const {
    if (kind == Kind::crossbar) return std::numeric_limits<unsigned long>::max();
    unsigned long nodes = 1;
    for (const std::size_t place : places_of_nodes()) nodes *= shape[place];
    return nodes;
}

Machine parse_machine(std::string_view text) { return machine_of(Json::parse(text)); }

Machine read_machine(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error(fmt::format("the machine file {} cannot be read", file));
    try {
        return parse_machine(std::string(std::istreambuf_iterator<char>(stream), {}));
    } catch (const std::exception& problem) {
        throw std::runtime_error(fmt::format("the machine file {} is not valid: {}", file, problem.what()));
    }
}

}  // namespace hcoll::simulation
