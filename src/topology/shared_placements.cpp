// SPDX-License-Identifier: BSD-3-Clause
#include "topology/shared_placements.hpp"

#include <utility>

namespace hcoll {

std::shared_ptr<const Placement> SharedPlacements::get(Placement placement) {
    const std::lock_guard lock(mutex_);
    std::erase_if(placements_, [](const auto& each) { return each.expired(); });
    for (const auto& each : placements_)
        if (auto known = each.lock(); known != nullptr && *known == placement) return known;
    auto shared = std::make_shared<const Placement>(std::move(placement));
    placements_.push_back(shared);
    return shared;
}

std::size_t SharedPlacements::size() {
    const std::lock_guard lock(mutex_);
    std::erase_if(placements_, [](const auto& each) { return each.expired(); });
    return placements_.size();
}

}  // namespace hcoll
