// SPDX-License-Identifier: BSD-3-Clause
// How NodeMessages receive: fragments to where they are expected, and what nobody has asked for yet out of the way.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/shared_copy.hpp"
#include "progress/node/node_messages.hpp"

namespace hcoll {

Status NodeMessages::recv(int from, std::uint32_t tag, std::byte* data, std::uint64_t units, const Elements& elements,
                          Token token) {
    Incoming& sent = incoming(from);
    Posted posted{.tag = tag, .data = data, .units = units, .done = 0, .elements = elements, .token = token};
    if (!sent.unexpected.empty()) {
        const std::size_t before = finished_.size();
        if (const Status status = deliver_unexpected(from, posted); status != 0) return status;
        if (finished_.size() != before) return 0;
    }
    sent.posted.push_back(posted);
    if (!std::exchange(sent.expected, true)) expected_.push_back(from);
    return 0;
}

// A fragment to where it is expected, as far as there is room; the message's token is finished with its last one.
Status NodeMessages::deliver(int from, Posted& posted, const Fragment& fragment, const std::byte* data) {
    const std::uint64_t sent = fragment.bytes / posted.elements.bytes;
    const std::uint64_t units = std::min(sent, posted.units - posted.done);
    // Remembered while the plan goes on: others may depend on what this rank forwards.
    if (units * posted.elements.bytes != fragment.bytes) [[unlikely]]
        outcome_ = status_truncated;
    std::byte* target = posted.data + static_cast<std::ptrdiff_t>(posted.done) * posted.elements.stride;
    if (units == 0) {
        // Nothing is to be written: an empty message, or one that is full.
    } else if (posted.elements.packing != nullptr) {
        if (const Status status = posted.elements.packing->unpack(data, target, units); status != 0) return status;
    } else {
        copy_shared(target, data, units * posted.elements.bytes);
    }
    posted.done += units;
    if (fragment.is_last) {
        posted.is_complete = true;
        finished_.push_back(posted.token);
    } else if (!std::exchange(posted.has_begun, true)) {
        grant(from, fragment.number);
    }
    return 0;
}

Status NodeMessages::deliver_unexpected(int from, Posted& posted) {
    auto& unexpected = incoming(from).unexpected;
    for (std::size_t i = 0; i < unexpected.size();) {
        const Fragment& each = unexpected[i].fragment;
        if (each.tag != posted.tag) {
            ++i;
            continue;
        }
        const bool in_cell = each.cell != no_cell;
        const std::byte* data = in_cell ? cell(from, each.cell) : unexpected[i].data.data();
        if (const Status status = deliver(from, posted, each, data); status != 0) return status;
        if (in_cell) release(from, each.cell);
        unexpected.erase(unexpected.begin() + static_cast<std::ptrdiff_t>(i));
        --unexpected_;
        // Later ones with this tag belong to later messages.
        if (posted.is_complete) return 0;
    }
    return 0;
}

void NodeMessages::grant(int from, std::uint64_t number) const {
    receipts(rank_, from).granted[number % grants].store(number, std::memory_order_release);
}

// What is left over. Its sender may yet wait for leave to send the rest.
void NodeMessages::drop(int from, const Fragment& fragment) const {
    if (fragment.cell != no_cell) release(from, fragment.cell);
    if (!fragment.is_last) grant(from, fragment.number);
}

Status NodeMessages::take(int from, const Line& line) {
    if (line.cell == nothing) return 0;
    const Fragment fragment{.number = peer(from).taken + 1,
                            .tag = line.tag,
                            .bytes = line.bytes,
                            .cell = line.cell,
                            .is_last = line.is_last};
    const bool in_cell = fragment.cell != no_cell;
    check(in_cell ? fragment.cell < cells && fragment.bytes <= cell_bytes_ : fragment.bytes <= inline_bytes,
          "a fragment is longer than its place");
    if (is_earlier(fragment.tag)) {
        drop(from, fragment);
        return 0;
    }
    const std::byte* data = in_cell ? cell(from, fragment.cell) : line.data.data();
    Incoming& sent = incoming(from);
    const auto found = std::find_if(sent.posted.begin(), sent.posted.end(),
                                    [&](const Posted& each) { return each.tag == fragment.tag; });
    if (found == sent.posted.end()) {
        Unexpected& kept = sent.unexpected.emplace_back();
        ++unexpected_;
        kept.fragment = fragment;
        if (!in_cell) kept.data.assign(data, data + fragment.bytes);
        return 0;
    }
    if (const Status status = deliver(from, *found, fragment, data); status != 0) return status;
    if (in_cell) release(from, fragment.cell);
    if (found->is_complete) sent.posted.erase(found);
    return 0;
}

bool NodeMessages::take_line(int from, std::uint32_t tag, std::byte* data, std::uint64_t bytes) {
    Peer& sender = peer(from);
    const Line& line = next_line(from, sender);
    if (line.number.load(std::memory_order_acquire) != sender.taken + 1) return false;
    if (line.tag != tag || line.bytes != bytes || line.cell != no_cell || !line.is_last) return false;
    if (bytes > inline_bytes || sender.has_incoming()) return false;
    std::memcpy(data, line.data.data(), bytes);
    receipts(rank_, from).taken.store(++sender.taken, std::memory_order_release);
    return true;
}

Status NodeMessages::poll(int from) {
    Peer& sender = peer(from);
    const std::uint64_t before = sender.taken;
    Status status = 0;
    while (status == 0) {
        const Line& line = next_line(from, sender);
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
    if (peer(from).incoming == nullptr) return;
    for (Unexpected& each : incoming(from).unexpected) {
        Fragment& fragment = each.fragment;
        if (fragment.cell == no_cell) continue;
        const std::byte* data = cell(from, fragment.cell);
        each.data.assign(data, data + fragment.bytes);
        release(from, std::exchange(fragment.cell, no_cell));
    }
}

void NodeMessages::release(int from, std::uint8_t cell) const {
    area(from).readers[cell].left.fetch_sub(1, std::memory_order_release);
}

}  // namespace hcoll
