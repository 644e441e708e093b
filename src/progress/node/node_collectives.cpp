#include "progress/node/node_collectives.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstring>
#include <new>

#include "progress/node/shared_copy.hpp"

namespace hcoll {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t page = 4096;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

std::size_t block_bytes_of(std::size_t buffer_bytes) {
    return std::max(buffer_bytes / NodeCollectives::depth / page, std::size_t{1}) * page;
}
// Of two ranks or more, none combines more of a block than half of it and a line.
std::size_t slice_bytes_of(std::size_t buffer_bytes) { return block_bytes_of(buffer_bytes) / 2 + line; }

// The elements of a block that a rank combines, a whole number of cache lines where elements fit in them.
struct Slices {
    std::size_t elements;
    std::size_t element_bytes;
    int ranks;

    std::size_t begin(int rank) const {
        const std::size_t grain = line % element_bytes == 0 ? line / element_bytes : 1;
        const std::size_t grains = (elements + grain - 1) / grain;
        const std::size_t first = grains * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks) * grain;
        return std::min(first, elements) * element_bytes;
    }
    std::size_t end(int rank) const { return begin(rank + 1); }
};

// The rings of slots, by the size of messages. In the first one flag and message share a line.
struct SlotRing {
    std::size_t largest_bytes;
    std::uint64_t slots;

    constexpr std::size_t data_offset() const {
        return largest_bytes == NodeCollectives::line_bytes ? line - NodeCollectives::line_bytes : line;
    }
    constexpr std::size_t slot_bytes() const { return data_offset() + largest_bytes; }
    constexpr std::size_t ring_bytes() const { return slots * slot_bytes(); }
};
constexpr SlotRing rings[] = {{NodeCollectives::line_bytes, 64}, {960, 32}, {NodeCollectives::short_bytes, 8}};
constexpr std::size_t ring_count = std::size(rings);
static_assert(rings[0].slot_bytes() == line && rings[1].slot_bytes() % line == 0);

constexpr std::size_t offset_of_ring(std::size_t ring) {
    std::size_t offset = 0;
    for (std::size_t before = 0; before < ring; ++before) offset += rings[before].ring_bytes();
    return offset;
}

}  // namespace

// What a rank owns: flags, slots, and behind them blocks and slices of results.
struct NodeCollectives::Area {
    alignas(line) Flag done;      // with so many short messages
    alignas(line) Flag ready;     // so many blocks are copied in
    alignas(line) Flag reduced;   // of so many blocks its slice is combined
    alignas(line) Flag consumed;  // with so many blocks
    alignas(line) Flag arrived;   // at so many barriers; a leader's: so has its group
    alignas(line) Flag released;  // a leader's: its group may leave so many barriers
    alignas(line) std::byte slots[offset_of_ring(ring_count)];

    static Flag& done_of(Area& area) { return area.done; }
    static Flag& ready_of(Area& area) { return area.ready; }
    static Flag& consumed_of(Area& area) { return area.consumed; }

    // Flags, slots, and a desk for single copies.
    static constexpr std::size_t head_bytes() { return rounded_up(sizeof(Area) + SingleCopy::desk_bytes, page); }
    static std::size_t bytes(std::size_t buffer_bytes) {
        return head_bytes() + rounded_up(depth * (block_bytes_of(buffer_bytes) + slice_bytes_of(buffer_bytes)), page);
    }
};

NodeCollectives::Part NodeCollectives::own_part(int rank, std::size_t buffer_bytes) {
    return {page + static_cast<std::size_t>(rank) * Area::bytes(buffer_bytes), Area::bytes(buffer_bytes)};
}

std::size_t NodeCollectives::segment_bytes(int ranks, std::size_t buffer_bytes) {
    return own_part(ranks, buffer_bytes).offset;  // where one more would begin
}

