// SPDX-License-Identifier: BSD-3-Clause
// What messages and local work cost on a machine: the figures that price.hpp prices a plan with.
//
//   post    start              start + gap + bytes G        start + latency + bytes G
//    |-- o --|  waiting for ... |=== both ports busy ===|            |-- o --|
//    sender     receive, ports  ------------- on its way ----------->  receiver
//
// One message of `bytes` on a link. It starts when it is posted on both sides and the sender's outgoing port and the
// receiver's incoming port are free: a rank has one of each (full duplex), through which one message passes at a time (or, inside
// a node, `at_once`). It occupies both for gap + bytes G and has arrived latency + bytes G after its start. `overhead` (o) is
// the CPU's: once at the sender when it posts, once at the receiver when it handles the arrival.
//
// Sources: Hockney 1994 (alpha, beta); Alexandrov, Ionescu, Schauser, Scheiman 1995 (LogGP: L, o, g, G); Gropp, Olson,
// Samfass 2016, as in Bienz, Olson, Gropp 2019, equation 3 (max-rate: R_N).
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "topology/placement.hpp"

namespace hcoll {

// Of messages at once.
inline constexpr int any_number = std::numeric_limits<int>::max();

// In seconds; none is negative.
struct LinkCost {
    double latency = 0;           // L
    double overhead = 0;          // o: of a CPU, for one message, at each side
    double gap = 0;               // g: how long a port stays occupied by a message besides its bytes
    double seconds_per_byte = 0;  // G, beta: one over what a single pair of ranks gets, 1 / R_b
    // Messages of fewer bytes pass a buffer at each side: the CPU copies them there.
    std::uint64_t copied_below_bytes = 0;
    double copy_seconds_per_byte = 0;
    // Inside a node: messages that pass a rank's port at the same time, each as fast as if it were alone; more than one where receivers
    // fetch them, and then beside those that pass its port to the network.
    int at_once = 1;
    // Messages of fewer bytes are eager: they start without the receive having been posted, and are over for the sender
    // when his port is free again. All others are rendezvous: over for both when they have arrived. 0: none is eager.
    std::uint64_t eager_below_bytes = 0;

    // What a message takes of the CPU at each side.
    double overhead_of(std::uint64_t bytes) const {
        return overhead + (bytes < copied_below_bytes ? static_cast<double>(bytes) * copy_seconds_per_byte : 0);
    }

    friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

// A value; copied freely.
struct MachineModel {
    std::array<LinkCost, link_count> links{};  // by Link
    // R_N, bytes per second that all ranks of a node together can send over the network; infinite where nothing bounds it.
    double injection_rate = std::numeric_limits<double>::infinity();
    // Bytes per second that all messages inside a node have together; infinite where nothing bounds it. A message has its share of
    // those that are under way when it starts.
    double memory_rate = std::numeric_limits<double>::infinity();
    double reduce_seconds_per_byte = 0;  // gamma: of the result, for one operation
    double copy_seconds_per_byte = 0;

    LinkCost& operator[](Link link) { return links[static_cast<std::size_t>(link)]; }
    const LinkCost& operator[](Link link) const { return links[static_cast<std::size_t>(link)]; }
    // Of all links.
    void set_eager_below(std::uint64_t bytes) {
        for (LinkCost& link : links) link.eager_below_bytes = bytes;
    }
    friend bool operator==(const MachineModel&, const MachineModel&) = default;
};

inline constexpr std::uint64_t all_eager = std::numeric_limits<std::uint64_t>::max();

// Every message takes, and occupies both ports for, alpha + beta bytes, wherever the two ranks sit; an operation takes
// gamma bytes. Equation 1 of Bienz et al. 2019. In seconds.
MachineModel hockney(double alpha, double beta, double gamma);

// LogGP, the same for all links.
MachineModel log_gp(double latency, double overhead, double gap, double seconds_per_byte);

// The symbols of Bienz et al. 2019, section IV; what has the index l there is `local` here: inside a node.
struct MaxRate {
    double alpha_local = 0;     // s
    double beta_local = 0;      // s per byte
    double alpha = 0;           // s
    double rate = 1;            // R_b, bytes per second between two ranks of different nodes
    double injection_rate = 1;  // R_N, bytes per second of a node
    double gamma = 0;           // s per byte
};

// Equation 3: Hockney's costs inside a node and between nodes, where a message moves at min(R_N, ppn R_b) / ppn, with ppn
// the number of ranks of the sender's node that send over the network in the collective.
MachineModel max_rate(const MaxRate& parameters);

// Seconds per byte of a message over the network when `senders` ranks of its node send: ppn / min(R_N, ppn R_b).
double network_seconds_per_byte(const MachineModel& machine, std::uint32_t senders);

// A message on `link` takes 1 and nothing else takes anything: the price is the number of messages on such links on the
// longest path, messages that one rank sends, or receives, one after another included.
MachineModel unit_latency(Link link);
// The same for messages on any link: the number of steps.
MachineModel unit_latency();

// As unit_latency, but a rank sends and receives any number of messages at a time: what is counted is who waits for whose
// data, and not who waits for a port.
MachineModel unit_dependency(Link link);
MachineModel unit_dependency();

// A current cluster: two sockets to a node, a network of 100 Gbit/s (EDR, HDR100). Assumed figures, for where nothing was
// measured: they are meant to order algorithms, not to predict a machine.
MachineModel default_machine();

}  // namespace hcoll
