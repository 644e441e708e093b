// SPDX-License-Identifier: BSD-3-Clause
// The messages of price.cpp: matched, queued at ports, and moved in virtual time as machine_model.hpp says.
//
//   posted by both (eager: by the sender) --> ready --> both ports free: starts --> ports free, arrived --> completed
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "progress/engine/engine.hpp"
#include "tuning/event_queue.hpp"
#include "tuning/machine_model.hpp"
#include "tuning/message_table.hpp"
#include "tuning/traffic.hpp"

namespace hcoll {

// Who is told that a side of a message is complete at `time`; handling it takes the rank's CPU `overhead` (seconds).
class Completions {
public:
    virtual ~Completions() = default;
    virtual void complete(std::uint32_t rank, Token token, double time, double overhead) = 0;
};

// The sides of a message; the sender's waits at an outgoing port, the receiver's at an incoming one.
enum class Side : std::uint8_t { sender, receiver };
inline constexpr Side sides[] = {Side::sender, Side::receiver};

template <typename Value>
class BySide {
public:
    constexpr BySide() = default;
    constexpr explicit BySide(const Value& both) : values_{both, both} {}
    Value& operator[](Side side) { return values_[static_cast<std::size_t>(side)]; }
    const Value& operator[](Side side) const { return values_[static_cast<std::size_t>(side)]; }

private:
    Value values_[2]{};
};

class VirtualNetwork {
public:
    // `network_seconds_per_byte`: of messages to other nodes, by the sender's node. `started`, if any, gets every message when
    // it starts. The references must outlive the network.
    VirtualNetwork(const Placement& placement, const MachineModel& machine,
                   std::vector<double> network_seconds_per_byte, EventQueue& events, Completions& completions,
                   std::vector<MessageTime>* started);

    // One side of a message, posted at `time`, which is now or later.
    void send(const Route& route, std::uint64_t bytes, Token token, double time);
    void recv(const Route& route, std::uint64_t bytes, Token token, double time);

    // An event of any kind but wake.
    void handle(const Event& event);
    // Starts what can start now.
    void start_messages();

    // How many messages were sent that nobody has received.
    std::size_t unreceived() const { return unmatched_[Side::sender].size(); }
    // Set when the two sides of a message differ in length.
    const std::optional<std::string>& defect() const { return defect_; }

private:
    static constexpr std::uint32_t none = MessageTable::none;

    struct Message {
        Route route;
        Link link = Link::socket;
        bool is_eager = false;
        bool has_started = false;
        bool has_arrived = false;
        bool has_left_ports = false;
        bool is_delivered = false;  // the receiver has been told
        BySide<bool> is_posted;
        BySide<Token> token;
        BySide<double> posted;  // when
        std::uint64_t bytes = 0;
        BySide<std::uint64_t> place;    // its number among what its sender sends, and among what its receiver receives
        std::uint64_t send_order = 0;   // among all sends
        std::uint64_t ready_order = 0;  // among all that became ready
        double arrival = 0;
        double ports_free = 0;                 // when
        BySide<std::uint32_t> previous{none};  // in the queue of the port
        BySide<std::uint32_t> next{none};
    };

    // One direction of a rank's connection: what occupies it, and the messages that are ready and wait, in order.
    struct Port {
        double free_at = 0;        // when the last message left it
        std::uint64_t posted = 0;  // messages
        std::uint32_t first = none;
        std::uint32_t last = none;
        int busy[2]{};            // with so many messages, by lane
        bool is_changed = false;  // since start_messages() looked at it
    };

    // A message that has become ready now. Sorted by what comes first.
    struct Ready {
        std::uint64_t place_of_send;
        std::uint64_t place_of_recv;
        std::uint64_t send_order;
        std::uint32_t message;
        bool operator<(const Ready& other) const {
            return std::tie(place_of_send, place_of_recv, send_order) <
                   std::tie(other.place_of_send, other.place_of_recv, other.send_order);
        }
    };

    // A message that one of its ports proposes to start.
    struct Candidate {
        std::uint64_t ready_order;
        std::uint32_t message;
        std::uint32_t port;
        static bool later(const Candidate& a, const Candidate& b) { return a.ready_order > b.ready_order; }
    };

    static std::uint32_t port_of(const Route& route, Side side) {
        return side == Side::sender ? 2 * route.from : 2 * route.to + 1;
    }
    static double ready_time(const Message& message) {
        return message.is_eager ? message.posted[Side::sender]
                                : std::max(message.posted[Side::sender], message.posted[Side::receiver]);
    }

    std::uint32_t post(const Route& route, Side side, std::uint64_t bytes, Token token, double time);
    std::uint32_t new_message(const Route& route, std::uint64_t bytes);
    void become_ready(std::uint32_t index);
    void add_ready(std::uint32_t index);
    void queue_at_ports(std::uint32_t index);
    void leave_queues(const Message& message);
    void mark_changed(std::uint32_t port);
    bool can_start(const Message& message) const;
    // Where a rank's port passes one message at a time, it is one for all; else those inside a node do not keep others from the network.
    int lane_of(const Message& message) const { return most_at_once_ > 1 && message.link != Link::network ? 1 : 0; }
    bool has_room(const Port& port) const {
        return port.busy[0] == 0 || (most_at_once_ > 1 && port.busy[1] < most_at_once_);
    }
    void propose(std::uint32_t port);
    void start_message(std::uint32_t index);
    void free_ports(std::uint32_t index);
    void arrive(std::uint32_t index);
    void deliver(std::uint32_t index);

    const Placement& placement_;
    const MachineModel& machine_;
    std::vector<double> network_seconds_per_byte_;
    int most_at_once_ = 1;  // inside a node
    EventQueue& events_;
    Completions& completions_;
    std::vector<MessageTime>* started_;

    std::vector<std::uint32_t> inside_;  // messages under way inside each node
    std::vector<Port> ports_;            // outgoing and incoming of rank 0, of rank 1, ...
    std::vector<Message> messages_;
    std::vector<std::uint32_t> free_messages_;
    BySide<MessageTable> unmatched_;  // by the side that has posted
    std::uint64_t sends_ = 0;
    std::uint64_t ready_messages_ = 0;
    std::optional<std::string> defect_;

    std::vector<Ready> ready_;
    std::vector<std::uint32_t> changed_ports_;  // where a message may be able to start now
    std::vector<Candidate> candidates_;         // a heap; empty but in start_messages()
};

}  // namespace hcoll