NodeCollectives::NodeCollectives(std::byte* base, std::size_t buffer_bytes, const Placement& placement, int rank,
                                 Waiting waiting)
    : base_(base + page),
      lines_(base_ + offsetof(Area, slots)),
      buffer_bytes_(buffer_bytes),
      area_bytes_(Area::bytes(buffer_bytes)),
      rank_(rank),
      ranks_(placement.ranks()),
      waiting_(waiting),
      single_copy_(desks(), rank, waiting_),
      group_of_rank_(static_cast<std::size_t>(placement.ranks())),
      operands_(static_cast<std::size_t>(placement.ranks())),
      accumulator_(new (std::align_val_t{line}) std::byte[short_bytes]) {
    assert(placement.nodes() == 1 && ranks_ > 1 && "a segment is of one node");
    const bool by_socket = ranks_ > flat_ranks && placement.is_in_rank_order() && placement.sockets_of_node(0) > 1;
    const int group_ranks = ranks_ <= flat_ranks ? ranks_ : flat_ranks;
    int group = -1;
    for (int each = 0; each < ranks_; ++each) {
        const int leader = leaders_.empty() ? 0 : leaders_.back();
        const bool begins = leaders_.empty() || each - leader == group_ranks ||
                            (by_socket && placement.socket_of(each) != placement.socket_of(leader));
        if (begins) {
            leaders_.push_back(each);
            ++group;
        }
        group_of_rank_[static_cast<std::size_t>(each)] = group;
    }
    for (int each = 0; each < ranks_; ++each)
        if (group_of_rank_[static_cast<std::size_t>(each)] == group_of_rank_[static_cast<std::size_t>(rank)])
            group_.push_back(each);
}

void NodeCollectives::Free::operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{line}); }

NodeCollectives::Area& NodeCollectives::area(int rank) const { return *reinterpret_cast<Area*>(area_base(rank)); }

std::vector<std::byte*> NodeCollectives::desks() const {
    std::vector<std::byte*> list(static_cast<std::size_t>(ranks_));
    for (int each = 0; each < ranks_; ++each)
        list[static_cast<std::size_t>(each)] = reinterpret_cast<std::byte*>(&area(each)) + sizeof(Area);
    return list;
}

std::byte* NodeCollectives::block(int rank, std::uint64_t number) const {
    return reinterpret_cast<std::byte*>(&area(rank)) + Area::head_bytes() +
           number % depth * block_bytes_of(buffer_bytes_);
}

std::byte* NodeCollectives::result_slice(int rank, std::uint64_t number) const {
    return block(rank, 0) + depth * block_bytes_of(buffer_bytes_) + number % depth * slice_bytes_of(buffer_bytes_);
}

template <Flag& (*flag_of)(NodeCollectives::Area&)>
void NodeCollectives::wait_for_all(std::uint64_t value, std::uint64_t& known) {
    if (known >= value) return;
    std::uint64_t lowest = ~std::uint64_t{0};
    for (int each = 0; each < ranks_; ++each) {
        Flag& flag = flag_of(area(each));
        waiting_.until(flag, value);
        lowest = std::min(lowest, flag.value.load(std::memory_order_acquire));
    }
    known = lowest;
}

// ---- short messages ----

// The ring is known to the compiler: short messages are the ones whose instructions count.
template <std::size_t ring>
NodeCollectives::ShortMessage NodeCollectives::place_in(std::uint64_t operation, std::size_t bytes) {
    constexpr SlotRing slots = rings[ring];
    const std::size_t slot =
        offsetof(Area, slots) + offset_of_ring(ring) + operation % slots.slots * slots.slot_bytes();
    return {operation, bytes, slots.slots, slot, slot + slots.data_offset()};
}

NodeCollectives::ShortMessage NodeCollectives::next_short(std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    if (bytes <= rings[0].largest_bytes) return place_in<0>(operation, bytes);
    if (bytes <= rings[1].largest_bytes) return place_in<1>(operation, bytes);
    return place_in<2>(operation, bytes);
}

std::byte* NodeCollectives::claim(const ShortMessage& message) {
    // In any case this one's last use is over, but waiting is for half the ring.
    if (message.operation >= known_done_ + message.slots)
        wait_for_all<Area::done_of>(message.operation - message.slots / 2, known_done_);
    return area_base(rank_) + message.data_offset;
}

void NodeCollectives::publish(const ShortMessage& message) { raise(flag_of(rank_, message), message.operation + 1); }

void NodeCollectives::publish_copy(const ShortMessage& message, const std::byte* data) {
    std::memcpy(claim(message), data, message.bytes);
    publish(message);
}

const std::byte* NodeCollectives::read(int rank, const ShortMessage& message) {
    waiting_.until(flag_of(rank, message), message.operation + 1);
    return area_base(rank) + message.data_offset;
}

void NodeCollectives::finish(std::uint64_t operation) {
    raise(area(rank_).done, operation + 1);
    progress_sometimes();
}

void NodeCollectives::finish_block(std::uint64_t number) {
    raise(area(rank_).consumed, number + 1);
    progress_sometimes();
}

