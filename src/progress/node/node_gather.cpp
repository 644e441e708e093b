// SPDX-License-Identifier: BSD-3-Clause
// Gather, Scatter and Allgather of NodeCollectives: every rank has a portion of a whole.
//
// In gather and allgather every rank finds out the same way from the bytes of its portion, and whoever reads another one's header compares that with
// its own: in each of the ways a header is read by a rank that waits for it, so ranks that differ give up and do not wait for one another. A scatter
// goes by what the root's header says.
#include <algorithm>
#include <cstring>

#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

namespace {

std::size_t offset_of(int rank, std::size_t bytes) { return static_cast<std::size_t>(rank) * bytes; }

// What other processes can copy.
std::byte* memory_of(const NodeBuffer& buffer) { return buffer.is_memory() ? buffer.data : nullptr; }

}  // namespace

// This rank's own portion, from one of its buffers to the other, unless it is there.
void NodeCollectives::keep_own(const NodeBuffer& from, std::size_t from_offset, const NodeBuffer& to,
                               std::size_t to_offset, std::size_t bytes) {
    if (from.data == nullptr || to.data == nullptr) return;
    if (from.scattered == to.scattered && from.data + from_offset == to.data + to_offset) return;
    if (from.scattered == nullptr) return to.take(to_offset, bytes, from.data + from_offset);
    for (std::size_t done = 0; done < bytes; done += short_bytes) {
        const std::size_t length = std::min(short_bytes, bytes - done);
        from.give(from_offset + done, length, accumulator_.get());
        to.take(to_offset + done, length, accumulator_.get());
    }
}

// From where portions lie in the order of the tree.
void NodeCollectives::take_whole(const NodeBuffer& whole, std::size_t bytes, const std::byte* in_order) {
    if (tree_.is_in_rank_order()) return whole.take(0, whole_bytes(bytes), in_order);
    for (int each = 0; each < ranks_; ++each)
        whole.take(offset_of(each, bytes), bytes, in_order + offset_of(tree_.position_of(each), bytes));
}

// Of the other members of groups [first, end) around this rank: deliver(run, their portions).
template <typename Deliver>
void NodeCollectives::collect(std::size_t first, std::size_t end, std::uint64_t operation, std::size_t bytes,
                              Deliver&& deliver) {
    const int own = tree_.position_of(rank_);
    for (std::size_t i = first; i < end; ++i) {
        const NodeTree::Group& group = tree_.groups()[i];
        for (std::size_t member = 0; member < group.members.size(); ++member) {
            const NodeTree::Run run = tree_.run_of(group, member);
            if (run.has(own)) continue;  // this rank, or who would be here if it were not for this one
            const int rank = group.members[member];
            wait_for_part(rank, operation, bytes);
            deliver(run, area_base(rank) + place_of(operation, run.size() * bytes).data_offset);
        }
    }
}

// Where a message of several parts is put together for this rank's place. Not in a line that others wait for: they would fetch it for each part.
std::byte* NodeCollectives::workplace_of(const ShortMessage& message, std::byte* place) const {
    return message.bytes <= line_bytes ? accumulator_.get() : place;
}

// All ranks' slots of that operation.
void NodeCollectives::take_portions(std::uint64_t operation, const NodeBuffer& portion, const NodeBuffer& whole,
                                    std::size_t bytes) {
    const ShortMessage message = place_of(operation, bytes);
    keep_own(portion, 0, whole, offset_of(rank_, bytes), bytes);
    levels_.visit_others([&](int each) { whole.take(offset_of(each, bytes), bytes, read(each, message)); });
}

// ---- gather ----

