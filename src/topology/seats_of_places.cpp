// SPDX-License-Identifier: BSD-3-Clause
#include "topology/seats_of_places.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>

namespace hcoll {

namespace {

std::uint64_t package_of(const RankPlace& place) {
    return (std::uint64_t{static_cast<std::uint32_t>(place.node)} << 32U) | static_cast<std::uint32_t>(place.package);
}

}  // namespace

RankPlace rank_place(int node, const Place& place) {
    return {.node = node, .package = place.socket, .numa = place.numa, .core = place.core, .cache = place.cache};
}

std::vector<Seat> seats_of_places(std::span<const RankPlace> places) {
    std::unordered_set<std::uint64_t> undivided;
    int numas = 0;
    for (const RankPlace& place : places) {
        if (place.numa < 0) undivided.insert(package_of(place));
        numas = std::max(numas, place.numa + 1);
    }
    std::vector<Seat> seats;
    seats.reserve(places.size());
    for (const RankPlace& place : places) {
        Seat seat{.node = place.node, .core = place.core, .package = place.package, .cache = place.cache};
        // Either may be part of the other: a NUMA node's ranks on another package are another socket.
        if (place.package >= 0)
            seat.socket = place.package * (numas + 1) + (undivided.contains(package_of(place)) ? numas : place.numa);
        seats.push_back(seat);
    }
    return seats;
}

}  // namespace hcoll