void NodeCollectives::progress_sometimes() {
    constexpr int often_enough = 32;
    if (++since_progress_ < often_enough) return;
    since_progress_ = 0;
    waiting_.drive();
}

void NodeCollectives::bcast_short(int root, std::byte* data, std::size_t bytes) {
    const ShortMessage message = next_short(bytes);
    const int leader = group_.front();
    if (rank_ == root) {
        std::byte* slot = claim(message);
        if (data != nullptr) std::memcpy(slot, data, bytes);
        publish(message);
    } else {
        const bool from_root = is_in_group(root) || rank_ == leader;
        const std::byte* received = read(from_root ? root : leader, message);
        if (!is_in_group(root) && rank_ == leader && group_.size() > 1) publish_copy(message, received);
        if (data != nullptr) copy_shared(data, received, bytes);
    }
    finish(message.operation);
}

// Combines the messages of `ranks`, in their order; in the place of `own_rank`'s, what is at `own`.
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
    if (ranks.size() == 1 && left != nullptr && left != result) std::memcpy(result, left, message.bytes);
}

void NodeCollectives::reduce_short(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                   const Combine& combine) {
    const ShortMessage message = next_short(bytes);
    const bool is_flat = leaders_.size() == 1;
    const int combines = is_in_group(root) ? root : group_.front();
    if (rank_ != combines) {
        publish_copy(message, input);
    } else if (is_flat) {
        combine_short(group_, rank_, input, message, output, combine);
    } else if (rank_ != root) {
        combine_short(group_, rank_, input, message, claim(message), combine);
        publish(message);
    } else {
        // The root takes the place of its group's leader.
        std::byte* partial = claim(message);
        combine_short(group_, rank_, input, message, partial, combine);
        combine_short(leaders_, group_.front(), partial, message, output, combine);
    }
    finish(message.operation);
}

void NodeCollectives::allreduce_line(const std::byte* input, std::byte* output, std::size_t bytes, std::size_t elements,
                                     Kernel kernel) {
    constexpr SlotRing ring = rings[0];
    const std::uint64_t operation = operation_++;
    if (operation >= known_done_ + ring.slots) [[unlikely]]
        wait_for_all<Area::done_of>(operation - ring.slots / 2, known_done_);
    std::byte* line_of_0 = lines_ + operation % ring.slots * ring.slot_bytes();
    std::byte* own = line_of_0 + static_cast<std::size_t>(rank_) * area_bytes_;
    const auto flag_of = [](std::byte* place) -> Flag& { return *reinterpret_cast<Flag*>(place); };
    if (bytes == sizeof(std::uint64_t))
        std::memcpy(own + ring.data_offset(), input, sizeof(std::uint64_t));
    else
        std::memcpy(own + ring.data_offset(), input, bytes);
    raise(flag_of(own), operation + 1);
    const std::byte* left = line_of_0 + ring.data_offset();
    if (rank_ != 0) waiting_.until(flag_of(line_of_0), operation + 1);
    std::byte* line_of_last = line_of_0 + static_cast<std::size_t>(ranks_ - 1) * area_bytes_;
    for (std::byte* theirs = line_of_0 + area_bytes_; theirs != line_of_last; theirs += area_bytes_) {
        if (theirs != own) waiting_.until(flag_of(theirs), operation + 1);
        kernel(left, theirs + ring.data_offset(), accumulator_.get(), elements);
        left = accumulator_.get();
    }
    if (line_of_last != own) waiting_.until(flag_of(line_of_last), operation + 1);
    kernel(left, line_of_last + ring.data_offset(), output, elements);
    finish(operation);
}

void NodeCollectives::allreduce_short(const std::byte* input, std::byte* output, std::size_t bytes,
                                      const Combine& combine) {
    if (combine.kernel != nullptr && is_line(bytes))
        return allreduce_line(input, output, bytes, bytes / combine.element_bytes, combine.kernel);
    const ShortMessage message = next_short(bytes);
    if (leaders_.size() == 1) {
        std::byte* own = claim(message);
        std::memcpy(own, input, bytes);
        publish(message);
        combine_short(group_, rank_, own, message, output, combine);
        finish(message.operation);
        return;
    }
    const ShortMessage answer = next_short(bytes);
    const int leader = group_.front();
    if (rank_ == leader) {
        std::byte* partial = claim(message);
        combine_short(group_, rank_, input, message, partial, combine);
        publish(message);
        combine_short(leaders_, rank_, partial, message, output, combine);
        if (group_.size() > 1) publish_copy(answer, output);
    } else {
        publish_copy(message, input);
        copy_shared(output, read(leader, answer), bytes);
    }
    finish(answer.operation);
}

