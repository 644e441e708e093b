#include "topology/seats_of_places.hpp"

#include <array>
#include <map>
#include <set>
#include <utility>

namespace hcoll {

std::vector<Seat> seats_of_places(std::span<const RankPlace> places) {
    using Package = std::pair<int, int>;  // with its node
    std::set<Package> undivided;
    for (const RankPlace& place : places)
        if (place.numa < 0) undivided.insert({place.node, place.package});

    std::map<std::array<int, 3>, int> socket_number;
    std::vector<Seat> seats;
    seats.reserve(places.size());
    for (const RankPlace& place : places) {
        Seat seat{.node = place.node, .socket = -1, .core = place.core};
        if (place.package >= 0) {
            const int domain = undivided.contains({place.node, place.package}) ? -1 : place.numa;
            const auto next = static_cast<int>(socket_number.size());
            seat.socket = socket_number.try_emplace({place.node, place.package, domain}, next).first->second;
        }
        seats.push_back(seat);
    }
    return seats;
}

}  // namespace hcoll
