// The transport of a communicator: shared memory to the ranks of the same node, the network's to the others.
//
// A rank that waits looks at both in turn. Where it finds nothing for a while it yields: whoever has to send may need its
// core. Messages that the application began before must move meanwhile, so the MPI library is driven now and then even
// if nothing here travels by it.
#pragma once

#include <memory>
#include <vector>

#include "progress/node/node_messages.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// Driven by one thread at a time.
class RoutedTransport : public Transport {
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
    Status outcome() const override {
        const Status status = network_.outcome();
        return status != 0 || !is_carried_ ? status : node_->outcome();
    }

    // After an error.
    void abandon() {
        if (node_ != nullptr) node_->abandon();
    }

private:
    static constexpr int elsewhere = -1;
    static constexpr int patient_polls = 200;
    static constexpr int impatient_polls = 2;

    int on_node(int peer) const { return is_carried_ ? index_on_node_[static_cast<std::size_t>(peer)] : elsewhere; }
    // Collectives that follow one another use different tags, so that what is left over by an error is not taken for a
    // message of the next.
    std::uint32_t tag_of(std::uint32_t tag) const { return sequence_ * tags_per_collective + tag; }

    Transport& network_;
    Status (*drive_)(void*);
    void* context_;
    std::unique_ptr<NodeMessages> node_;
    std::vector<int> index_on_node_;  // by rank of the communicator
    Elements elements_;
    bool is_carried_ = false;
    std::uint32_t sequence_ = 0;
    int polls_before_yield_ = patient_polls;
    int idle_polls_ = 0;
    int busy_polls_ = 0;
};

}  // namespace hcoll
