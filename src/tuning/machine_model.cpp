// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/machine_model.hpp"

#include <algorithm>

namespace hcoll {

namespace {

// The latency is also the gap, so that nothing else passes a port while a message is on its way.
LinkCost hockney_link(double alpha, double beta) {
    return {.latency = alpha, .overhead = 0, .gap = alpha, .seconds_per_byte = beta};
}

}  // namespace

MachineModel hockney(double alpha, double beta, double gamma) {
    MachineModel machine;
    machine.links.fill(hockney_link(alpha, beta));
    machine.reduce_seconds_per_byte = gamma;
    return machine;
}

MachineModel log_gp(double latency, double overhead, double gap, double seconds_per_byte) {
    MachineModel machine;
    machine.links.fill({latency, overhead, gap, seconds_per_byte});
    return machine;
}

MachineModel max_rate(const MaxRate& parameters) {
    MachineModel machine = hockney(parameters.alpha_local, parameters.beta_local, parameters.gamma);
    machine[Link::network] = hockney_link(parameters.alpha, 1 / parameters.rate);
    machine.injection_rate = parameters.injection_rate;
    return machine;
}

double network_seconds_per_byte(const MachineModel& machine, std::uint32_t senders) {
    return std::max(machine[Link::network].seconds_per_byte, senders / machine.injection_rate);
}

MachineModel unit_latency(Link link) {
    MachineModel machine;
    machine[link] = hockney_link(1, 0);
    return machine;
}

MachineModel unit_latency() { return hockney(1, 0, 0); }

MachineModel unit_dependency(Link link) {
    MachineModel machine;
    machine[link].latency = 1;
    return machine;
}

MachineModel unit_dependency() { return log_gp(1, 0, 0, 0); }

// The line rate of EDR and HDR100 is 100 Gbit/s, 12.5 GB/s (InfiniBand Trade Association's roadmap), of which MPI gets
// about 12 GB/s for large messages. The times for small messages are of the order that the OSU micro-benchmarks report
// for such clusters: about 1.5 us between nodes, 0.5 us between sockets and 0.25 us inside a socket, for the message as a
// whole, that is latency + 2 overhead here. Memory: an operation reads two operands and writes one at about 10 GB/s of
// results per core, a copy runs at about the same. MPI libraries switch from eager to rendezvous between 8 and 64 KiB. Inside a node
// receivers fetch: this library's from shared memory, MPI libraries' by single copies, each at its own pace, as long as the node's memory
// keeps up (two sockets of six channels of DDR4-2666: 256 GB/s, of which a copy takes three bytes for each that it moves).
MachineModel default_machine() {
    constexpr double microsecond = 1e-6;
    constexpr double gigabyte = 1e9;
    MachineModel machine;
    machine[Link::socket] = {0.15 * microsecond, 0.05 * microsecond, 0.05 * microsecond, 1 / (8 * gigabyte)};
    machine[Link::node] = {0.40 * microsecond, 0.05 * microsecond, 0.05 * microsecond, 1 / (6 * gigabyte)};
    machine[Link::network] = {1.10 * microsecond, 0.20 * microsecond, 0.10 * microsecond, 1 / (12 * gigabyte)};
    machine[Link::socket].at_once = any_number;
    machine[Link::node].at_once = any_number;
    machine.memory_rate = 80 * gigabyte;
    machine.injection_rate = 12 * gigabyte;
    machine.reduce_seconds_per_byte = 1 / (10 * gigabyte);
    machine.copy_seconds_per_byte = 1 / (10 * gigabyte);
    machine.set_eager_below(std::uint64_t{16} << 10);
    return machine;
}

}  // namespace hcoll
