// SPDX-License-Identifier: BSD-3-Clause
// How NodeMessages send: into a line, or by fragments through cells, as many as the receivers let come.
#include <algorithm>
#include <cstring>
#include <utility>

#include "progress/node/node_messages.hpp"

namespace hcoll {

Status NodeMessages::send(int to, std::uint32_t tag, const std::byte* data, std::uint64_t units,
                          const Elements& elements, Token token) {
    const std::uint64_t bytes = units * elements.bytes;
    if (bytes <= inline_bytes && has_room(to)) {
        const std::byte* message = data;
        std::array<std::byte, inline_bytes> packed;
        if (elements.packing != nullptr) {
            if (const Status status = elements.packing->pack(data, units, packed.data()); status != 0) return status;
            message = packed.data();
        }
        push(to, tag, bytes, no_cell, true, message);
        finished_.push_back(token);
        return 0;
    }
    Outgoing* message = nullptr;
    for (std::size_t i = 0; i < active_ && message == nullptr; ++i)
        if (outgoing_[i].open && outgoing_[i].data == data && outgoing_[i].units == units) message = &outgoing_[i];
    if (message != nullptr) {
        for (std::uint64_t fragment = 0; fragment < message->filled; ++fragment)
            area(rank_).readers[message->cell_of[fragment]].left.fetch_add(1, std::memory_order_relaxed);
    } else {
        message = &add_outgoing();
        message->data = data;
        message->units = units;
        message->elements = elements;
        const std::uint64_t per_fragment = units_of_fragment(elements);
        message->fragments = std::max<std::uint64_t>(1, (units + per_fragment - 1) / per_fragment);
        message->filled = 0;
        message->open = true;
    }
    message->destinations.push_back({.peer = to, .tag = tag, .token = token});
    return advance(*message);
}

bool NodeMessages::has_room(int to) {
    Peer& receiver = peer(to);
    if (receiver.pushed - receiver.known_taken < lane_lines) return true;
    receiver.known_taken = receipts(to, rank_).taken.load(std::memory_order_acquire);
    return receiver.pushed - receiver.known_taken < lane_lines;
}

// Returns the line's number.
std::uint64_t NodeMessages::push(int to, std::uint32_t tag, std::uint64_t bytes, std::uint8_t cell, bool is_last,
                                 const std::byte* data) {
    const std::uint64_t before = peer(to).pushed++;
    Line& line = lane(rank_, to).lines[before % lane_lines];
    line.tag = tag;
    line.bytes = static_cast<std::uint16_t>(bytes);
    line.cell = cell;
    line.is_last = is_last;
    if (data != nullptr) std::memcpy(line.data.data(), data, bytes);
    line.number.store(before + 1, std::memory_order_release);
    ring(to);
    return before + 1;
}

bool NodeMessages::send_line(int to, std::uint32_t tag, const std::byte* data, std::uint64_t bytes) {
    if (bytes > inline_bytes || active_ != 0 || !has_room(to)) return false;
    push(to, tag, bytes, no_cell, true, data);
    return true;
}

std::uint8_t NodeMessages::find_cell() {
    std::uint8_t found = no_cell;
    for (std::uint64_t i = 0; i < cells && found == no_cell; ++i) {
        if (area(rank_).readers[next_cell_].left.load(std::memory_order_acquire) == 0) found = next_cell_;
        next_cell_ = static_cast<std::uint8_t>((next_cell_ + 1) % cells);
    }
    if (const bool is_short = found == no_cell; is_short != is_short_) {
        is_short_ = is_short;
        area(rank_).is_short_of_cells.store(is_short ? 1 : 0, std::memory_order_release);
    }
    return found;
}

NodeMessages::Outgoing& NodeMessages::add_outgoing() {
    if (active_ == outgoing_.size()) outgoing_.emplace_back();
    Outgoing& message = outgoing_[active_++];
    message.destinations.clear();
    return message;
}

Status NodeMessages::copy_in(const Outgoing& message, std::uint64_t fragment, std::byte* target,
                             std::uint64_t& bytes) const {
    const Elements& elements = message.elements;
    const std::uint64_t first = fragment * units_of_fragment(elements);
    const std::uint64_t units = std::min(units_of_fragment(elements), message.units - first);
    bytes = units * elements.bytes;
    const std::byte* source = message.data + static_cast<std::ptrdiff_t>(first) * elements.stride;
    if (elements.packing != nullptr) return elements.packing->pack(source, units, target);
    if (bytes != 0) std::memcpy(target, source, bytes);
    return 0;
}

// The next fragment into a cell, where one is free and somebody may have it.
Status NodeMessages::fill(Outgoing& message, bool& moved) {
    if (message.filled == message.fragments) return 0;
    std::uint64_t slowest = message.filled;
    bool is_wanted = message.filled == 0;
    for (const Destination& each : message.destinations) {
        slowest = std::min(slowest, each.next);
        is_wanted = is_wanted || each.granted;
    }
    // While it is open, none of its cells may be forgotten.
    if (message.open) slowest = 0;
    if (!is_wanted || message.filled - slowest == most_cells_of_message) return 0;
    const std::uint8_t index = find_cell();
    if (index == no_cell) return 0;
    std::uint64_t bytes = 0;
    if (const Status status = copy_in(message, message.filled, cell(rank_, index), bytes); status != 0) return status;
    const auto readers = static_cast<std::uint32_t>(message.destinations.size()) + (message.open ? 1 : 0);
    area(rank_).readers[index].left.store(readers, std::memory_order_relaxed);
    message.cell_of[message.filled % most_cells_of_message] = index;
    ++message.filled;
    moved = true;
    return 0;
}

bool NodeMessages::is_granted(const Destination& destination) const {
    return receipts(destination.peer, rank_).granted[destination.first % grants].load(std::memory_order_acquire) ==
           destination.first;
}

// Does a message wait for its grant in the place of the one that line `number` would begin? It would not see it.
bool NodeMessages::waits_at(int to, std::uint64_t number) {
    for (std::size_t i = 0; i < active_; ++i)
        for (Destination& other : outgoing_[i].destinations) {
            if (other.peer != to || other.next == 0 || other.granted || outgoing_[i].fragments == 1) continue;
            if (other.first % grants != number % grants) continue;
            other.granted = is_granted(other);
            if (!other.granted) return true;
        }
    return false;
}

// The next fragment to one destination, if it may have it now.
bool NodeMessages::announce(Outgoing& message, Destination& destination) {
    const int to = destination.peer;
    const bool is_long = message.fragments > 1;
    if (destination.next == message.filled) return false;
    if (is_long && destination.next != 0 && !destination.granted) return false;
    // The receiver may be unable to match that one before this one: it must not wait for it.
    if (is_long && destination.next == 0)
        while (waits_at(to, peer(to).pushed + 1)) {
            if (!has_room(to)) return false;
            push(to, destination.tag, 0, nothing, true, nullptr);
        }
    if (!has_room(to)) return false;
    const std::uint64_t per_fragment = units_of_fragment(message.elements);
    const std::uint64_t units = std::min(per_fragment, message.units - destination.next * per_fragment);
    const std::uint64_t number = push(to, destination.tag, units * message.elements.bytes,
                                      message.cell_of[destination.next % most_cells_of_message],
                                      destination.next + 1 == message.fragments, nullptr);
    if (destination.next == 0) destination.first = number;
    ++destination.next;
    return true;
}

Status NodeMessages::advance(Outgoing& message) {
    bool moved = true;
    while (moved) {
        moved = false;
        for (std::size_t i = 0; i < message.destinations.size();) {
            Destination& each = message.destinations[i];
            if (each.next != 0 && !each.granted && message.fragments > 1) each.granted = is_granted(each);
            while (announce(message, each)) moved = true;
            if (each.next < message.fragments) {
                ++i;
                continue;
            }
            finished_.push_back(each.token);
            each = message.destinations.back();
            message.destinations.pop_back();
        }
        if (const Status status = fill(message, moved); status != 0) return status;
    }
    return 0;
}

// What the sender itself held of its cells.
void NodeMessages::close(Outgoing& message) {
    if (!message.open) return;
    message.open = false;
    for (std::uint64_t fragment = 0; fragment < message.filled; ++fragment) release(rank_, message.cell_of[fragment]);
}

// Are there cells that wait for a receiver that has not asked, and are they, or what follows them, missing elsewhere?
bool NodeMessages::holds_up_others(Outgoing& message) {
    if (message.open || message.filled < 2) return false;
    bool any_unasked = false;
    bool any_waits = false;
    for (Destination& each : message.destinations) {
        if (each.next != 0 && !each.granted) each.granted = is_granted(each);
        any_unasked = any_unasked || !each.granted;
        any_waits = any_waits || (each.granted && each.next == message.filled);
    }
    return any_unasked && (is_short_ || any_waits);
}

void NodeMessages::take_back_unasked() {
    for (std::size_t i = 0, before = active_; i < before; ++i)
        for (const std::uint64_t announced : {0, 1})
            if (holds_up_others(outgoing_[i])) take_back(i, announced);
}

// From those that have not asked, and have been told of so many fragments: 0 or 1.
void NodeMessages::take_back(std::size_t index, std::uint64_t announced) {
    std::vector<Destination> unasked;
    std::vector<Destination>& all = outgoing_[index].destinations;
    for (std::size_t i = 0; i < all.size();) {
        if (all[i].granted || all[i].next != announced) {
            ++i;
            continue;
        }
        unasked.push_back(all[i]);
        all[i] = all.back();
        all.pop_back();
    }
    if (unasked.empty()) return;
    const Outgoing& shared = outgoing_[index];
    for (std::uint64_t fragment = announced; fragment < shared.filled; ++fragment)
        for (std::size_t i = 0; i < unasked.size(); ++i)
            release(rank_, shared.cell_of[fragment % most_cells_of_message]);
    const std::size_t own = shared.destinations.empty() ? index : active_;
    if (own != index) add_outgoing();  // the others may move
    Outgoing& message = outgoing_[own];
    const Outgoing& from = outgoing_[index];
    message.data = from.data;
    message.units = from.units;
    message.elements = from.elements;
    message.fragments = from.fragments;
    message.filled = announced;
    message.open = false;
    message.destinations = std::move(unasked);
}

Status NodeMessages::advance_all() {
    for (std::size_t i = 0; i < active_;) {
        Outgoing& message = outgoing_[i];
        close(message);
        if (!message.destinations.empty())
            if (const Status status = advance(message); status != 0) return status;
        if (message.destinations.empty()) {
            std::swap(message, outgoing_[--active_]);
        } else {
            ++i;
        }
    }
    return 0;
}

}  // namespace hcoll
