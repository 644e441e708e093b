// SPDX-License-Identifier: BSD-3-Clause
// The library's own communicator that messages travel on: of one communicator of the application, or of several ones of the same processes, each with tags
// of its own.
//
//   tags   [ of the first | of the second | ... ][ left over: one is probed for, none is sent ]
//
// A duplicate costs memory on each rank (MPICH 4.0: 25 KB on a node of 128), a context, of which MPI libraries have few, and a call that makes it. Programs and their
// libraries make duplicates of duplicates; here they all have a few.
//
// Nothing but messages of two ranks travels on it, so tags are all that it takes. A communicator has one of its own with MPI_THREAD_MULTIPLE, where threads would get
// in one another's way on it; where LIBHCOLL_VERIFY begins collectives of the MPI library there; where communicators may be revoked, which a rank that
// waits for a message must hear of; and where there are too few tags.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "intercept/communicator/taken_places.hpp"
#include "progress/network/point_to_point.hpp"

namespace hcoll {

class SharedDuplicate {
public:
    // Three segments of shared memory have so many rooms.
    static constexpr int most = 24;

    // `serial` as that of TakenPlaces. `largest_tag`, of the MPI library, and `is_shared` are the same on all ranks.
    SharedDuplicate(MPI_Comm handle, std::uint64_t serial, int largest_tag, bool is_shared)
        : handle_(handle),
          largest_tag_(largest_tag),
          places_(is_shared ? places_for(largest_tag) : 1),
          taken_(serial) {}

    MPI_Comm handle() const { return handle_; }
    std::uint64_t number() const { return taken_.serial(); }
    int places() const { return places_; }
    TagRange tags(int place) const {
        if (places_ == 1) return {.first = 0, .count = largest_tag_};
        constexpr int of_a_sequence = static_cast<int>(tags_per_collective);
        const int count = std::min(largest_tag_ / places_ / of_a_sequence * of_a_sequence, PointToPoint::most_tags);
        return {.first = place * count, .count = count};
    }
    // That no message has, where it is shared.
    int largest_tag() const { return largest_tag_; }
    int take() { return is_closed_ ? TakenPlaces::none : taken_.take(places_); }
    void give_back(int unused) { taken_.give_back(unused); }
    std::uint64_t name_of(int place) const { return taken_.name_of(place); }
    // Nobody takes a place any more: it could not be made on all ranks, or is revoked.
    void close() { is_closed_ = true; }

    // Those that run on it.
    void add_user() { ++users_; }
    // Was it the last one?
    bool remove_user() { return --users_ == 0; }

private:
    // As many as have all the tags that they can use, or a few with an eighth of these.
    static int places_for(int largest_tag) {
        constexpr int few = 8;
        const int well_off = std::min(largest_tag / PointToPoint::most_tags, most);
        return std::max({1, well_off, std::min(largest_tag / (PointToPoint::most_tags / few), few)});
    }

    MPI_Comm handle_;
    int largest_tag_;
    int places_;
    TakenPlaces taken_;
    std::atomic<bool> is_closed_{false};
    std::atomic<int> users_{0};
};

}  // namespace hcoll
