// SPDX-License-Identifier: BSD-3-Clause
// Reduce and Allreduce of NodeCollectives: short messages, and which way the others take. Every part of an operation has a header
// with its length, which who combines compares with its own.
#include <cstring>

#include "base/shared_copy.hpp"
#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

void NodeCollectives::wait_for_part(int rank, std::uint64_t operation, std::size_t bytes, std::size_t tier) {
    Flag& theirs = header(rank, operation, tier);
    waiting_.until(theirs, operation + 1);
    if (length_of(theirs) != bytes) [[unlikely]]
        waiting_.give_up(NodeBreak::lengths);
}

const std::byte* NodeCollectives::read(int rank, const ShortMessage& message) {
    wait_for_part(rank, message.operation, message.bytes);
    return area_base(rank) + message.data_offset;
}

// Combines the messages of `ranks`, in their order; in the place of `own_rank`'s, what is at `own`. That may be the accumulator if
// it is the first, and so may the result.
void NodeCollectives::combine_short(const std::vector<int>& ranks, int own_rank, const std::byte* own,
                                    const ShortMessage& message, std::byte* result, const Combine& combine) {
    const std::size_t elements = message.bytes / combine.element_bytes;
    const std::byte* left = nullptr;
    for (const int each : ranks) {
        const std::byte* operand = each == own_rank ? own : read(each, message);
        if (left == nullptr) {
            left = operand;
            continue;
        }
        // Result may be own, which may be needed until the end.
        std::byte* target = each == ranks.back() ? result : accumulator_.get();
        combine(left, operand, target, elements);
        left = target;
    }
}

// The messages of all ranks below this one in `count` of its groups, this rank's at `input`, to `result`. What is combined in between goes
// to `between`, which may be the accumulator where this rank leads all of these groups, and is not used for one. It is not where others wait
// for the result: they would fetch that line each time.
void NodeCollectives::combine_groups(std::size_t count, const std::byte* input, const ShortMessage& message,
                                     std::byte* between, std::byte* result, const Combine& combine) {
    const std::byte* own = input;
    int stands_for = rank_;  // a root, for those who lead its groups
    for (std::size_t i = 0; i < count; ++i) {
        const NodeTree::Group& group = tree_.groups()[i];
        std::byte* target = i + 1 == count ? result : between;
        combine_short(group.members, stands_for, own, message, target, combine);
        own = target;
        stands_for = group.leader();
    }
    if (count == 0) std::memcpy(result, input, message.bytes);
}

void NodeCollectives::reduce_short(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                   const Combine& combine) {
    const ShortMessage message = place_of(operation_++, bytes);
    if (rank_ == root) {
        // Nobody waits for its slot.
        std::byte* between = tree_.is_flat() ? nullptr : claim(message);
        combine_groups(tree_.groups().size(), input, message, between, output, combine);
    } else {
        combine_groups(tree_.groups_led(root), input, message, accumulator_.get(), claim(message), combine);
        message_readers_.add(tree_.way_from(root).source);
        publish(message.operation, bytes);
    }
    finish(message.operation);
}

void NodeCollectives::allreduce_line(const std::byte* input, std::byte* output, std::size_t bytes, std::size_t elements,
                                     Kernel kernel) {
    waiting_.check();
    constexpr SlotRing ring = rings[0];
    const std::uint64_t operation = operation_++;
    claim(operation, ring.slots);
    std::byte* line_of_0 = lines_ + operation % ring.slots * ring.slot_bytes;
    std::byte* own = line_of_0 + static_cast<std::size_t>(rank_) * area_bytes_;
    const auto header_of = [](std::byte* place) -> Flag& { return *reinterpret_cast<Flag*>(place); };
    const auto length = static_cast<std::uint32_t>(bytes);
    const auto wait_for = [&](std::byte* place) {
        waiting_.until(header_of(place), operation + 1);
        if (header_of(place).note != length) [[unlikely]]
            waiting_.give_up(NodeBreak::lengths);
    };
    if (bytes == sizeof(std::uint64_t))
        std::memcpy(own + header_bytes, input, sizeof(std::uint64_t));
    else
        std::memcpy(own + header_bytes, input, bytes);
    header_of(own).note = length;
    raise(header_of(own), operation + 1);
    const std::byte* left = line_of_0 + header_bytes;
    if (rank_ != 0) wait_for(line_of_0);
    std::byte* line_of_last = line_of_0 + static_cast<std::size_t>(ranks_ - 1) * area_bytes_;
    for (std::byte* theirs = line_of_0 + area_bytes_; theirs != line_of_last; theirs += area_bytes_) {
        if (theirs != own) wait_for(theirs);
        kernel(left, theirs + header_bytes, accumulator_.get(), elements);
        left = accumulator_.get();
    }
    if (line_of_last != own) wait_for(line_of_last);
    kernel(left, line_of_last + header_bytes, output, elements);
    message_readers_.learn(operation);
    finish(operation);
}

