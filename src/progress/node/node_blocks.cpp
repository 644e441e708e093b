// SPDX-License-Identifier: BSD-3-Clause
// Long messages of NodeCollectives, by blocks that pass through a ring. Where an operation has headers, that of a rank also says
// that its first block is there.
#include <algorithm>
#include <cstring>
#include <span>

#include "base/shared_copy.hpp"
#include "progress/node/nested_combination.hpp"
#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

namespace {

// The elements of a block that each rank combines.
struct Slices {
    std::size_t elements;
    std::size_t element_bytes;
    int ranks;

    std::size_t begin(int rank) const { return NodeLevels::Share{rank, ranks}.begin(elements, element_bytes); }
    std::size_t end(int rank) const { return begin(rank + 1); }
};

}  // namespace

std::byte* NodeCollectives::block(int rank, std::uint64_t number) const {
    return reinterpret_cast<std::byte*>(&area(rank)) + Area::head_bytes() +
           number % depth * block_bytes_of(buffer_bytes_);
}

std::byte* NodeCollectives::result_slice(int rank, std::uint64_t number) const {
    return block(rank, 0) + depth * block_bytes_of(buffer_bytes_) + number % depth * slice_bytes_of(buffer_bytes_);
}

NodeCollectives::Blocks NodeCollectives::next_blocks(std::size_t bytes, std::size_t element_bytes) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_) / element_bytes * element_bytes;
    const Blocks blocks{block_number_, (bytes + block_bytes - 1) / block_bytes, block_bytes, bytes};
    block_number_ += blocks.count;
    return blocks;
}

// As with claim().
void NodeCollectives::claim_block(std::uint64_t number) {
    if (number >= block_readers_.known() + depth)
        wait_for_readers<Area::consumed_of>(block_readers_, number, number - depth / 2);
}

void NodeCollectives::wait_for_all_ready(std::uint64_t number) {
    if (known_ready_ > number) return;
    std::uint64_t lowest = ~std::uint64_t{0};
    for (int each = 0; each < ranks_; ++each) {
        Flag& ready = area(each).ready;
        waiting_.until(ready, number + 1);
        lowest = std::min(lowest, ready.value.load(std::memory_order_acquire));
    }
    known_ready_ = lowest;
}

void NodeCollectives::finish_block(std::uint64_t number) {
    raise(area(rank_).consumed, number + 1);
    progress_sometimes();
}

// Others may yet need the blocks of a message: those that it would take are this rank's last word on them.
void NodeCollectives::leave_blocks(std::size_t bytes) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    block_number_ += (bytes + block_bytes - 1) / block_bytes;
    raise(area(rank_).consumed, block_number_);
}

// Along the node's levels: who has a block before others of its parts passes it on through a ring of its own.
void NodeCollectives::pass_on_blocks(int root, const NodeBuffer& buffer, std::size_t bytes) {
    bool has_readers = false;
    const int sender = levels_.pass_on(root, [&](int) { has_readers = true; });
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        const std::byte* received = block(sender, number);
        if (rank_ != root) waiting_.until(area(sender).ready, number + 1);
        if (has_readers) {
            claim_block(number);
            levels_.pass_on(root, [&](int each) { block_readers_.add(each); });
            std::byte* own = block(rank_, number);
            if (rank_ == root)
                buffer.give(offset, length, own);
            else
                copy_shared(own, received, length);
            raise(area(rank_).ready, number + 1);
        }
        if (rank_ != root) buffer.take(offset, length, received);
        finish_block(number);
    }
}

// `bytes` are the root's. Without a header, not all ranks may take part.
void NodeCollectives::bcast_blocks(int root, const NodeBuffer& buffer, std::size_t bytes, Header header) {
    if (header && levels_.is_divided()) {
        if (rank_ == root) announce(tree_.groups().size(), *header, bytes);
        return pass_on_blocks(root, buffer, bytes);
    }
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        const bool is_announced = header && offset == 0;
        if (rank_ == root) {
            claim_block(number);
            block_readers_.add_all();
            buffer.give(offset, length, block(root, number));
            raise(area(root).ready, number + 1);
            if (is_announced) announce(tree_.groups().size(), *header, bytes);
        } else {
            // Where it was announced, the first one was there already.
            if (!is_announced) waiting_.until(area(root).ready, number + 1);
            buffer.take(offset, length, block(root, number));
        }
        finish_block(number);
    }
}

// The first `count` operands.
void NodeCollectives::combine_operands(std::size_t count, std::byte* result, std::size_t bytes,
                                       const Combine& combine) const {
    combine_in_order(std::span(operands_).first(count), result, bytes, combine, accumulator_.get(), short_bytes);
}

