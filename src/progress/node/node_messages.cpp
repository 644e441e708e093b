#include "progress/node/node_messages.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "progress/node/shared_copy.hpp"

namespace hcoll {

namespace {

constexpr std::size_t page = 4096;
// Of a cell: so that the cells of several messages stay in the cache.
constexpr std::size_t fewest_cell_bytes = 1 << 10;
constexpr std::size_t most_cell_bytes = 32 << 10;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

// ---- the segment ----

std::size_t NodeMessages::head_bytes(int ranks) {
    return rounded_up(sizeof(Area) + static_cast<std::size_t>(ranks) * (sizeof(Lane) + sizeof(Receipts)), page);
}

std::size_t NodeMessages::cell_bytes_of(std::size_t buffer_bytes) {
    return std::clamp(buffer_bytes / cells / fewest_cell_bytes * fewest_cell_bytes, fewest_cell_bytes, most_cell_bytes);
}

std::size_t NodeMessages::area_bytes(int ranks, std::size_t buffer_bytes) {
    return head_bytes(ranks) + rounded_up(cells * cell_bytes_of(buffer_bytes), page);
}

NodeMessages::Part NodeMessages::own_part(int ranks, int rank, std::size_t buffer_bytes) {
    const std::size_t bytes = area_bytes(ranks, buffer_bytes);
    return {static_cast<std::size_t>(rank) * bytes, bytes};
}

std::size_t NodeMessages::segment_bytes(int ranks, std::size_t buffer_bytes) {
    return own_part(ranks, ranks, buffer_bytes).offset;  // where one more would begin
}

NodeMessages::NodeMessages(std::byte* base, std::size_t buffer_bytes, int ranks, int rank)
    : base_(base),
      area_bytes_(area_bytes(ranks, buffer_bytes)),
      head_bytes_(head_bytes(ranks)),
      cell_bytes_(cell_bytes_of(buffer_bytes)),
      ranks_(ranks),
      rank_(rank),
      peers_(static_cast<std::size_t>(ranks)) {}

std::byte* NodeMessages::area_base(int rank) const { return base_ + static_cast<std::size_t>(rank) * area_bytes_; }

NodeMessages::Lane& NodeMessages::lane(int from, int to) const {
    return reinterpret_cast<Lane*>(area_base(from) + sizeof(Area))[to];
}

NodeMessages::Receipts& NodeMessages::receipts(int of, int from) const {
    std::byte* behind_lanes = area_base(of) + sizeof(Area) + static_cast<std::size_t>(ranks_) * sizeof(Lane);
    return reinterpret_cast<Receipts*>(behind_lanes)[from];
}

std::byte* NodeMessages::cell(int rank, std::uint16_t index) const {
    return area_base(rank) + head_bytes_ + index * cell_bytes_;
}

void NodeMessages::begin(std::uint32_t first_tag) {
    first_tag_ = first_tag;
    // After an error something may be left of the collective before.
    if (std::exchange(unexpected_, 0) == 0) return;
    for (int from = 0; from < ranks_; ++from) {
        for (const Unexpected& each : peer(from).unexpected)
            if (each.cell != no_cell) release(from, each.cell);
        peer(from).unexpected.clear();
    }
}

// ---- sending ----

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
        push(to, tag, static_cast<std::uint16_t>(bytes), no_cell, message);
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
std::uint64_t NodeMessages::push(int to, std::uint32_t tag, std::uint16_t bytes, std::uint16_t cell,
                                 const std::byte* data) {
    const std::uint64_t before = peer(to).pushed++;
    Line& line = lane(rank_, to).lines[before % lane_lines];
    line.tag = tag;
    line.bytes = bytes;
    line.cell = cell;
    if (data != nullptr) std::memcpy(line.data.data(), data, bytes);
    line.number.store(before + 1, std::memory_order_release);
    return before + 1;
}

std::uint16_t NodeMessages::find_cell() {
    std::uint16_t found = no_cell;
    for (std::uint64_t i = 0; i < cells && found == no_cell; ++i) {
        if (area(rank_).readers[next_cell_].left.load(std::memory_order_acquire) == 0) found = next_cell_;
        next_cell_ = static_cast<std::uint16_t>((next_cell_ + 1) % cells);
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
    const std::uint16_t index = find_cell();
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
            push(to, destination.tag, 0, nothing, nullptr);
        }
    if (!has_room(to)) return false;
    const std::uint64_t per_fragment = units_of_fragment(message.elements);
    const std::uint64_t units = std::min(per_fragment, message.units - destination.next * per_fragment);
    const std::uint64_t number = push(to, destination.tag, static_cast<std::uint16_t>(units * message.elements.bytes),
                                      message.cell_of[destination.next % most_cells_of_message], nullptr);
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

// ---- receiving ----

Status NodeMessages::recv(int from, std::uint32_t tag, std::byte* data, std::uint64_t units, const Elements& elements,
                          Token token) {
    Peer& sender = peer(from);
    Posted posted{.tag = tag, .data = data, .units = units, .done = 0, .elements = elements, .token = token};
    if (!sender.unexpected.empty()) {
        const std::size_t before = finished_.size();
        if (const Status status = deliver_unexpected(from, posted); status != 0) return status;
        if (finished_.size() != before) return 0;
    }
    sender.posted.push_back(posted);
    if (!std::exchange(sender.expected, true)) expected_.push_back(from);
    return 0;
}

// A fragment to where it is expected; the message's token is finished with its last one.
Status NodeMessages::deliver(int from, Posted& posted, std::uint64_t number, const std::byte* data,
                             std::uint16_t bytes) {
    const std::uint64_t units = bytes / posted.elements.bytes;
    std::byte* target = posted.data + static_cast<std::ptrdiff_t>(posted.done) * posted.elements.stride;
    assert(posted.done + units <= posted.units && "a message is as long as the plan says");
    if (posted.elements.packing != nullptr) {
        if (const Status status = posted.elements.packing->unpack(data, target, units); status != 0) return status;
    } else if (bytes != 0) {
        copy_shared(target, data, bytes);
    }
    const bool is_first = posted.done == 0;
    posted.done += units;
    if (posted.done == posted.units)
        finished_.push_back(posted.token);
    else if (is_first)
        receipts(rank_, from).granted[number % grants].store(number, std::memory_order_release);
    return 0;
}

Status NodeMessages::deliver_unexpected(int from, Posted& posted) {
    auto& unexpected = peer(from).unexpected;
    for (std::size_t i = 0; i < unexpected.size();) {
        const Unexpected& each = unexpected[i];
        if (each.tag != posted.tag) {
            ++i;
            continue;
        }
        const bool in_cell = each.cell != no_cell;
        const std::byte* data = in_cell ? cell(from, each.cell) : each.data.data();
        if (const Status status = deliver(from, posted, each.number, data, each.bytes); status != 0) return status;
        if (in_cell) release(from, each.cell);
        unexpected.erase(unexpected.begin() + static_cast<std::ptrdiff_t>(i));
        --unexpected_;
        // Later ones with this tag belong to later messages.
        if (posted.done == posted.units) return 0;
    }
    return 0;
}

Status NodeMessages::take(int from, const Line& line) {
    if (line.cell == nothing) return 0;
    Peer& sender = peer(from);
    const bool in_cell = line.cell != no_cell;
    const std::byte* data = in_cell ? cell(from, line.cell) : line.data.data();
    if (is_earlier(line.tag)) {
        if (in_cell) release(from, line.cell);
        return 0;
    }
    const std::uint64_t number = sender.taken + 1;
    const auto found = std::find_if(sender.posted.begin(), sender.posted.end(),
                                    [&](const Posted& each) { return each.tag == line.tag; });
    if (found == sender.posted.end()) {
        Unexpected& kept = sender.unexpected.emplace_back();
        ++unexpected_;
        kept = {.number = number, .tag = line.tag, .bytes = line.bytes, .cell = line.cell, .data = {}};
        if (!in_cell) kept.data.assign(data, data + line.bytes);
        return 0;
    }
    if (const Status status = deliver(from, *found, number, data, line.bytes); status != 0) return status;
    if (in_cell) release(from, line.cell);
    if (found->done == found->units) sender.posted.erase(found);
    return 0;
}

Status NodeMessages::poll(int from) {
    Peer& sender = peer(from);
    const Lane& lines = lane(from, rank_);
    const std::uint64_t before = sender.taken;
    Status status = 0;
    while (status == 0) {
        const Line& line = lines.lines[sender.taken % lane_lines];
        if (line.number.load(std::memory_order_acquire) != sender.taken + 1 || is_later(line.tag)) break;
        status = take(from, line);
        ++sender.taken;
        // At the latest now it needs the lines.
        if (sender.taken - before >= lane_lines / 2) break;
    }
    if (sender.taken != before) receipts(rank_, from).taken.store(sender.taken, std::memory_order_release);
    return status;
}

void NodeMessages::move_out_of_cells(int from) {
    for (Unexpected& each : peer(from).unexpected) {
        if (each.cell == no_cell) continue;
        const std::byte* data = cell(from, each.cell);
        each.data.assign(data, data + each.bytes);
        release(from, std::exchange(each.cell, no_cell));
    }
}

void NodeMessages::release(int from, std::uint16_t cell) const {
    area(from).readers[cell].left.fetch_sub(1, std::memory_order_release);
}

Status NodeMessages::progress(std::vector<Token>& completed) {
    Status status = active_ != 0 ? advance_all() : 0;
    for (std::size_t i = 0; i < expected_.size() && status == 0;) {
        const int from = expected_[i];
        status = poll(from);
        if (peer(from).posted.empty()) {
            peer(from).expected = false;
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
    constexpr int polls_between = 8;
    if (++idle_ % polls_between != 0) return status;
    for (int from = 0; from < ranks_ && status == 0; ++from) {
        if (from == rank_ || area(from).is_short_of_cells.load(std::memory_order_acquire) == 0) continue;
        status = poll(from);
        move_out_of_cells(from);
    }
    return status;
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
    for (Peer& each : peers_) {
        each.posted.clear();
        each.expected = false;
    }
    expected_.clear();
    finished_.clear();
}

}  // namespace hcoll
