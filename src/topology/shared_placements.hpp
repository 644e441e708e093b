// SPDX-License-Identifier: BSD-3-Clause
// One placement for all communicators whose ranks sit alike.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// From any thread. Keeps no placement alive: it is gone with the last communicator that has it.
class SharedPlacements {
public:
    // One that is equal, which somebody has already, or this one.
    std::shared_ptr<const Placement> get(Placement placement);
    // How many there are that somebody may still have.
    std::size_t size();

private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<const Placement>> placements_;
};

}  // namespace hcoll
