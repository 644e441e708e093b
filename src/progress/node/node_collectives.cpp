// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/node_collectives.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>

#include "base/aligned_memory.hpp"
#include "base/check.hpp"
#include "progress/node/node_area.hpp"
#include "progress/node/touch_pages.hpp"

namespace hcoll {

using namespace node_area;

NodeCollectives::Accumulator NodeCollectives::make_accumulator() {
    return {allocate_aligned(cache_line_bytes, short_bytes), free_aligned};
}

NodeCollectives::Part NodeCollectives::own_part(int rank, std::size_t buffer_bytes) {
    return {page_bytes + static_cast<std::size_t>(rank) * Area::bytes(buffer_bytes), Area::bytes(buffer_bytes)};
}

void NodeCollectives::touch(std::byte* base, int rank, std::size_t buffer_bytes) {
    // One page has the flags and more than half of the first ring. Who uses a communicator for so few messages pays for no other (progress_sometimes).
    static_assert(offsetof(Area, slots) + rings[0].ring_bytes() / 2 <= page_bytes);
    touch_pages(base + own_part(rank, buffer_bytes).offset, 1);
}

void NodeCollectives::touch_places(std::uint64_t bytes) {
    if (bytes <= touched_bytes_) return;
    touched_bytes_ = bytes;
    if (bytes <= short_bytes) return touch_pages(area_base(rank_), Area::head_bytes());
    const std::uint64_t share = bytes / static_cast<std::uint64_t>(ranks_) + cache_line_bytes;
    for (std::uint64_t i = 0; i < depth; ++i) {
        touch_pages(block(rank_, i), std::min<std::uint64_t>(bytes, block_bytes_of(buffer_bytes_)));
        touch_pages(result_slice(rank_, i), std::min<std::uint64_t>(share, slice_bytes_of(buffer_bytes_)));
    }
}

std::size_t NodeCollectives::segment_bytes(int ranks, std::size_t buffer_bytes) {
    return own_part(ranks, buffer_bytes).offset;  // where one more would begin
}

NodeCollectives::NodeCollectives(std::byte* base, std::size_t buffer_bytes, const Placement& placement, int rank,
                                 Waiting waiting, Accumulator accumulator)
    : base_(base + page_bytes),
      lines_(base_ + offsetof(Area, slots)),
      buffer_bytes_(buffer_bytes),
      area_bytes_(Area::bytes(buffer_bytes)),
      rank_(rank),
      ranks_(placement.ranks()),
      waiting_(waiting),
      tree_(placement, rank, flat_ranks),
      levels_(placement, rank, flat_ranks),
      single_copy_(area(0).desk, area_bytes_, ranks_, rank, levels_, waiting_),
      operands_(static_cast<std::size_t>(placement.ranks())),
      message_readers_(ranks_, tree_.is_flat()),
      around_(tree_.groups().size() + 1, RankSet(ranks_)),
      block_readers_(ranks_, tree_.is_flat()),
      level_readers_(ranks_),
      accumulator_(accumulator != nullptr ? std::move(accumulator) : make_accumulator()) {
    waiting_.tell_areas(base_, area_bytes_);
    for (std::size_t i = 0; i < tree_.groups().size(); ++i) {
        around_[i + 1] = around_[i];
        for (const int each : tree_.groups()[i].members) around_[i + 1].add(each);
    }
    for (const int each : levels_.readers()) level_readers_.add(each);
}

bool NodeCollectives::use_single_copy(std::shared_ptr<PeerMemory> memory) {
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

void NodeCollectives::barrier() {
    waiting_.check();
    const std::uint64_t number = ++barriers_;
    const auto wait_for = [&](const NodeTree::Group& group) {
        for (const int each : group.members)
            if (each != rank_) waiting_.until(area(each).arrived, number);
    };
    const std::vector<NodeTree::Group>& groups = tree_.groups();
    const std::size_t led = tree_.groups_led();
    for (std::size_t i = 0; i < led; ++i) wait_for(groups[i]);
    raise(area(rank_).arrived, number);
    if (led + 1 == groups.size())
        wait_for(groups[led]);
    else
        waiting_.until(area(groups[led].leader()).released[tree_.tier_of(led)], number);
    for (std::size_t i = led; i-- > 0;) raise(area(rank_).released[tree_.tier_of(i)], number);
    message_readers_.learn(operation_);
    block_readers_.learn(block_number_);
    progress_sometimes();
}

}  // namespace hcoll
