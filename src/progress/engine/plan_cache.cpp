#include "progress/engine/plan_cache.hpp"

namespace hcoll {

std::shared_ptr<const Plan> PlanCache::insert(const PlanKey& key, std::shared_ptr<const Plan> plan) {
    entries_.push_front({key, std::move(plan)});
    index_[key] = entries_.begin();
    bytes_ += cost(entries_.front());
    std::shared_ptr<const Plan> result = entries_.front().plan;
    while (bytes_ > capacity_bytes_ && !entries_.empty()) {
        bytes_ -= cost(entries_.back());
        index_.erase(entries_.back().key);
        entries_.pop_back();
    }
    return result;
}

}  // namespace hcoll