void NodeCollectives::gather_along_groups(int root, const NodeBuffer& portion, const NodeBuffer& whole,
                                          std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    if (rank_ == root) {
        std::byte* in_order = accumulator_.get();
        collect(0, tree_.groups().size(), operation, bytes, [&](NodeTree::Run run, const std::byte* source) {
            std::memcpy(in_order + offset_of(run.begin, bytes), source, run.size() * bytes);
        });
        portion.give(0, bytes, in_order + offset_of(tree_.position_of(rank_), bytes));
        take_whole(whole, bytes, in_order);
    } else {
        const std::size_t led = tree_.groups_led(root);
        const NodeTree::Run mine = tree_.run_led(led);
        const ShortMessage message = place_of(operation, mine.size() * bytes);
        std::byte* own = claim(message);
        std::byte* made = led == 0 ? own : workplace_of(message, own);
        portion.give(0, bytes, made);
        collect(0, led, operation, bytes, [&](NodeTree::Run run, const std::byte* source) {
            std::memcpy(made + offset_of(run.begin - mine.begin, bytes), source, run.size() * bytes);
        });
        if (made != own) std::memcpy(own, made, message.bytes);
        message_readers_.add(tree_.way_from(root).source);
        publish(operation, bytes);
    }
    finish(operation);
}

void NodeCollectives::gather_slots(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    if (rank_ == root) {
        take_portions(operation, portion, whole, bytes);
    } else {
        send_short(operation, portion, bytes);
        message_readers_.add(root);
    }
    finish(operation);
}

// Without a header: of those whose portion could not be copied once.
void NodeCollectives::gather_blocks(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                                    Header header) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        const bool is_announced = header && offset == 0;
        if (rank_ != root) {
            claim_block(number);
            block_readers_.add(root);
            portion.give(offset, length, block(rank_, number));
            begin_blocks(number, bytes, is_announced ? header : no_header);
        } else {
            for (int step = 1; step < ranks_; ++step) {
                const int each = (root + step) % ranks_;
                if (!header && single_copy_.has_moved(each)) continue;
                wait_for_first_block(each, number, bytes, is_announced ? header : no_header);
                whole.take(offset_of(each, bytes) + offset, length, block(each, number));
            }
        }
        finish_block(number);
    }
}

void NodeCollectives::gather_long(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                                  std::size_t single_copy_from) {
    const std::uint64_t operation = operation_++;
    claim(operation, rings[0].slots);
    message_readers_.add(root);
    if (!is_copied_once(bytes, single_copy_from)) {
        gather_blocks(root, portion, whole, bytes, operation);
    } else {
        // Nobody writes into the whole before the root knows that portions are as long as it has room for.
        if (rank_ != root) publish(operation, bytes);
        for (int each = 0; rank_ == root && each < ranks_; ++each)
            if (each != root) wait_for_part(each, operation, bytes);
        if (single_copy_.gather(root, memory_of(portion), memory_of(whole), bytes)) {
            leave_blocks(bytes);
        } else {
            gather_blocks(root, portion, whole, bytes, no_header);
            single_copy_.settle_gather(root);
        }
    }
    if (rank_ == root) keep_own(portion, 0, whole, offset_of(rank_, bytes), bytes);
    finish(operation);
}

void NodeCollectives::gather(int root, const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                             std::size_t single_copy_from) {
    waiting_.check();
    if (goes_along_groups(bytes))
        gather_along_groups(root, portion, whole, bytes);
    else if (bytes <= short_bytes)
        gather_slots(root, portion, whole, bytes);
    else
        gather_long(root, portion, whole, bytes, single_copy_from);
}

// ---- scatter ----

// The whole is a short message.
void NodeCollectives::scatter_short(const NodeBuffer& whole, std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    hand_down(tree_.groups().size(), operation, bytes, whole_bytes(bytes), [&](std::byte* in_order) {
        if (tree_.is_in_rank_order()) return whole.give(0, whole_bytes(bytes), in_order);
        for (int each = 0; each < ranks_; ++each)
            whole.give(offset_of(each, bytes), bytes, in_order + offset_of(tree_.position_of(each), bytes));
    });
    finish(operation);
}

void NodeCollectives::take_scattered(int root, const NodeBuffer& portion, std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    const std::size_t led = tree_.groups_led(root);
    const NodeTree::Run theirs = way_.source == root ? NodeTree::Run{0, ranks_} : tree_.run_led_by(led, root);
    const std::byte* received = handed_down(way_.source, way_.tier, operation, theirs.size() * bytes);
    if (led > 0) {
        const NodeTree::Run mine = tree_.run_led(led);
        hand_down(led, operation, bytes, mine.size() * bytes, [&](std::byte* place) {
            std::memcpy(place, received + offset_of(mine.begin - theirs.begin, bytes), mine.size() * bytes);
        });
    }
    portion.take(0, bytes, received + offset_of(tree_.position_of(rank_) - theirs.begin, bytes));
    finish(operation);
}

