// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/routed_transport.hpp"

#include <utility>

#include "progress/engine/cancellation.hpp"

namespace hcoll {

void RoutedTransport::use_node(std::unique_ptr<NodeMessages> node, const Placement& placement, int rank,
                               bool oversubscribed) {
    node_ = std::move(node);
    ranks_of_node_ = NodeRanks(placement, placement.node_of(rank));
    polls_before_yield_ = oversubscribed ? impatient_polls : patient_polls;
    most_vain_turns_ = oversubscribed ? most_vain_turns_shared : most_vain_turns;
    core_ = OwnCore(oversubscribed);
}

void RoutedTransport::leave_node() {
    node_.reset();
    is_carried_ = false;
}

void RoutedTransport::begin(const Elements& elements) {
    elements_ = elements;
    is_carried_ = node_ != nullptr && node_->carries(elements.bytes);
    ++sequence_;
    if (is_carried_) node_->begin(tag_of(0));
}

Status RoutedTransport::progress(std::vector<Token>& completed) {
    const std::size_t before = completed.size();
    Status status = network_.progress(completed);
    if (status == 0 && is_carried_) status = node_->progress(completed);
    if (completed.size() != before) {
        idle_polls_ = 0;
        sleeps_.reset();
        if (is_carried_ && status == 0) status = busy();
    } else if (status == 0) {
        status = idle();
    }
    return status;
}

// Nothing was there.
Status RoutedTransport::idle() {
    CancellationAtPoints::here();
    const std::int64_t turns = ++idle_polls_ - polls_before_yield_;
    if (turns <= 0) return 0;
    const std::int64_t turn = give_turn();
    vain_turns_ = turn >= shortest_turn ? 0 : vain_turns_ + 1;
    if (!is_carried_) return 0;
    if (turns == 1) polls_ = core_.is_likely();
    if (polls_ && core_.is_taken(turn)) polls_ = false;
    // As in waiting.hpp: with a core of its own a rank does not sleep.
    const bool sleeps = !polls_ && (vain_turns_ > most_vain_turns_ || turns > most_turns);
    if (sleeps) node_->sleep(sleeps_.next_nanoseconds());
    const int between_drives = polls_ ? turns_between_drives_of_own_core : turns_between_drives;
    return sleeps || turns % between_drives == 0 ? drive_(context_) : 0;
}

// Of the one message that was begun there.
Status RoutedTransport::finish_on_node() {
    finished_.clear();
    Status status = node_->progress(finished_);
    while (finished_.empty() && status == 0) {
        status = idle();
        if (status == 0) status = node_->progress(finished_);
    }
    idle_polls_ = 0;
    sleeps_.reset();
    return status;
}

Status RoutedTransport::send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) {
    const int there = on_node(peer);
    if (there < 0) return network_.send_now(peer, tag, data, units);
    if (elements_.packing == nullptr && node_->send_line(there, tag_of(tag), data, units * elements_.bytes))
        return busy();
    const Status status = node_->send(there, tag_of(tag), data, units, elements_, 0);
    return status == 0 ? finish_on_node() : status;
}

Status RoutedTransport::recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) {
    const int there = on_node(peer);
    if (there < 0) return network_.recv_now(peer, tag, data, units);
    if (elements_.packing == nullptr && node_->take_line(there, tag_of(tag), data, units * elements_.bytes))
        return busy();
    const Status status = node_->recv(there, tag_of(tag), data, units, elements_, 0);
    return status == 0 ? finish_on_node() : status;
}

}  // namespace hcoll