void NodeCollectives::allreduce_short(const std::byte* input, std::byte* output, std::size_t bytes,
                                      const Combine& combine) {
    if (combine.kernel != nullptr && is_line(bytes))
        return allreduce_line(input, output, bytes, bytes / combine.element_bytes, combine.kernel);
    const ShortMessage message = place_of(operation_++, bytes);
    const std::vector<NodeTree::Group>& groups = tree_.groups();
    std::byte* own = claim(message);
    const std::size_t led = tree_.groups_led();
    combine_groups(led, input, message, accumulator_.get(), own, combine);
    publish_up(led, message.operation, bytes);
    const bool is_in_last = led + 1 == groups.size();
    if (is_in_last) combine_short(groups.back().members, rank_, own, message, output, combine);
    if (tree_.is_flat()) {
        message_readers_.learn(message.operation);
        return finish(message.operation);
    }

    const std::uint64_t answer = operation_++;
    const std::byte* result = output;
    if (!is_in_last) {
        const std::size_t tier = tree_.tier_of(led);
        wait_for_part(groups[led].leader(), answer, bytes, tier);
        result = handed_down(groups[led].leader(), tier, answer, bytes);
    }
    if (led > 0) hand_down(led, answer, bytes, bytes, [&](std::byte* place) { std::memcpy(place, result, bytes); });
    if (!is_in_last) copy_shared(output, result, bytes);
    message_readers_.learn(message.operation);
    finish(answer);
}

void NodeCollectives::reduce_single_copy(int root, const std::byte* input, std::byte* output, std::size_t elements,
                                         const Combine& combine) {
    const bool wants_result = root == no_root || root == rank_;
    for (const SingleCopy::Rest& rest : single_copy_.reduce(root, input, output, elements, combine)) {
        std::byte* target = wants_result ? output + rest.delivered : nullptr;
        const std::size_t bytes = rest.combined - rest.delivered;
        const bool takes_part = rank_ == rest.rank || wants_result;
        bcast_blocks(rest.rank, {rank_ == rest.rank ? rest.result : target, takes_part ? bytes : 0}, bytes, no_header);
        if (rest.combined < rest.end)
            reduce_blocks(root, input + rest.combined, wants_result ? output + rest.combined : nullptr,
                          rest.end - rest.combined, combine, no_header);
    }
}

// A reduction of more than short_bytes.
void NodeCollectives::reduce_long(int root, const std::byte* input, std::byte* output, std::size_t elements,
                                  const Combine& combine, std::size_t single_copy_from) {
    const std::size_t bytes = elements * combine.element_bytes;
    const std::uint64_t operation = operation_++;
    claim(operation, rings[0].slots);
    if (is_copied_once(bytes, single_copy_from)) {
        // No share of a message is like another one's where lengths differ.
        message_readers_.add_all();
        publish(operation, bytes);
        for (int each = 0; each < ranks_; ++each) wait_for_part(each, operation, bytes);
        reduce_single_copy(root, input, output, elements, combine);
    } else {
        reduce_blocks(root, input, output, bytes, combine, operation);
    }
    finish(operation);
}

void NodeCollectives::reduce(int root, const std::byte* input, std::byte* output, std::size_t elements,
                             const Combine& combine, std::size_t single_copy_from) {
    waiting_.check();
    BreakOnUnwinding guard(waiting_);
    const std::size_t bytes = elements * combine.element_bytes;
    if (bytes <= short_bytes)
        reduce_short(root, input, output, bytes, combine);
    else
        reduce_long(root, input, output, elements, combine, single_copy_from);
    guard.end();
}

void NodeCollectives::allreduce(const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                                std::size_t single_copy_from) {
    waiting_.check();
    BreakOnUnwinding guard(waiting_);
    const std::size_t bytes = elements * combine.element_bytes;
    if (bytes <= short_bytes)
        allreduce_short(input, output, bytes, combine);
    else
        reduce_long(no_root, input, output, elements, combine, single_copy_from);
    guard.end();
}

}  // namespace hcoll
