// SPDX-License-Identifier: BSD-3-Clause
// Shared memory for the communicators of one group of processes: a segment of several rooms, all alike, one for each communicator. So
// only the first of them has to make a segment and to map it; pages that nobody touches cost nothing. What each room has to hold from
// the beginning lies side by side, so that the others need no page for it: touching one first takes longer than an Allreduce.
//
// A rank that shares no memory with another one (it is alone on its node) has rooms, too, of no memory: else the others could not go into theirs.
//
//   segment   [ secret | processes of room 0 | of room 1 ... ][ room 0: collectives | messages ][ room 1 ... ] ...
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "intercept/communicator/segment_use.hpp"
#include "intercept/communicator/taken_places.hpp"
#include "progress/node/memory_units.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll {

class SharedRooms {
public:
    static constexpr int most = 8;

    // `serial` as that of TakenPlaces.
    SharedRooms(std::uint64_t serial, const SegmentUse& use, const SegmentUse::Shape& shape, bool oversubscribed)
        : taken_(serial), use_(use), shape_(shape), oversubscribed_(oversubscribed) {}

    static std::size_t segment_bytes(const SegmentUse::Shape& shape, int rooms) {
        return head_bytes(shape) + room_bytes(shape) * static_cast<std::size_t>(rooms);
    }

    SharedSegment& segment() { return segment_; }
    bool has_memory() const { return segment_.data() != nullptr; }
    const SegmentUse& use() const { return use_; }
    const SegmentUse::Shape& shape() const { return shape_; }
    bool oversubscribed() const { return oversubscribed_; }
    std::byte* data(int room) const { return segment_.data() + offset(room); }
    std::byte* peers(int room) const { return segment_.data() + peers_offset(shape_, room); }
    // Makes sure of the memory of a part of it that this process will write. Returns 0 or an errno.
    int reserve(int room, std::size_t first, std::size_t bytes) {
        return segment_.reserve(offset(room) + first, bytes);
    }
    int reserve_peers() { return segment_.reserve(0, head_bytes(shape_)); }

    // For the communicators in all rooms: no two threads are in collectives on them at the same time, or each would have a segment of its own.
    const NodeCollectives::Accumulator& accumulator() const { return accumulator_; }

    // Of all rooms, before any is used: this rank's first pages in each.
    void touch(int index) {
        if (!use_.collectives || SharedSegment::must_reserve()) return;
        for (int room = 0; room < rooms(); ++room) NodeCollectives::touch(data(room), index, shape_.collectives_buffer);
    }

    // From any thread.
    int take() { return taken_.take(rooms()); }
    void give_back(int unused) { taken_.give_back(unused); }
    std::uint64_t name_of(int room) const { return taken_.name_of(room); }

private:
    static std::size_t peers_offset(const SegmentUse::Shape& shape, int room) {
        return cache_line_bytes + static_cast<std::size_t>(room) * rounded_up(shape.peers_bytes, cache_line_bytes);
    }
    static std::size_t head_bytes(const SegmentUse::Shape& shape) {
        return rounded_up(peers_offset(shape, most), page_bytes);
    }
    static std::size_t room_bytes(const SegmentUse::Shape& shape) { return rounded_up(shape.bytes, page_bytes); }
    int rooms() const {
        if (!has_memory()) return most;
        return std::min(static_cast<int>((segment_.address().bytes - head_bytes(shape_)) / room_bytes(shape_)), most);
    }
    std::size_t offset(int room) const {
        return head_bytes(shape_) + static_cast<std::size_t>(room) * room_bytes(shape_);
    }

    TakenPlaces taken_;
    SegmentUse use_;
    SegmentUse::Shape shape_;
    bool oversubscribed_;
    NodeCollectives::Accumulator accumulator_ = NodeCollectives::make_accumulator();
    SharedSegment segment_;
};

}  // namespace hcoll
