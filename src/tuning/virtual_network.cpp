// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/virtual_network.hpp"

#include <fmt/format.h>

#include <utility>

namespace hcoll {

VirtualNetwork::VirtualNetwork(const Placement& placement, const MachineModel& machine,
                               std::vector<double> network_seconds_per_byte, EventQueue& events,
                               Completions& completions, std::vector<MessageTime>* started)
    : placement_(placement),
      machine_(machine),
      network_seconds_per_byte_(std::move(network_seconds_per_byte)),
      events_(events),
      completions_(completions),
      started_(started),
      inside_(static_cast<std::size_t>(placement.nodes()), 0),
      ports_(2 * static_cast<std::size_t>(placement.ranks())) {
    for (const Link link : every_link)
        if (link != Link::network) most_at_once_ = std::max(most_at_once_, machine[link].at_once);
}

void VirtualNetwork::send(const Route& route, std::uint64_t bytes, Token token, double time) {
    const std::uint32_t index = post(route, Side::sender, bytes, token, time);
    const Message& message = messages_[index];
    if (message.is_eager || message.is_posted[Side::receiver]) become_ready(index);
}

void VirtualNetwork::recv(const Route& route, std::uint64_t bytes, Token token, double time) {
    const std::uint32_t index = post(route, Side::receiver, bytes, token, time);
    const Message& message = messages_[index];
    if (!message.is_posted[Side::sender]) return;
    if (!message.is_eager)
        become_ready(index);
    else if (message.has_arrived)
        deliver(index);
}

// Returns the message that the other side has posted before, or a new one.
std::uint32_t VirtualNetwork::post(const Route& route, Side side, std::uint64_t bytes, Token token, double time) {
    const Side other = side == Side::sender ? Side::receiver : Side::sender;
    std::uint32_t index = unmatched_[other].take(route);
    if (index == none) {
        index = new_message(route, bytes);
        unmatched_[side].add(route, index);
    }
    Message& message = messages_[index];
    message.is_posted[side] = true;
    message.token[side] = token;
    message.posted[side] = time;
    message.place[side] = ports_[port_of(route, side)].posted++;
    if (side == Side::sender) message.send_order = sends_++;
    if (message.bytes != bytes)
        defect_ = fmt::format("rank {} and rank {} differ in the length of a message: {} and {} bytes", route.from,
                              route.to, message.bytes, bytes);
    return index;
}

std::uint32_t VirtualNetwork::new_message(const Route& route, std::uint64_t bytes) {
    std::uint32_t index = 0;
    if (free_messages_.empty()) {
        index = static_cast<std::uint32_t>(messages_.size());
        messages_.emplace_back();
    } else {
        index = free_messages_.back();
        free_messages_.pop_back();
        messages_[index] = {};
    }
    Message& message = messages_[index];
    message.route = route;
    message.link = placement_.link(static_cast<int>(route.from), static_cast<int>(route.to));
    message.bytes = bytes;
    message.is_eager = bytes < machine_[message.link].eager_below_bytes;
    return index;
}

// A rank's clock may be ahead of the instant: then the message is ready only at that time.
void VirtualNetwork::become_ready(std::uint32_t index) {
    const double time = ready_time(messages_[index]);
    if (events_.is_now(time))
        add_ready(index);
    else
        events_.push(time, EventKind::ready, index);
}

void VirtualNetwork::add_ready(std::uint32_t index) {
    const Message& message = messages_[index];
    ready_.push_back({message.place[Side::sender], message.place[Side::receiver], message.send_order, index});
}

// The longest ready first. What became ready at this instant queues in the order in which the senders' plans have it, and
// then in that of the receivers', since they say what is urgent: the largest subtree is sent to first, and a leaf's second
// segment does not go before the first one of its sibling.
void VirtualNetwork::start_messages() {
    std::sort(ready_.begin(), ready_.end());
    for (const Ready& ready : ready_) queue_at_ports(ready.message);
    ready_.clear();
    // Only at ports that have changed can there be anything to start.
    for (const std::uint32_t port : changed_ports_) {
        ports_[port].is_changed = false;
        propose(port);
    }
    changed_ports_.clear();
    while (!candidates_.empty()) {
        std::pop_heap(candidates_.begin(), candidates_.end(), Candidate::later);
        const Candidate candidate = candidates_.back();
        candidates_.pop_back();
        const Message& message = messages_[candidate.message];
        if (!message.has_started && can_start(message)) start_message(candidate.message);
        // The next one, where there is room for it.
        propose(candidate.port);
    }
}

void VirtualNetwork::queue_at_ports(std::uint32_t index) {
    Message& message = messages_[index];
    message.ready_order = ready_messages_++;
    for (const Side side : sides) {
        const std::uint32_t number = port_of(message.route, side);
        Port& port = ports_[number];
        message.previous[side] = port.last;
        (port.last == none ? port.first : messages_[port.last].next[side]) = index;
        port.last = index;
        mark_changed(number);
    }
}

void VirtualNetwork::leave_queues(const Message& message) {
    for (const Side side : sides) {
        Port& port = ports_[port_of(message.route, side)];
        const std::uint32_t before = message.previous[side];
        const std::uint32_t after = message.next[side];
        (before == none ? port.first : messages_[before].next[side]) = after;
        (after == none ? port.last : messages_[after].previous[side]) = before;
    }
}

void VirtualNetwork::mark_changed(std::uint32_t port) {
    if (ports_[port].is_changed) return;
    ports_[port].is_changed = true;
    changed_ports_.push_back(port);
}

bool VirtualNetwork::can_start(const Message& message) const {
    const int lane = lane_of(message);
    const int at_once = lane == 0 ? 1 : machine_[message.link].at_once;
    return ports_[port_of(message.route, Side::sender)].busy[lane] < at_once &&
           ports_[port_of(message.route, Side::receiver)].busy[lane] < at_once;
}

// The first message at this port that could start.
void VirtualNetwork::propose(std::uint32_t number) {
    const Port& port = ports_[number];
    if (!has_room(port)) return;
    const Side side = number % 2 == 0 ? Side::sender : Side::receiver;
    std::uint32_t index = port.first;
    while (index != none && !can_start(messages_[index])) index = messages_[index].next[side];
    if (index == none) return;
    candidates_.push_back({messages_[index].ready_order, index, number});
    std::push_heap(candidates_.begin(), candidates_.end(), Candidate::later);
}

void VirtualNetwork::start_message(std::uint32_t index) {
    Message& message = messages_[index];
    leave_queues(message);
    message.has_started = true;
    const LinkCost& link = machine_[message.link];
    double seconds_per_byte = link.seconds_per_byte;
    const auto node = static_cast<std::size_t>(placement_.node_of(static_cast<int>(message.route.from)));
    if (message.link == Link::network)
        seconds_per_byte = network_seconds_per_byte_[node];
    else
        seconds_per_byte = std::max(seconds_per_byte, ++inside_[node] / machine_.memory_rate);
    const double transfer = static_cast<double>(message.bytes) * seconds_per_byte;
    Port& out = ports_[port_of(message.route, Side::sender)];
    Port& in = ports_[port_of(message.route, Side::receiver)];
    const double begin = std::max({ready_time(message), out.free_at, in.free_at});
    message.ports_free = begin + (link.gap + transfer);
    message.arrival = begin + (link.latency + transfer);
    if (started_ != nullptr)
        started_->push_back({.from = static_cast<int>(message.route.from),
                             .to = static_cast<int>(message.route.to),
                             .tag = message.route.tag,
                             .bytes = message.bytes,
                             .start = begin,
                             .arrival = message.arrival});
    ++out.busy[lane_of(message)];
    ++in.busy[lane_of(message)];
    if (message.ports_free == message.arrival) {
        events_.push(message.arrival, EventKind::arrived_and_ports_free, index);
    } else {
        events_.push(message.ports_free, EventKind::ports_free, index);
        events_.push(message.arrival, EventKind::arrived, index);
    }
}

void VirtualNetwork::handle(const Event& event) {
    switch (event.kind) {
        case EventKind::ready: add_ready(event.subject); break;
        case EventKind::ports_free: free_ports(event.subject); break;
        case EventKind::arrived: arrive(event.subject); break;
        case EventKind::arrived_and_ports_free:
            free_ports(event.subject);
            arrive(event.subject);
            break;
        case EventKind::wake:
        case EventKind::collective_done: break;
    }
}

void VirtualNetwork::free_ports(std::uint32_t index) {
    Message& message = messages_[index];
    for (const Side side : sides) {
        const std::uint32_t number = port_of(message.route, side);
        Port& port = ports_[number];
        --port.busy[lane_of(message)];
        port.free_at = message.ports_free;
        mark_changed(number);
    }
    message.has_left_ports = true;
    if (message.link != Link::network)
        --inside_[static_cast<std::size_t>(placement_.node_of(static_cast<int>(message.route.from)))];
    if (message.is_eager) completions_.complete(message.route.from, message.token[Side::sender], message.ports_free, 0);
    if (message.is_delivered) free_messages_.push_back(index);
}

void VirtualNetwork::arrive(std::uint32_t index) {
    Message& message = messages_[index];
    message.has_arrived = true;
    if (!message.is_eager) completions_.complete(message.route.from, message.token[Side::sender], message.arrival, 0);
    if (message.is_posted[Side::receiver]) deliver(index);
}

void VirtualNetwork::deliver(std::uint32_t index) {
    Message& message = messages_[index];
    message.is_delivered = true;
    completions_.complete(message.route.to, message.token[Side::receiver],
                          std::max(message.arrival, message.posted[Side::receiver]),
                          machine_[message.link].overhead_of(message.bytes));
    if (message.has_left_ports) free_messages_.push_back(index);
}

}  // namespace hcoll
