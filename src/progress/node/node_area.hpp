// SPDX-License-Identifier: BSD-3-Clause
// How the segment of NodeCollectives is laid out; for its own files.
//
//   segment   | page | area of rank 0 | area of rank 1 | ...
//   area      | flags | desk | headers and lines | slots | slots | headers and lines of deeper groups | blocks | slices of results |
//
// A rank's header of operation k says that its part of it is there, and how many bytes it has: a flag, the length, and the
// message itself where it is no longer than the rest of the line. All three rings go by the number of the operation, so that who
// waits for a header knows where it is without knowing how long the message will be.
//
// What a leader hands down has such a header for each of its groups, by their tiers (node_tree.hpp): those of the outermost group in ring 0.
//
//   header    | flag: 8 | sleepers: 4 | length: 4 | message, or a length of 4 GB or more: 48 |
//   ring 0      64 headers with what is in their line; likewise for deeper groups
//   ring 1      32 slots of 960 bytes
//   ring 2      8 slots of 8 KB
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "progress/node/memory_units.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/touch_pages.hpp"

namespace hcoll {

namespace node_area {

inline std::size_t block_bytes_of(std::size_t buffer_bytes) {
    return std::max(buffer_bytes / NodeCollectives::depth / page_bytes, std::size_t{1}) * page_bytes;
}
// Of two ranks or more, none combines more of a block than half of it and a line.
inline std::size_t slice_bytes_of(std::size_t buffer_bytes) {
    return block_bytes_of(buffer_bytes) / 2 + cache_line_bytes;
}

// The rings of slots, by the size of messages. In the first one header and message share a line.
struct SlotRing {
    std::size_t largest_bytes;
    std::uint64_t slots;
    std::size_t slot_bytes;

    constexpr std::size_t ring_bytes() const { return slots * slot_bytes; }
};
constexpr SlotRing rings[] = {{NodeCollectives::line_bytes, node_sizes::lines, cache_line_bytes},
                              {960, node_sizes::slots, 960},
                              {NodeCollectives::short_bytes, node_sizes::large_slots, NodeCollectives::short_bytes}};
constexpr std::size_t ring_count = std::size(rings);
constexpr std::size_t header_bytes = cache_line_bytes - NodeCollectives::line_bytes;
static_assert(sizeof(Flag) == header_bytes && rings[1].slot_bytes % cache_line_bytes == 0 &&
              rings[2].slot_bytes % cache_line_bytes == 0);

constexpr std::size_t offset_of_ring(std::size_t ring) {
    std::size_t offset = 0;
    for (std::size_t before = 0; before < ring; ++before) offset += rings[before].ring_bytes();
    return offset;
}

// A header's length: the note of its flag, or where that is this, the first word of its line.
constexpr std::uint32_t long_length = 0xffffffff;
inline void set_length(Flag& header, std::size_t bytes) {
    header.note = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, long_length));
    if (bytes >= long_length) [[unlikely]]
        std::memcpy(reinterpret_cast<std::byte*>(&header) + header_bytes, &bytes, sizeof bytes);
}
inline std::size_t length_of(const Flag& header) {
    std::size_t bytes = header.note;
    if (bytes == long_length) [[unlikely]]
        std::memcpy(&bytes, reinterpret_cast<const std::byte*>(&header) + header_bytes, sizeof bytes);
    return bytes;
}

}  // namespace node_area

// What a rank owns: flags, a desk for single copies, slots, and behind them blocks and slices of results.
struct NodeCollectives::Area {
    alignas(cache_line_bytes) Flag done;     // with so many operations
    alignas(cache_line_bytes) Flag ready;    // so many blocks are copied in
    alignas(cache_line_bytes) Flag reduced;  // of so many blocks its slice is combined
    // One of several.
    struct alignas(cache_line_bytes) LineFlag : Flag {};
    LineFlag combined[NodeLevels::most_levels];      // the same, by level: of so many blocks, its share
    LineFlag returned[NodeLevels::most_levels - 1];  // of so many blocks the result of its share is there
    alignas(cache_line_bytes) Flag consumed;         // with so many blocks
    alignas(cache_line_bytes) Flag arrived;          // at so many barriers; a leader's: so has its group
    LineFlag released[NodeTree::most_tiers];         // a leader's, by tier: its group may leave so many barriers
    alignas(cache_line_bytes) std::byte desk[SingleCopy::desk_bytes];
    // The shortest messages' first: few pages serve most communicators.
    alignas(cache_line_bytes) std::byte slots[node_area::offset_of_ring(node_area::ring_count)];
    std::byte deeper_lines[NodeTree::most_tiers - 1][node_area::rings[0].ring_bytes()];

    static Flag& done_of(Area& area) { return area.done; }
    static Flag& consumed_of(Area& area) { return area.consumed; }

    static constexpr std::size_t head_bytes() { return rounded_up(sizeof(Area), page_bytes); }
    static std::size_t bytes(std::size_t buffer_bytes) {
        return head_bytes() +
               rounded_up(depth * (node_area::block_bytes_of(buffer_bytes) + node_area::slice_bytes_of(buffer_bytes)),
                          page_bytes);
    }
};

