// SPDX-License-Identifier: BSD-3-Clause
#include "platform.hpp"

#include <smpi/smpi.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace hcoll::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr double any_speed = 1e9;  // computations are charged in seconds

struct Node {
    s4u::NetZone* zone;
    simgrid::kernel::routing::NetPoint* router;
    s4u::Host* host;
};

// A fat pipe gives each flow its whole rate, whatever the others do: what one pair of ranks gets at most.
s4u::Link* make_pair_limit(s4u::NetZone* zone, const std::string& name, double rate) {
    s4u::Link* link = zone->create_link(name, rate);
    link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE)->set_latency(0)->seal();
    return link;
}

Node make_node(const Machine& machine, s4u::NetZone* parent, unsigned long number) {
    const std::string name = fmt::format("node-{}", number);
    s4u::NetZone* zone = s4u::create_star_zone(name)->set_parent(parent);
    auto* router = zone->create_router(name + "-router");
    s4u::Host* host = zone->create_host(name + "-host", any_speed);
    auto* port = zone->create_split_duplex_link(name + "-port", machine.injection_rate);
    port->set_latency(machine.network_latency / 2);
    s4u::Link* memory = zone->create_link(name + "-memory", machine.memory_rate);
    memory->set_latency(machine.node_latency)->seal();
    const s4u::LinkInRoute copy(make_pair_limit(zone, name + "-copy", machine.node_rate));
    const s4u::LinkInRoute flow(make_pair_limit(zone, name + "-flow", machine.network_rate));
    host->seal();
    port->seal();
    using Direction = s4u::LinkInRoute::Direction;
    auto* place = host->get_netpoint();
    zone->add_route(place, nullptr, nullptr, nullptr, {flow, {port, Direction::UP}}, false);
    zone->add_route(nullptr, place, nullptr, nullptr, {{port, Direction::DOWN}}, false);
    zone->add_route(place, place, nullptr, nullptr, {copy, s4u::LinkInRoute(memory)}, true);
    zone->add_route(router, nullptr, nullptr, nullptr, {}, true);
    zone->seal();
    return {zone, router, host};
}

std::vector<s4u::Host*> make_crossbar(const Machine& machine, unsigned long nodes) {
    s4u::NetZone* root = s4u::create_star_zone("machine");
    std::vector<s4u::Host*> hosts;
    for (unsigned long number = 0; number < nodes; ++number) {
        const Node node = make_node(machine, root, number);
        root->add_route(node.zone->get_netpoint(), nullptr, node.router, nullptr, {}, true);
        hosts.push_back(node.host);
    }
    root->seal();
    return hosts;
}

// Jobs take a fabric's first nodes. Groups of a dragonfly beyond those are left out: no minimal route leads through them, and
// SimGrid takes half a minute for the links of sixteen.
Fabric used_part(Fabric fabric, unsigned long nodes) {
    if (fabric.kind != Fabric::Kind::dragonfly) return fabric;
    const unsigned long nodes_of_group = fabric.nodes() / fabric.shape[0];
    const unsigned long used = (nodes + nodes_of_group - 1) / nodes_of_group;
    fabric.shape[0] = static_cast<unsigned int>(std::clamp<unsigned long>(used, 2, fabric.shape[0]));
    return fabric;
}

// All nodes of the part exist.
std::vector<s4u::Host*> make_fabric(const Machine& machine, unsigned long nodes) {
    const Fabric fabric = used_part(machine.fabric, nodes);
    const std::vector<unsigned int>& shape = fabric.shape;
    std::vector<s4u::Host*> hosts(fabric.nodes(), nullptr);
    unsigned long number = 0;
    const s4u::ClusterCallbacks callbacks([&](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long) {
        const Node node = make_node(machine, zone, number);
        hosts[number++] = node.host;
        return std::make_pair(node.zone->get_netpoint(), node.router);
    });
    constexpr auto policy = s4u::Link::SharingPolicy::SPLITDUPLEX;
    s4u::NetZone* root = nullptr;
    if (fabric.kind == Fabric::Kind::torus) {
        root = s4u::create_torus_zone("machine", nullptr, {shape.begin(), shape.end()}, callbacks, fabric.link_rate,
                                      fabric.latency_per_hop, policy);
    } else if (fabric.kind == Fabric::Kind::dragonfly) {
        root = s4u::create_dragonfly_zone("machine", nullptr,
                                          {{shape[0], shape[1]}, {shape[2], shape[3]}, {shape[4], shape[5]}, shape[6]},
                                          callbacks, fabric.link_rate, fabric.latency_per_hop, policy);
    } else {
        std::vector<unsigned int> down;
        std::vector<unsigned int> up;
        std::vector<unsigned int> links;
        for (std::size_t level = 0; level < shape.size(); level += 3) {
            down.push_back(shape[level]);
            up.push_back(shape[level + 1]);
            links.push_back(shape[level + 2]);
        }
        root = s4u::create_fatTree_zone("machine", nullptr, {static_cast<unsigned int>(down.size()), down, up, links},
                                        callbacks, fabric.link_rate, fabric.latency_per_hop, policy);
    }
    root->seal();
    hosts.resize(nodes);
    return hosts;
}

}  // namespace

double message_overhead(const Machine& machine, std::uint64_t bytes, bool inside_node) {
    const double fixed = inside_node ? machine.node_overhead : machine.network_overhead;
    const std::uint64_t eager = inside_node ? machine.node_eager_bytes : machine.network_eager_bytes;
    return bytes < eager ? fixed + static_cast<double>(bytes) / machine.copy_rate : fixed;
}

std::uint64_t longest_eager(const Machine& machine) {
    return std::max(machine.network_eager_bytes, machine.node_eager_bytes);
}

std::vector<std::string> engine_arguments(const Machine& machine) {
    const std::string eager = std::to_string(longest_eager(machine));
    return {
        "--log=root.thres:warning",
        // Latency plus bytes over rate, flows sharing links evenly: no factors that were fitted to some other cluster,
        // no window of TCP, no acknowledgements that take bandwidth.
        "--cfg=network/model:CM02", "--cfg=network/weight-S:0", "--cfg=network/crosstraffic:0",
        "--cfg=network/TCP-gamma:1e12",
        // Nothing of what this machine computes is measured.
        "--cfg=smpi/simulate-computation:no", "--cfg=smpi/host-speed:1e9f", "--cfg=smpi/privatization:no",
        "--cfg=smpi/wtime:0", "--cfg=smpi/init:0", "--cfg=smpi/test:0", "--cfg=smpi/iprobe:0",
        // Shorter messages leave at once and wait at the receiver.
        "--cfg=smpi/send-is-detached-thresh:" + eager, "--cfg=smpi/async-small-thresh:" + eager,
        // Tens of thousands of ranks.
        "--cfg=contexts/stack-size:192", "--cfg=contexts/guard-size:0"};
}

std::vector<s4u::Host*> make_platform(const Machine& machine, unsigned long nodes) {
    std::vector<s4u::Host*> hosts =
        machine.fabric.kind == Fabric::Kind::crossbar ? make_crossbar(machine, nodes) : make_fabric(machine, nodes);
    return hosts;
}

}  // namespace hcoll::simulation