// All portions but the root's, one after another in the order of ranks.
void NodeCollectives::scatter_blocks(int root, const NodeBuffer& whole, std::size_t bytes, Header header) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    const std::size_t all = whole_bytes(bytes) - bytes;
    const std::size_t before_root = offset_of(root, bytes);
    for (std::size_t offset = 0; offset < all; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t end = std::min(offset + block_bytes, all);
        const std::size_t middle = std::clamp(before_root, offset, end);
        claim_block(number);
        block_readers_.add_all();
        std::byte* target = block(root, number);
        whole.give(offset, middle - offset, target);
        whole.give(middle + bytes, end - middle, target + (middle - offset));
        begin_blocks(number, bytes, no_header);
        if (header && offset == 0) announce(tree_.groups().size(), *header, bytes);
        finish_block(number);
    }
}

void NodeCollectives::take_scattered_blocks(int root, const NodeBuffer& portion, std::size_t bytes) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    const std::size_t all = whole_bytes(bytes) - bytes;
    const std::size_t begin = offset_of(rank_ < root ? rank_ : rank_ - 1, bytes);
    const std::uint64_t first = block_number_;
    block_number_ = first + begin / block_bytes;
    raise(area(rank_).consumed, block_number_);  // what is before is not for this rank
    for (std::size_t taken = 0; taken < bytes;) {
        const std::uint64_t number = block_number_++;
        const std::size_t from = (begin + taken) % block_bytes;
        const std::size_t length = std::min(block_bytes - from, bytes - taken);
        waiting_.until(area(root).ready, number + 1);
        portion.take(taken, length, block(root, number) + from);
        taken += length;
        finish_block(number);
    }
    block_number_ = first + (all + block_bytes - 1) / block_bytes;
    raise(area(rank_).consumed, block_number_);
}

void NodeCollectives::scatter_long(int root, const NodeBuffer& whole, const NodeBuffer& portion, std::size_t bytes,
                                   std::size_t single_copy_from) {
    const std::uint64_t operation = operation_++;
    const bool once = is_copied_once(bytes, single_copy_from);
    if (rank_ == root) {
        if (once) announce(tree_.groups().size(), operation, bytes);
    } else {
        announce(way_.led, operation, bytes);
    }
    // Blocks are for those whose portion could not be copied once.
    if (once && single_copy_.scatter(root, memory_of(whole), memory_of(portion), bytes, portion.capacity))
        leave_blocks(whole_bytes(bytes) - bytes);
    else if (rank_ == root)
        scatter_blocks(root, whole, bytes, once ? no_header : Header(operation));
    else
        take_scattered_blocks(root, portion, bytes);
    finish(operation);
}

std::size_t NodeCollectives::scatter(int root, const NodeBuffer& whole, const NodeBuffer& portion, std::size_t bytes,
                                     std::size_t single_copy_from) {
    if (rank_ == root)
        waiting_.check();
    else
        bytes = await_length(root);
    const bool is_short = whole_bytes(bytes) <= short_bytes;
    if (!is_short)
        scatter_long(root, whole, portion, bytes, single_copy_from);
    else if (rank_ == root)
        scatter_short(whole, bytes);
    else
        take_scattered(root, portion, bytes);
    if (rank_ == root) keep_own(whole, offset_of(rank_, bytes), portion, 0, bytes);
    return bytes;
}

// ---- allgather ----

