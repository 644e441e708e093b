// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/node_messages.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "progress/node/futex.hpp"
#include "progress/node/memory_units.hpp"
#include "progress/node/touch_pages.hpp"

namespace hcoll {

namespace {

// Of a cell: so that the cells of several messages stay in the cache.
constexpr std::size_t fewest_cell_bytes = 1 << 10;
constexpr std::size_t most_cell_bytes = 32 << 10;

}  // namespace

// ---- the segment ----

std::size_t NodeMessages::head_bytes(int ranks) {
    return rounded_up(sizeof(Area) + static_cast<std::size_t>(ranks) * (sizeof(Lane) + sizeof(Receipts)), page_bytes);
}

std::size_t NodeMessages::cell_bytes_of(std::size_t buffer_bytes) {
    return std::clamp(buffer_bytes / cells / fewest_cell_bytes * fewest_cell_bytes, fewest_cell_bytes, most_cell_bytes);
}

std::size_t NodeMessages::area_bytes(int ranks, std::size_t buffer_bytes) {
    return head_bytes(ranks) + rounded_up(cells * cell_bytes_of(buffer_bytes), page_bytes);
}

NodeMessages::Part NodeMessages::own_part(int ranks, int rank, std::size_t buffer_bytes) {
    const std::size_t bytes = area_bytes(ranks, buffer_bytes);
    return {static_cast<std::size_t>(rank) * bytes, bytes};
}

std::size_t NodeMessages::segment_bytes(int ranks, std::size_t buffer_bytes) {
    return own_part(ranks, ranks, buffer_bytes).offset;  // where one more would begin
}

NodeMessages::NodeMessages(std::byte* base, std::size_t buffer_bytes, int ranks, int rank, NodePeers* peers)
    : base_(base),
      area_bytes_(area_bytes(ranks, buffer_bytes)),
      head_bytes_(head_bytes(ranks)),
      cell_bytes_(cell_bytes_of(buffer_bytes)),
      ranks_(ranks),
      rank_(rank),
      peers_of_node_(peers),
      peers_(static_cast<std::size_t>(ranks)) {}

std::byte* NodeMessages::area_base(int rank) const { return base_ + static_cast<std::size_t>(rank) * area_bytes_; }

void NodeMessages::touch_cells() {
    if (std::exchange(are_cells_touched_, true)) return;
    touch_pages(area_base(rank_) + head_bytes_, area_bytes_ - head_bytes_);
}

NodeMessages::Lane& NodeMessages::lane(int from, int to) const {
    return reinterpret_cast<Lane*>(area_base(from) + sizeof(Area))[to];
}

NodeMessages::Receipts& NodeMessages::receipts(int of, int from) const {
    std::byte* behind_lanes = area_base(of) + sizeof(Area) + static_cast<std::size_t>(ranks_) * sizeof(Lane);
    return reinterpret_cast<Receipts*>(behind_lanes)[from];
}

std::byte* NodeMessages::cell(int rank, std::uint8_t index) const {
    return area_base(rank) + head_bytes_ + index * cell_bytes_;
}

std::unique_ptr<NodeMessages::Incoming> NodeMessages::make_incoming() { return std::make_unique<Incoming>(); }

void NodeMessages::begin(std::uint32_t first_tag) {
    first_tag_ = first_tag;
    outcome_ = 0;
    // After an error something may be left of the collective before.
    if (std::exchange(unexpected_, 0) == 0) return;
    for (int from = 0; from < ranks_; ++from) {
        Incoming* sent = peer(from).incoming.get();
        if (sent == nullptr) continue;
        for (const Unexpected& each : sent->unexpected) drop(from, each.fragment);
        sent->unexpected.clear();
    }
}

Status NodeMessages::progress(std::vector<Token>& completed) {
    Status status = active_ != 0 ? advance_all() : 0;
    for (std::size_t i = 0; i < expected_.size() && status == 0;) {
        const int from = expected_[i];
        status = poll(from);
        if (incoming(from).posted.empty()) {
            incoming(from).expected = false;
            expected_[i] = expected_.back();
            expected_.pop_back();
        } else {
            ++i;
        }
    }
    if (!finished_.empty()) {
        completed.insert(completed.end(), finished_.begin(), finished_.end());
        finished_.clear();
        idle_ = 0;
        return status;
    }
    // A sender may need what this rank has not asked for out of its way, to send to another one.
    using node_sizes::polls_between;
    if (++idle_ % polls_between != 0) return status;
    if (active_ != 0) take_back_unasked();
    constexpr int polls_between_looks = 32 * polls_between;
    if (peers_of_node_ != nullptr && idle_ % polls_between_looks == 0 && peers_of_node_->look() != NodeBreak::none)
        return status_broken;
    for (int from = 0; from < ranks_ && status == 0; ++from) {
        if (from == rank_ || area(from).is_short_of_cells.load(std::memory_order_acquire) == 0) continue;
        status = poll(from);
        move_out_of_cells(from);
    }
    return status;
}

// Of what is waited for.
bool NodeMessages::has_news() const {
    return std::any_of(expected_.begin(), expected_.end(), [this](int from) {
        const Peer& sender = peers_[static_cast<std::size_t>(from)];
        const Line& line = next_line(from, sender);
        return line.number.load(std::memory_order_acquire) == sender.taken + 1 && !is_later(line.tag);
    });
}

void NodeMessages::sleep(long nanoseconds) {
    Bell& bell = area(rank_).bell;
    bell.sleepers.store(1, std::memory_order_seq_cst);
    const std::uint32_t rings = bell.rings.load(std::memory_order_seq_cst);
    if (!has_news()) wait_at(bell.rings, rings, nanoseconds);
    bell.sleepers.store(0, std::memory_order_relaxed);
}

// The load may overtake the store of what was sent, and miss one that is about to sleep: who sleeps looks again soon.
void NodeMessages::ring(int to) const {
    Bell& bell = area(to).bell;
    if (bell.sleepers.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    // Once: who sleeps may take long to get a core, and others may send to it meanwhile.
    if (bell.sleepers.exchange(0, std::memory_order_seq_cst) == 0) return;
    bell.rings.fetch_add(1, std::memory_order_seq_cst);
    wake_at(bell.rings);
}

void NodeMessages::abandon() {
    for (std::size_t i = 0; i < active_; ++i) {
        Outgoing& message = outgoing_[i];
        close(message);
        // Cells that somebody was never told of.
        for (const Destination& each : message.destinations)
            for (std::uint64_t fragment = each.next; fragment < message.filled; ++fragment)
                release(rank_, message.cell_of[fragment % most_cells_of_message]);
    }
    active_ = 0;
    for (const Peer& each : peers_) {
        if (each.incoming == nullptr) continue;
        each.incoming->posted.clear();
        each.incoming->expected = false;
    }
    expected_.clear();
    finished_.clear();
}

}  // namespace hcoll