inline NodeCollectives::Area& NodeCollectives::area(int rank) const {
    return *reinterpret_cast<Area*>(area_base(rank));
}

// In any case this place's last use is over, but waiting is for half the ring.
inline void NodeCollectives::claim(std::uint64_t operation, std::uint64_t slots) {
    if (operation >= message_readers_.known() + slots) [[unlikely]]
        wait_for_readers<Area::done_of>(message_readers_, operation, operation - slots / 2);
}

inline Flag& NodeCollectives::header(int rank, std::uint64_t operation) const {
    return *reinterpret_cast<Flag*>(lines_ + operation % node_area::rings[0].slots * cache_line_bytes +
                                    static_cast<std::size_t>(rank) * area_bytes_);
}

inline Flag& NodeCollectives::header(int rank, std::uint64_t operation, std::size_t tier) const {
    if (tier == 0) [[likely]]
        return header(rank, operation);
    constexpr node_area::SlotRing ring = node_area::rings[0];
    return *reinterpret_cast<Flag*>(&area(rank).deeper_lines[tier - 1][operation % ring.slots * ring.slot_bytes]);
}

// Claimed.
inline void NodeCollectives::publish(std::uint64_t operation, std::size_t bytes) {
    Flag& own = header(rank_, operation);
    node_area::set_length(own, bytes);
    raise(own, operation + 1);
}

// For who leads the next group, or where that has all ranks, its members.
inline void NodeCollectives::publish_up(std::size_t led, std::uint64_t operation, std::size_t bytes) {
    if (led + 1 == tree_.groups().size())
        message_readers_.add(around_[led + 1]);
    else
        message_readers_.add(tree_.groups()[led].leader());
    publish(operation, bytes);
}

// The ring is known to the compiler: short messages are the ones whose instructions count.
template <std::size_t ring>
NodeCollectives::ShortMessage NodeCollectives::place_in(std::uint64_t operation, std::size_t bytes) {
    constexpr node_area::SlotRing slots = node_area::rings[ring];
    const std::size_t place = node_area::offset_of_ring(ring) + operation % slots.slots * slots.slot_bytes;
    return {operation, bytes, slots.slots, offsetof(Area, slots) + place + (ring == 0 ? node_area::header_bytes : 0)};
}

inline NodeCollectives::ShortMessage NodeCollectives::place_of(std::uint64_t operation, std::size_t bytes) {
    if (bytes <= node_area::rings[0].largest_bytes) return place_in<0>(operation, bytes);
    if (bytes <= node_area::rings[1].largest_bytes) return place_in<1>(operation, bytes);
    return place_in<2>(operation, bytes);
}

inline std::byte* NodeCollectives::claim(const ShortMessage& message) {
    claim(message.operation, message.slots);
    return area_base(rank_) + message.data_offset;
}

// To the groups that this rank leads, or as a root to all around it: `length` in their headers, and a message that `fill(place)` writes, once for each line
// that it is in.
template <typename Fill>
void NodeCollectives::hand_down(std::size_t led, std::uint64_t operation, std::size_t length, std::size_t message_bytes,
                                Fill&& fill) {
    const ShortMessage message = place_of(operation, message_bytes);
    std::byte* place = claim(message);
    if (tree_.is_flat()) [[likely]] {
        fill(place);
        return publish(operation, length);
    }
    message_readers_.add(around_[led]);
    const bool is_line = message_bytes <= line_bytes;
    if (!is_line) fill(place);
    // The outermost first: it has the longest way.
    std::size_t before = NodeTree::most_tiers;
    for (std::size_t group = led; group-- > 0;) {
        const std::size_t tier = tree_.tier_of(group);
        if (tier == before) break;
        before = tier;
        Flag& own = header(rank_, operation, tier);
        if (is_line) fill(message_in(own));
        node_area::set_length(own, length);
        raise(own, operation + 1);
    }
}

// What that rank has handed down to a group of that tier.
inline const std::byte* NodeCollectives::handed_down(int rank, std::size_t tier, std::uint64_t operation,
                                                     std::size_t message_bytes) const {
    if (message_bytes <= line_bytes) return message_in(header(rank, operation, tier));
    return area_base(rank) + place_of(operation, message_bytes).data_offset;
}

template <Flag& (*flag_of)(NodeCollectives::Area&)>
void NodeCollectives::wait_for_readers(PlaceReaders& readers, std::uint64_t now, std::uint64_t over) {
    readers.settle(now, [&](int rank) {
        Flag& flag = flag_of(area(rank));
        waiting_.until(flag, over);
        return flag.value.load(std::memory_order_acquire);
    });
}

inline void NodeCollectives::progress_sometimes() {
    constexpr int often_enough = 32;
    if (++since_progress_ < often_enough) return;
    since_progress_ = 0;
    // The rest of the first ring, before others wait for what is to come there: a page is where it is touched first.
    if (!std::exchange(are_lines_touched_, true)) [[unlikely]]
        touch_pages(area_base(rank_), offsetof(Area, slots) + node_area::rings[0].ring_bytes());
    waiting_.drive();
}

inline void NodeCollectives::finish(std::uint64_t operation) {
    raise(area(rank_).done, operation + 1);
    progress_sometimes();
}

}  // namespace hcoll