// Up: where the whole is short, leaders have the portions of the ranks below them; else each has its own in its slot. Down: the whole, or that all
// are there. Who has portions of all knows that all have begun, and are done with everything before.
void NodeCollectives::allgather_in_groups(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes) {
    const bool together = goes_along_groups(bytes);
    const std::uint64_t operation = operation_++;
    const std::size_t led = tree_.groups_led();
    const NodeTree::Run mine = tree_.run_led(together ? led : 0);
    const ShortMessage message = place_of(operation, mine.size() * bytes);
    std::byte* own = claim(message);
    std::byte* made = led == 0 ? own : workplace_of(message, own);
    portion.give(0, bytes, made);
    collect(0, led, operation, bytes, [&](NodeTree::Run run, const std::byte* source) {
        if (together) std::memcpy(made + offset_of(run.begin - mine.begin, bytes), source, run.size() * bytes);
    });
    if (made != own) std::memcpy(own, made, message.bytes);
    if (!together) message_readers_.add_all();
    publish_up(led, operation, bytes);

    const std::uint64_t answer = operation_++;
    const std::size_t answer_bytes = together ? whole_bytes(bytes) : 0;
    const std::byte* received = accumulator_.get();
    if (led + 1 == tree_.groups().size()) {
        std::byte* in_order = accumulator_.get();
        if (together) std::memcpy(in_order + offset_of(mine.begin, bytes), own, mine.size() * bytes);
        collect(led, led + 1, operation, bytes, [&](NodeTree::Run run, const std::byte* source) {
            if (together) std::memcpy(in_order + offset_of(run.begin, bytes), source, run.size() * bytes);
        });
    } else {
        const int leader = tree_.groups()[led].leader();
        const std::size_t tier = tree_.tier_of(led);
        wait_for_part(leader, answer, bytes, tier);
        received = handed_down(leader, tier, answer, answer_bytes);
    }
    if (led > 0)
        hand_down(led, answer, bytes, answer_bytes,
                  [&](std::byte* place) { std::memcpy(place, received, answer_bytes); });
    if (together)
        take_whole(whole, bytes, received);
    else
        take_portions(operation, portion, whole, bytes);
    message_readers_.learn(operation);
    finish(answer);
}

void NodeCollectives::allgather_blocks(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                                       Header header) {
    const Blocks blocks = next_blocks(bytes, 1);
    const auto copy_in = [&](std::uint64_t index) {
        claim_block(blocks.first + index);
        block_readers_.add_all();
        portion.give(blocks.offset(index), blocks.length(index), block(rank_, blocks.first + index));
        begin_blocks(blocks.first + index, bytes, index == 0 ? header : no_header);
    };
    copy_in(0);
    for (std::uint64_t index = 0; index < blocks.count; ++index) {
        if (index + 1 < blocks.count) copy_in(index + 1);
        const std::uint64_t number = blocks.first + index;
        if (index != 0) wait_for_all_ready(number);
        levels_.visit_others([&](int each) {
            if (index == 0) wait_for_first_block(each, number, bytes, header);
            whole.take(offset_of(each, bytes) + blocks.offset(index), blocks.length(index), block(each, number));
        });
        finish_block(number);
    }
    block_readers_.learn(blocks.first);
}

void NodeCollectives::allgather_long(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                                     std::size_t single_copy_from) {
    const std::uint64_t operation = operation_++;
    claim(operation, rings[0].slots);
    message_readers_.add_all();
    if (!is_copied_once(bytes, single_copy_from)) {
        allgather_blocks(portion, whole, bytes, operation);
    } else {
        publish(operation, bytes);
        for (int each = 0; each < ranks_; ++each) wait_for_part(each, operation, bytes);
        if (single_copy_.allgather(memory_of(portion), memory_of(whole), bytes))
            leave_blocks(bytes);
        else
            allgather_blocks(portion, whole, bytes, no_header);
    }
    keep_own(portion, 0, whole, offset_of(rank_, bytes), bytes);
    message_readers_.learn(operation);
    finish(operation);
}

void NodeCollectives::allgather(const NodeBuffer& portion, const NodeBuffer& whole, std::size_t bytes,
                                std::size_t single_copy_from) {
    waiting_.check();
    if (bytes > short_bytes) return allgather_long(portion, whole, bytes, single_copy_from);
    if (!tree_.is_flat()) return allgather_in_groups(portion, whole, bytes);
    const std::uint64_t operation = operation_++;
    send_short(operation, portion, bytes);
    take_portions(operation, portion, whole, bytes);
    message_readers_.learn(operation);
    finish(operation);
}

}  // namespace hcoll
