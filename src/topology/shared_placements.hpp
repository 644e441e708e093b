// One placement for all communicators whose ranks sit alike.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// From any thread. Keeps no placement alive: it is gone with the last communicator that has it.
class SharedPlacements {
public:
    // That of these seats, by rank, of which there is at least one.
    std::shared_ptr<const Placement> get(std::vector<Seat> seats);
    // How many there are that somebody may still have.
    std::size_t size();

private:
    struct Entry {
        std::uint64_t hash;
        std::vector<Seat> seats;
        std::weak_ptr<const Placement> placement;
    };
    std::mutex mutex_;
    std::vector<Entry> entries_;
};

}  // namespace hcoll