// Those of all ranks, as they would be combined along levels.
void NodeCollectives::combine_all(std::byte* result, std::size_t bytes, const Combine& combine) const {
    if (!levels_.is_divided()) return combine_operands(operands_.size(), result, bytes, combine);
    constexpr std::size_t place_bytes = short_bytes / NodeLevels::most_levels / cache_line_bytes * cache_line_bytes;
    NestedCombination::Places places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = accumulator_.get() + i * place_bytes;
    const std::size_t step = place_bytes / combine.element_bytes * combine.element_bytes;
    for (std::size_t offset = 0; offset < bytes; offset += step) {
        const std::size_t length = std::min(step, bytes - offset);
        NestedCombination nested(levels_, combine, length / combine.element_bytes, places);
        for (int position = 0; position < ranks_; ++position)
            nested.add(position, operands_[static_cast<std::size_t>(levels_.rank_at(position))] + offset);
        nested.finish(result + offset);
    }
}

// This rank's first block is there; with it, where the operation has headers, how long its message is.
void NodeCollectives::begin_blocks(std::uint64_t number, std::size_t bytes, Header header) {
    raise(area(rank_).ready, number + 1);
    if (header) publish(*header, bytes);
}

// Until that one's first block is there, and is one of a message as long as this rank's.
void NodeCollectives::wait_for_first_block(int rank, std::uint64_t number, std::size_t bytes, Header header) {
    if (header)
        wait_for_part(rank, *header, bytes);
    else
        waiting_.until(area(rank).ready, number + 1);
}

void NodeCollectives::reduce_at_root(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                     const Combine& combine, Header header) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_) / combine.element_bytes * combine.element_bytes;
    if (header) message_readers_.add(root);
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        if (rank_ == root) {
            for (int each = 0; each < ranks_; ++each) {
                if (each != root) {
                    if (offset == 0)
                        wait_for_first_block(each, number, bytes, header);
                    else
                        waiting_.until(area(each).ready, number + 1);
                }
                operands_[static_cast<std::size_t>(each)] = each == root ? input + offset : block(each, number);
            }
            combine_all(output + offset, length, combine);
        } else {
            claim_block(number);
            block_readers_.add(root);
            std::memcpy(block(rank_, number), input + offset, length);
            if (offset == 0)
                begin_blocks(number, bytes, header);
            else
                raise(area(rank_).ready, number + 1);
        }
        finish_block(number);
    }
}

void NodeCollectives::reduce_by_slices(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                       const Combine& combine, Header header) {
    const Blocks blocks = next_blocks(bytes, combine.element_bytes);
    const auto slices_of = [&](std::uint64_t index) {
        return Slices{blocks.length(index) / combine.element_bytes, combine.element_bytes, ranks_};
    };
    const auto copy_in = [&](std::uint64_t index) {
        const Slices slices = slices_of(index);
        const std::byte* source = input + blocks.offset(index);
        std::byte* target = block(rank_, blocks.first + index);
        claim_block(blocks.first + index);
        block_readers_.add_all();
        const std::size_t begin = slices.begin(rank_);
        const std::size_t end = slices.end(rank_);
        std::memcpy(target, source, begin);
        std::memcpy(target + end, source + end, slices.end(ranks_ - 1) - end);
        if (index == 0)
            begin_blocks(blocks.first, bytes, header);
        else
            raise(area(rank_).ready, blocks.first + index + 1);
    };
    if (header) message_readers_.add_all();
    copy_in(0);
    for (std::uint64_t index = 0; index < blocks.count; ++index) {
        if (index + 1 < blocks.count) copy_in(index + 1);
        const std::uint64_t number = blocks.first + index;
        const Slices slices = slices_of(index);
        const std::size_t begin = slices.begin(rank_);
        const std::size_t length = slices.end(rank_) - begin;
        if (index == 0)
            for (int each = 0; each < ranks_; ++each) wait_for_first_block(each, number, bytes, header);
        else
            wait_for_all_ready(number);
        for (int each = 0; each < ranks_; ++each)
            operands_[static_cast<std::size_t>(each)] =
                (each == rank_ ? input + blocks.offset(index) : block(each, number)) + begin;
        std::byte* own = result_slice(rank_, number);
        combine_operands(operands_.size(), own, length, combine);
        raise(area(rank_).reduced, number + 1);
        if (root == rank_ || root == no_root) {
            std::byte* target = output + blocks.offset(index);
            std::memcpy(target + begin, own, length);
            for (int step = 1; step < ranks_; ++step) {
                const int each = (rank_ + step) % ranks_;
                waiting_.until(area(each).reduced, number + 1);
                copy_shared(target + slices.begin(each), result_slice(each, number),
                            slices.end(each) - slices.begin(each));
            }
        }
        finish_block(number);
    }
}

void NodeCollectives::reduce_blocks(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                    const Combine& combine, Header header) {
    // With fewer cores than ranks, slices are not combined at the same time.
    constexpr int most_ranks_at_root = 3;
    if (root != no_root && (ranks_ <= most_ranks_at_root || waiting_.is_oversubscribed()))
        reduce_at_root(root, input, output, bytes, combine, header);
    else if (levels_.is_divided())
        reduce_by_levels(root, input, output, bytes, combine, header);
    else
        reduce_by_slices(root, input, output, bytes, combine, header);
}

}  // namespace hcoll
