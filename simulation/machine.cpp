#include "machine.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace hcoll::simulation {

namespace {

using Json = nlohmann::json;

constexpr std::array<const char*, 4> fabric_names = {"crossbar", "fat_tree", "dragonfly", "torus"};

const Json& member(const Json& object, const std::string& name) {
    const auto found = object.find(name);
    if (found == object.end()) throw std::runtime_error(fmt::format("'{}' is missing", name));
    return *found;
}

// A figure is {"value": number, "source": where it is from}.
double figure(const Json& object, const std::string& name) {
    const Json& entry = member(object, name);
    if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number())
        throw std::runtime_error(fmt::format("'{}' has no number as its value", name));
    if (!entry.contains("source") || !entry["source"].is_string() || entry["source"].get<std::string>().empty())
        throw std::runtime_error(fmt::format("'{}' does not say where its value is from", name));
    const auto value = entry["value"].get<double>();
    if (value < 0) throw std::runtime_error(fmt::format("'{}' is negative", name));
    return value;
}

double positive_figure(const Json& object, const std::string& name) {
    const double value = figure(object, name);
    if (value <= 0) throw std::runtime_error(fmt::format("'{}' is not above 0", name));
    return value;
}

Fabric read_fabric(const Json& object) {
    Fabric fabric;
    const auto kind = member(object, "kind").get<std::string>();
    std::size_t index = 0;
    while (index < fabric_names.size() && kind != fabric_names[index]) ++index;
    if (index == fabric_names.size())
        throw std::runtime_error(
            fmt::format("'{}' is no kind of fabric; kinds are {}", kind, fmt::join(fabric_names, ", ")));
    fabric.kind = static_cast<Fabric::Kind>(index);
    if (fabric.kind == Fabric::Kind::crossbar) return fabric;
    fabric.shape = member(object, "shape").get<std::vector<unsigned int>>();
    const std::size_t length = fabric.shape.size();
    const bool fits = fabric.kind == Fabric::Kind::torus       ? length >= 1
                      : fabric.kind == Fabric::Kind::dragonfly ? length == 7
                                                               : length >= 3 && length % 3 == 0;
    if (!fits) throw std::runtime_error(fmt::format("the shape of a {} has {} numbers", kind, length));
    for (const unsigned int number : fabric.shape)
        if (number == 0) throw std::runtime_error("a number of the fabric's shape is 0");
    fabric.link_rate = positive_figure(object, "link_rate_gb_per_s") * 1e9;
    fabric.latency_per_hop = figure(object, "latency_per_hop_us") * 1e-6;
    return fabric;
}

Machine machine_of(const Json& object) {
    constexpr double micro = 1e-6;
    constexpr double giga = 1e9;
    Machine machine;
    machine.name = member(object, "name").get<std::string>();
    machine.ranks_per_node = static_cast<int>(positive_figure(object, "ranks_per_node"));
    machine.sockets_per_node = static_cast<int>(positive_figure(object, "sockets_per_node"));
    if (machine.ranks_per_node % machine.sockets_per_node != 0)
        throw std::runtime_error("the ranks of a node cannot be shared among its sockets");
    const Json& network = member(object, "network");
    machine.network_latency = figure(network, "latency_us") * micro;
    machine.network_rate = positive_figure(network, "pair_rate_gb_per_s") * giga;
    machine.injection_rate = positive_figure(network, "node_rate_gb_per_s") * giga;
    machine.network_overhead = figure(network, "overhead_us") * micro;
    machine.network_eager_bytes = static_cast<std::uint64_t>(figure(network, "eager_bytes"));
    machine.fabric = read_fabric(member(network, "fabric"));
    const Json& node = member(object, "node");
    machine.node_latency = figure(node, "latency_us") * micro;
    machine.node_rate = positive_figure(node, "pair_rate_gb_per_s") * giga;
    machine.memory_rate = positive_figure(node, "memory_rate_gb_per_s") * giga;
    machine.node_overhead = figure(node, "overhead_us") * micro;
    machine.node_eager_bytes = static_cast<std::uint64_t>(figure(node, "eager_bytes"));
    const Json& rank = member(object, "rank");
    machine.copy_rate = positive_figure(rank, "copy_rate_gb_per_s") * giga;
    machine.reduce_rate = positive_figure(rank, "reduce_rate_gb_per_s") * giga;
    return machine;
}

}  // namespace

unsigned long Fabric::nodes() const {
    unsigned long nodes = 1;
    switch (kind) {
        case Kind::crossbar: return std::numeric_limits<unsigned long>::max();
        case Kind::torus:
            for (const unsigned int length : shape) nodes *= length;
            return nodes;
        case Kind::dragonfly: return static_cast<unsigned long>(shape[0]) * shape[2] * shape[4] * shape[6];
        case Kind::fat_tree:
            for (std::size_t level = 0; level < shape.size() / 3; ++level) nodes *= shape[3 * level];
            return nodes;
    }
    return nodes;
}

Machine read_machine(const std::string& file) {
    std::ifstream stream(file);
    if (!stream) throw std::runtime_error(fmt::format("the machine file {} cannot be read", file));
    try {
        return machine_of(Json::parse(stream));
    } catch (const std::exception& problem) {
        throw std::runtime_error(fmt::format("the machine file {} is not valid: {}", file, problem.what()));
    }
}

}  // namespace hcoll::simulation
