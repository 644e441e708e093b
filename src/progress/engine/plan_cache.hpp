// SPDX-License-Identifier: BSD-3-Clause
// The plans of one communicator, kept for later calls, the least recently used going first when there are too many. Of those that are too large by themselves the last one is kept.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "algorithms/catalog.hpp"

namespace hcoll {

struct PlanKey {
    Collective collective = Collective::bcast;
    bool in_place = false;
    bool ordered = false;
    std::int32_t root = 0;
    std::uint64_t unit_bytes = 1;
    std::uint64_t units = 0;
    // Whose plan it is, where calls of one kind may run several (an address that lives as long as the cache's owner has it).
    const void* decision = nullptr;

    friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

struct PlanKeyHash {
    std::size_t operator()(const PlanKey& key) const {
        std::uint64_t hash = key.units;
        for (const std::uint64_t part :
             {key.unit_bytes, static_cast<std::uint64_t>(key.root),
              static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(key.decision)),
              static_cast<std::uint64_t>(key.collective) * 4 + (key.in_place ? 2U : 0U) + (key.ordered ? 1U : 0U)})
            hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
        return static_cast<std::size_t>(hash ^ (hash >> 32));
    }
};

// Not thread-safe. Plans are immutable and shared: one that is run may be dropped from the cache meanwhile.
class PlanCache {
public:
    explicit PlanCache(std::size_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

    // The plan for `key`, made by `build` where it is not kept. With a capacity of 0 none is.
    template <typename Build>
    std::shared_ptr<const Plan> get(const PlanKey& key, Build&& build) {
        if (!entries_.empty() && entries_.front().key == key) return entries_.front().plan;
        if (const auto found = index_.find(key); found != index_.end()) {
            entries_.splice(entries_.begin(), entries_, found->second);
            return entries_.front().plan;
        }
        if (large_.plan != nullptr && large_.key == key) return large_.plan;
        return insert(key, std::make_shared<const Plan>(build()));
    }

    void clear() {
        index_.clear();
        entries_.clear();
        large_ = {};
        bytes_ = 0;
    }
    std::size_t bytes() const { return bytes_; }
    std::size_t size() const { return index_.size(); }

private:
    struct Entry {
        PlanKey key{};
        std::shared_ptr<const Plan> plan = nullptr;
    };
    using Entries = std::list<Entry>;  // the most recently used first

    static std::size_t cost(const Plan& plan) { return plan.memory_bytes() + sizeof(Entry) + 64; }
    std::shared_ptr<const Plan> insert(const PlanKey& key, std::shared_ptr<const Plan> plan);

    std::size_t capacity_bytes_;
    std::size_t bytes_ = 0;
    Entries entries_;
    Entry large_;  // not counted
    std::unordered_map<PlanKey, Entries::iterator, PlanKeyHash> index_;
};

}  // namespace hcoll
