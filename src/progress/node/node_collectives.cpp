#include "progress/node/node_collectives.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>

#include "progress/node/check.hpp"
#include "progress/node/node_area.hpp"

namespace hcoll {

using namespace node_area;

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
    hcoll::check(placement.nodes() == 1 && ranks_ > 1, "a segment is of the ranks of one node");
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

std::vector<std::byte*> NodeCollectives::desks() const {
    std::vector<std::byte*> list(static_cast<std::size_t>(ranks_));
    for (int each = 0; each < ranks_; ++each)
        list[static_cast<std::size_t>(each)] = reinterpret_cast<std::byte*>(&area(each)) + sizeof(Area);
    return list;
}

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

void NodeCollectives::bcast_single_copy(int root, std::byte* data, std::size_t bytes, std::size_t capacity) {
    if (!single_copy_.bcast(root, data, bytes, capacity)) return bcast_blocks(root, data, bytes, capacity, no_header);
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
        const std::size_t bytes = rest.combined - rest.delivered;
        const bool takes_part = rank_ == rest.rank || wants_result;
        bcast_blocks(rest.rank, rank_ == rest.rank ? rest.result : target, bytes, takes_part ? bytes : 0, no_header);
        if (rest.combined < rest.end)
            reduce_blocks(root, input + rest.combined, wants_result ? output + rest.combined : nullptr,
                          rest.end - rest.combined, combine, no_header);
    }
}

// ---- no message ----

void NodeCollectives::barrier() {
    waiting_.check();
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

bool NodeCollectives::bcast(int root, std::byte* data, std::size_t bytes, std::size_t single_copy_from) {
    if (rank_ != root) return take_bcast(root, await_bcast(root), data, bytes, single_copy_from);
    waiting_.check();
    const std::uint64_t operation = operation_++;
    const std::size_t capacity = data == nullptr ? 0 : bytes;
    if (bytes <= short_bytes) {
        send_short(operation, data, bytes);
    } else {
        claim(operation, rings[0].slots);
        if (is_copied_once(bytes, single_copy_from)) {
            publish(operation, bytes);
            bcast_single_copy(root, data, bytes, capacity);
        } else {
            bcast_blocks(root, data, bytes, capacity, operation);
        }
    }
    finish(operation);
    return true;
}

std::size_t NodeCollectives::await_bcast(int root) {
    waiting_.check();
    Flag& announced = header(source_of(root), operation_);
    waiting_.until(announced, operation_ + 1);
    return length_of(announced);
}

bool NodeCollectives::take_bcast(int root, std::size_t bytes, std::byte* data, std::size_t capacity,
                                 std::size_t single_copy_from) {
    const std::uint64_t operation = operation_++;
    const bool fits = data == nullptr || bytes <= capacity;
    if (data == nullptr) capacity = 0;
    if (bytes <= short_bytes) {
        take_short(root, operation, bytes, data, capacity);
    } else {
        forward_header(root, operation, bytes);
        if (is_copied_once(bytes, single_copy_from))
            bcast_single_copy(root, data, bytes, capacity);
        else
            bcast_blocks(root, data, bytes, capacity, operation);
    }
    finish(operation);
    return fits;
}

void NodeCollectives::announce_bcast(std::size_t bytes) {
    waiting_.check();
    const std::uint64_t operation = operation_++;
    claim(operation, rings[0].slots);
    publish(operation, bytes);
    finish(operation);
}

void NodeCollectives::leave_bcast(int root, std::size_t bytes) {
    const std::uint64_t operation = operation_++;
    forward_header(root, operation, bytes);
    finish(operation);
}

void NodeCollectives::forward_header(int root, std::uint64_t operation, std::size_t bytes) {
    if (!forwards_from(root)) return;
    claim(operation, rings[0].slots);
    publish(operation, bytes);
}

// A reduction of more than short_bytes.
void NodeCollectives::reduce_long(int root, const std::byte* input, std::byte* output, std::size_t elements,
                                  const Combine& combine, std::size_t single_copy_from) {
    const std::size_t bytes = elements * combine.element_bytes;
    const std::uint64_t operation = operation_++;
    claim(operation, rings[0].slots);
    if (is_copied_once(bytes, single_copy_from)) {
        // No share of a message is like another one's where lengths differ.
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
