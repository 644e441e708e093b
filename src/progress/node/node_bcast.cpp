// SPDX-License-Identifier: BSD-3-Clause
// Bcast of NodeCollectives: its length, its short messages, and which way the others take.
#include <cstring>

#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

// Who reads it is noted by whoever calls this.
void NodeCollectives::send_short(std::uint64_t operation, const NodeBuffer& buffer, std::size_t bytes) {
    const ShortMessage message = place_of(operation, bytes);
    buffer.give(0, bytes, claim(message));
    publish(operation, bytes);
}

// Its header is there.
void NodeCollectives::take_short(std::uint64_t operation, std::size_t bytes, const NodeBuffer& buffer) {
    const std::byte* received = handed_down(way_.source, way_.tier, operation, bytes);
    if (way_.led > 0)
        hand_down(way_.led, operation, bytes, bytes, [&](std::byte* place) { std::memcpy(place, received, bytes); });
    buffer.take(0, bytes, received);
}

// A length alone.
void NodeCollectives::announce(std::size_t led, std::uint64_t operation, std::size_t length) {
    if (led > 0) hand_down(led, operation, length, 0, [](std::byte*) {});
}

void NodeCollectives::bcast_single_copy(int root, const NodeBuffer& buffer, std::size_t bytes) {
    const bool arrived = buffer.is_memory() ? single_copy_.bcast(root, buffer.data, bytes, buffer.capacity)
                                            : single_copy_.bcast(root, nullptr, bytes, 0);
    if (!arrived) return bcast_blocks(root, buffer, bytes, no_header);
    leave_blocks(bytes);
}

bool NodeCollectives::bcast(int root, std::byte* data, std::size_t bytes, std::size_t single_copy_from,
                            const ScatteredBytes* scattered) {
    const NodeBuffer buffer(data, bytes, scattered);
    if (rank_ != root) return take_bcast(root, await_length(root), buffer, single_copy_from);
    waiting_.check();
    const std::uint64_t operation = operation_++;
    if (bytes <= short_bytes) {
        hand_down(tree_.groups().size(), operation, bytes, bytes,
                  [&](std::byte* place) { buffer.give(0, bytes, place); });
    } else if (is_copied_once(bytes, single_copy_from)) {
        announce(tree_.groups().size(), operation, bytes);
        bcast_single_copy(root, buffer, bytes);
    } else {
        bcast_blocks(root, buffer, bytes, operation);
    }
    finish(operation);
    return true;
}

std::size_t NodeCollectives::bcast_line(int root, std::byte* data, std::size_t bytes) {
    const auto copy = [bytes](std::byte* to, const std::byte* from) {
        if (bytes == sizeof(std::uint64_t))
            std::memcpy(to, from, sizeof(std::uint64_t));
        else
            std::memcpy(to, from, bytes);
    };
    if (rank_ != root) {
        const std::size_t length = await_length(root);
        if (length != bytes) [[unlikely]]
            return length;
        copy(data, message_in(header(root, operation_)));
    } else {
        waiting_.check();
        claim(operation_, rings[0].slots);
        copy(message_in(header(rank_, operation_)), data);
        publish(operation_, bytes);
    }
    finish(operation_++);
    return bytes;
}

std::size_t NodeCollectives::await_length(int root) {
    waiting_.check();
    way_ = tree_.way_from(root);
    Flag& announced = header(way_.source, operation_, way_.tier);
    waiting_.until(announced, operation_ + 1);
    return length_of(announced);
}

bool NodeCollectives::take_bcast(int root, std::size_t bytes, const NodeBuffer& buffer, std::size_t single_copy_from) {
    const std::uint64_t operation = operation_++;
    if (bytes <= short_bytes) {
        take_short(operation, bytes, buffer);
    } else {
        announce(way_.led, operation, bytes);
        if (is_copied_once(bytes, single_copy_from))
            bcast_single_copy(root, buffer, bytes);
        else
            bcast_blocks(root, buffer, bytes, operation);
    }
    finish(operation);
    return buffer.data == nullptr || bytes <= buffer.capacity;
}

void NodeCollectives::announce_bcast(std::size_t bytes) {
    waiting_.check();
    const std::uint64_t operation = operation_++;
    announce(tree_.groups().size(), operation, bytes);
    finish(operation);
}

void NodeCollectives::leave_bcast(std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    announce(way_.led, operation, bytes);
    finish(operation);
}

}  // namespace hcoll