// ---- long messages ----

void NodeCollectives::wait_for_room(std::uint64_t number) {
    if (number >= known_consumed_ + depth) wait_for_all<Area::consumed_of>(number - depth / 2, known_consumed_);
}

void NodeCollectives::bcast_blocks(int root, std::byte* data, std::size_t bytes) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        if (rank_ == root) {
            wait_for_room(number);
            if (data != nullptr) std::memcpy(block(root, number), data + offset, length);
            raise(area(root).ready, number + 1);
        } else {
            waiting_.until(area(root).ready, number + 1);
            if (data != nullptr) copy_shared(data + offset, block(root, number), length);
        }
        finish_block(number);
    }
}

void NodeCollectives::combine_operands(std::byte* result, std::size_t bytes, const Combine& combine) const {
    combine_in_order(operands_, result, bytes, combine, accumulator_.get(), short_bytes);
}

void NodeCollectives::reduce_at_root(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                     const Combine& combine) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_) / combine.element_bytes * combine.element_bytes;
    for (std::size_t offset = 0; offset < bytes; offset += block_bytes) {
        const std::uint64_t number = block_number_++;
        const std::size_t length = std::min(block_bytes, bytes - offset);
        if (rank_ == root) {
            for (int each = 0; each < ranks_; ++each) {
                if (each != root) waiting_.until(area(each).ready, number + 1);
                operands_[static_cast<std::size_t>(each)] = each == root ? input + offset : block(each, number);
            }
            combine_operands(output + offset, length, combine);
        } else {
            wait_for_room(number);
            std::memcpy(block(rank_, number), input + offset, length);
            raise(area(rank_).ready, number + 1);
        }
        finish_block(number);
    }
}

