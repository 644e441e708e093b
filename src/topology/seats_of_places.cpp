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

std::vector<Seat> seats_of_places(std::span<const RankPlace> places) {
    std::unordered_set<std::uint64_t> undivided;
    int packages = 0;
    for (const RankPlace& place : places) {
        if (place.numa < 0) undivided.insert(package_of(place));
        packages = std::max(packages, place.package + 1);
    }
    std::vector<Seat> seats;
    seats.reserve(places.size());
    for (const RankPlace& place : places) {
        Seat seat{.node = place.node, .socket = -1, .core = place.core};
        // A NUMA node is part of one package: behind the packages' numbers come those of NUMA nodes.
        if (place.package >= 0)
            seat.socket = undivided.contains(package_of(place)) ? place.package : packages + place.numa;
        seats.push_back(seat);
    }
    return seats;
}

}  // namespace hcoll
