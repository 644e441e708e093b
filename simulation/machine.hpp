// SPDX-License-Identifier: BSD-3-Clause
// A machine to simulate: figures from a file of simulation/machines, which says where each of them is from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hcoll::simulation {

// How nodes are connected. Whatever the kind, each node has one full-duplex port of `injection_rate`.
struct Fabric {
    // crossbar: nothing but the ports limits; fat_tree: down, up, links of each level, from the nodes; dragonfly: groups,
    // links between two of them, chassis, links, routers, links, nodes of a router; torus: its dimensions.
    enum class Kind : std::uint8_t { crossbar, fat_tree, dragonfly, torus } kind = Kind::crossbar;
    std::vector<unsigned int> shape;
    double link_rate = 0;        // bytes per second, each way
    double latency_per_hop = 0;  // seconds

    std::vector<std::size_t> places_of_nodes() const;  // in the shape: what multiplies them
    unsigned long nodes() const;  // for how many there is room; the largest number where nothing bounds it
};

// In bytes, seconds and bytes per second.
struct Machine {
    std::string name;
    int ranks_per_node = 1;
    int sockets_per_node = 1;

    double network_latency = 0;   // of the two ports together; the fabric's hops come on top
    double network_rate = 0;      // of one pair of ranks
    double injection_rate = 0;    // of all ranks of a node, each way
    double network_overhead = 0;  // of a CPU for one message, at each side
    Fabric fabric;

    double node_latency = 0;   // between two ranks of a node
    double node_rate = 0;      // of one pair
    double memory_rate = 0;    // of all pairs of a node: bytes that are copied
    double node_overhead = 0;  // as network_overhead

    double copy_rate = 0;    // of one rank
    double reduce_rate = 0;  // bytes of the result, of one rank

    // Shorter messages are sent without the receiver's word, by way of a copy at each side.
    std::uint64_t network_eager_bytes = 0;
    std::uint64_t node_eager_bytes = 0;
};

// Throws std::exception, with what is wrong.
Machine parse_machine(std::string_view text);
// Throws std::runtime_error with one sentence.
Machine read_machine(const std::string& file);

}  // namespace hcoll::simulation