void NodeCollectives::reduce_by_slices(int root, const std::byte* input, std::byte* output, std::size_t bytes,
                                       const Combine& combine) {
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_) / combine.element_bytes * combine.element_bytes;
    const std::uint64_t first = block_number_;
    const std::uint64_t blocks = (bytes + block_bytes - 1) / block_bytes;
    block_number_ += blocks;
    const auto slices_of = [&](std::uint64_t index) {
        const std::size_t length = std::min<std::size_t>(block_bytes, bytes - index * block_bytes);
        return Slices{length / combine.element_bytes, combine.element_bytes, ranks_};
    };
    const auto copy_in = [&](std::uint64_t index) {
        const Slices slices = slices_of(index);
        const std::byte* source = input + index * block_bytes;
        std::byte* target = block(rank_, first + index);
        wait_for_room(first + index);
        const std::size_t begin = slices.begin(rank_);
        const std::size_t end = slices.end(rank_);
        std::memcpy(target, source, begin);
        std::memcpy(target + end, source + end, slices.end(ranks_ - 1) - end);
        raise(area(rank_).ready, first + index + 1);
    };
    copy_in(0);
    for (std::uint64_t index = 0; index < blocks; ++index) {
        if (index + 1 < blocks) copy_in(index + 1);
        const std::uint64_t number = first + index;
        const Slices slices = slices_of(index);
        const std::size_t begin = slices.begin(rank_);
        const std::size_t length = slices.end(rank_) - begin;
        wait_for_all<Area::ready_of>(number + 1, known_ready_);
        for (int each = 0; each < ranks_; ++each)
            operands_[static_cast<std::size_t>(each)] =
                (each == rank_ ? input + index * block_bytes : block(each, number)) + begin;
        std::byte* own = result_slice(rank_, number);
        combine_operands(own, length, combine);
        raise(area(rank_).reduced, number + 1);
        if (root == rank_ || root == no_root) {
            std::byte* target = output + index * block_bytes;
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
                                    const Combine& combine) {
    // With fewer cores than ranks, slices are not combined at the same time.
    constexpr int most_ranks_at_root = 3;
    if (root != no_root && (ranks_ <= most_ranks_at_root || waiting_.is_oversubscribed()))
        reduce_at_root(root, input, output, bytes, combine);
    else
        reduce_by_slices(root, input, output, bytes, combine);
}

// ---- single copies ----

bool NodeCollectives::use_single_copy(std::unique_ptr<PeerMemory> memory) {
    struct Both : Combine {
        Both() : Combine(1) {}
        void operator()(const std::byte* left, const std::byte* right, std::byte* result, std::size_t) const override {
            *result = *left & *right;
        }
    };
    return single_copy_.prove(std::move(memory), [&](bool here) {
        const std::byte mine{here ? std::uint8_t{1} : std::uint8_t{0}};
        std::byte all{0};
        allreduce(&mine, &all, 1, Both());
        return all != std::byte{0};
    });
}

bool NodeCollectives::is_single_copy_faster(std::byte* data, std::size_t bytes) {
    using Clock = std::chrono::steady_clock;
    constexpr int tries = 4;  // of which the first finds pages and caches cold
    constexpr std::size_t ways[] = {never, 1};
    std::array<Clock::duration, 2> shortest{Clock::duration::max(), Clock::duration::max()};
    for (int i = 0; i < tries; ++i) {
        for (std::size_t way = 0; way < shortest.size(); ++way) {
            barrier();
            const Clock::time_point begin = Clock::now();
            bcast(0, data, bytes, ways[way]);
            barrier();
            if (i > 0) shortest[way] = std::min(shortest[way], Clock::now() - begin);
        }
    }
    std::byte answer{shortest[1] < shortest[0] ? std::uint8_t{1} : std::uint8_t{0}};
    bcast(0, &answer, 1);
    return answer != std::byte{0};
}

void NodeCollectives::bcast_single_copy(int root, std::byte* data, std::size_t bytes) {
    if (!single_copy_.bcast(root, data, bytes)) return bcast_blocks(root, data, bytes);
    // Others may yet need the blocks: those that it would take are this rank's last word on them.
    const std::size_t block_bytes = block_bytes_of(buffer_bytes_);
    block_number_ += (bytes + block_bytes - 1) / block_bytes;
    raise(area(rank_).consumed, block_number_);
}

void NodeCollectives::reduce_single_copy(int root, const std::byte* input, std::byte* output, std::size_t elements,
                                         const Combine& combine) {
    const bool wants_result = root == no_root || root == rank_;
    for (const SingleCopy::Rest& rest : single_copy_.reduce(root, input, output, elements, combine)) {
        std::byte* target = wants_result ? output + rest.delivered : nullptr;
        bcast_blocks(rest.rank, rank_ == rest.rank ? rest.result : target, rest.combined - rest.delivered);
        if (rest.combined < rest.end)
            reduce_blocks(root, input + rest.combined, wants_result ? output + rest.combined : nullptr,
                          rest.end - rest.combined, combine);
    }
}

// ---- no message ----

void NodeCollectives::barrier() {
    const std::uint64_t number = ++barriers_;
    const int leader = group_.front();
    const auto wait_for = [&](const std::vector<int>& ranks) {
        for (const int each : ranks)
            if (each != rank_) waiting_.until(area(each).arrived, number);
    };
    if (leaders_.size() == 1) {
        raise(area(rank_).arrived, number);
        wait_for(group_);
    } else if (rank_ != leader) {
        raise(area(rank_).arrived, number);
        waiting_.until(area(leader).released, number);
    } else {
        wait_for(group_);
        raise(area(rank_).arrived, number);
        wait_for(leaders_);
        raise(area(rank_).released, number);
    }
    progress_sometimes();
}

// ---- which way ----

void NodeCollectives::bcast(int root, std::byte* data, std::size_t bytes, std::size_t single_copy_from) {
    if (bytes <= short_bytes)
        bcast_short(root, data, bytes);
    else if (is_copied_once(bytes, single_copy_from))
        bcast_single_copy(root, data, bytes);
    else
        bcast_blocks(root, data, bytes);
}

void NodeCollectives::reduce(int root, const std::byte* input, std::byte* output, std::size_t elements,
                             const Combine& combine, std::size_t single_copy_from) {
    const std::size_t bytes = elements * combine.element_bytes;
    if (bytes <= short_bytes)
        reduce_short(root, input, output, bytes, combine);
    else if (is_copied_once(bytes, single_copy_from))
        reduce_single_copy(root, input, output, elements, combine);
    else
        reduce_blocks(root, input, output, bytes, combine);
}

void NodeCollectives::allreduce(const std::byte* input, std::byte* output, std::size_t elements, const Combine& combine,
                                std::size_t single_copy_from) {
    const std::size_t bytes = elements * combine.element_bytes;
    if (bytes <= short_bytes)
        allreduce_short(input, output, bytes, combine);
    else if (is_copied_once(bytes, single_copy_from))
        reduce_single_copy(no_root, input, output, elements, combine);
    else
        reduce_blocks(no_root, input, output, bytes, combine);
}

}  // namespace hcoll
