// SPDX-License-Identifier: BSD-3-Clause
// The transport of a communicator: shared memory to the ranks of the same node, the network's to the others.
//
// A rank that waits looks at both in turn. Where it finds nothing for a while it yields, and where that is in vain it sleeps:
// whoever has to send may need its core (turns.hpp). Messages that the application began before must move meanwhile, so the MPI
// library is driven now and then even if nothing here travels by it.
#pragma once

#include <memory>
#include <vector>

#include "progress/node/node_messages.hpp"
#include "progress/node/node_ranks.hpp"
#include "progress/node/turns.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// Driven by one thread at a time.
class RoutedTransport final : public Transport {
public:
    // `drive(context)` drives the MPI library, and returns its status. All messages go over `network` until there is a node.
    RoutedTransport(Transport& network, Status (*drive)(void*), void* context)
        : network_(network), drive_(drive), context_(context) {}

    // From now on messages to the ranks of this rank's node go through `node`, in which they have the numbers that
    // Placement::index_on_node gives them. The same on all ranks of the node.
    void use_node(std::unique_ptr<NodeMessages> node, const Placement& placement, int rank, bool oversubscribed);
    // Between collectives.
    void leave_node();
    bool has_node() const { return node_ != nullptr; }

    // What messages of so many bytes to ranks of its node lie in (NodeMessages::touch_cells).
    void touch_memory(std::uint64_t bytes) {
        if (node_ != nullptr && bytes > NodeMessages::inline_bytes) node_->touch_cells();
    }

    // Begins a collective whose units are `elements`.
    void begin(const Elements& elements);

    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override {
        const int there = on_node(peer);
        return there >= 0 ? node_->send(there, tag_of(tag), data, units, elements_, token)
                          : network_.send(peer, tag, data, units, token);
    }
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) override {
        const int there = on_node(peer);
        return there >= 0 ? node_->recv(there, tag_of(tag), data, units, elements_, token)
                          : network_.recv(peer, tag, data, units, token);
    }
    Status collective(Collective which, int root, std::uint64_t order, const std::byte* source, std::byte* target,
                      std::uint64_t units, Token token) override {
        return network_.collective(which, root, order, source, target, units, token);
    }
    Status progress(std::vector<Token>& completed) override;
    Status send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) override;
    Status recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) override;
    // What goes to the same node is over at once: it needs room in a lane, which a rank has that is not far ahead of the other.
    Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token number) override {
        return on_node(peer) >= 0 ? send_now(peer, tag, data, units)
                                  : network_.begin_send(peer, tag, data, units, number);
    }
    Status finish_sends(Token first_left) override { return network_.finish_sends(first_left); }
    bool exchanges_with(int to, int from) const override {
        return on_node(to) < 0 && on_node(from) < 0 && network_.exchanges_with(to, from);
    }
    Status exchange_now(const Sent& sent, const Received& received) override {
        return network_.exchange_now(sent, received);
    }
    Status outcome() const override {
        const Status status = network_.outcome();
        return status != 0 || !is_carried_ ? status : node_->outcome();
    }

    // After an error.
    void abandon() {
        if (node_ != nullptr) node_->abandon();
    }

private:
    static constexpr int patient_polls = 200;
    static constexpr int impatient_polls = 2;

    Status finish_on_node();
    Status idle();
    // Ranks whose collectives never have to wait may do many of them on end.
    Status busy() {
        constexpr int polls_between_drives = 32;
        return ++busy_polls_ % polls_between_drives == 0 ? drive_(context_) : 0;
    }

    int on_node(int peer) const { return is_carried_ ? ranks_of_node_.index_of(peer) : NodeRanks::elsewhere; }
    // Collectives that follow one another use different tags, so that what is left over by an error is not taken for a
    // message of the next.
    std::uint32_t tag_of(std::uint32_t tag) const { return sequence_ * tags_per_collective + tag; }

    Transport& network_;
    Status (*drive_)(void*);
    void* context_;
    std::unique_ptr<NodeMessages> node_;
    NodeRanks ranks_of_node_;
    Elements elements_;
    bool is_carried_ = false;
    std::uint32_t sequence_ = 0;
    int polls_before_yield_ = patient_polls;
    int most_vain_turns_ = most_vain_turns;
    OwnCore core_;
    bool polls_ = false;  // in this wait, as long as its core is its own
    // A wait may last for days.
    std::int64_t idle_polls_ = 0;
    std::int64_t busy_polls_ = 0;
    std::int64_t vain_turns_ = 0;
    Sleeps sleeps_;
    std::vector<Token> finished_;
};

}  // namespace hcoll
