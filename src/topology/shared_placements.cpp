#include "topology/shared_placements.hpp"

namespace hcoll {

namespace {

std::uint64_t hash_of(const std::vector<Seat>& seats) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    const auto add = [&](int number) { hash = (hash ^ static_cast<std::uint32_t>(number)) * 0x100000001b3ULL; };
    for (const Seat& seat : seats) {
        add(seat.node);
        add(seat.socket);
        add(seat.core);
    }
    return hash;
}

}  // namespace

std::shared_ptr<const Placement> SharedPlacements::get(std::vector<Seat> seats) {
    const std::uint64_t hash = hash_of(seats);
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.placement.expired(); });
    for (const Entry& entry : entries_)
        if (entry.hash == hash && entry.seats == seats)
            if (auto placement = entry.placement.lock()) return placement;
    auto placement = std::make_shared<const Placement>(seats);
    entries_.push_back({.hash = hash, .seats = std::move(seats), .placement = placement});
    return placement;
}

std::size_t SharedPlacements::size() {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) { return entry.placement.expired(); });
    return entries_.size();
}

}  // namespace hcoll
