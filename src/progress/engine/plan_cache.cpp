// SPDX-License-Identifier: BSD-3-Clause
#include "progress/engine/plan_cache.hpp"

namespace hcoll {

std::shared_ptr<const Plan> PlanCache::insert(const PlanKey& key, std::shared_ptr<const Plan> plan) {
    const std::size_t bytes = cost(*plan);
    // One that is larger than all that may be kept would drive out every other and then itself. It is of so many steps that making it anew in each call would take longer than the call.
    if (bytes > capacity_bytes_) {
        if (capacity_bytes_ != 0) large_ = {key, plan};
        return plan;
    }
    while (bytes_ + bytes > capacity_bytes_) {
        bytes_ -= cost(*entries_.back().plan);
        index_.erase(entries_.back().key);
        entries_.pop_back();
    }
    entries_.push_front({key, std::move(plan)});
    index_[key] = entries_.begin();
    bytes_ += bytes;
    return entries_.front().plan;
}

}  // namespace hcoll
