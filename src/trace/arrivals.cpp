// SPDX-License-Identifier: BSD-3-Clause
#include "trace/arrivals.hpp"

#include <algorithm>

namespace hcoll {

namespace {

// Every so manieth number, without a rhythm: programs have one (Fibonacci hashing; Knuth, volume 3, section 6.4).
bool is_kept(const Arrival& call, std::uint64_t every) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
    constexpr unsigned int upper = 32;
    return ((call.key ^ call.number * golden) * golden >> upper) % every == 0;
}

}  // namespace

void Arrivals::add(const Arrival& arrival) {
    const std::lock_guard lock(mutex_);
    if (!is_kept(arrival, every_)) return;
    while (calls_.size() == most_) {
        every_ *= 2;
        const auto forgotten =
            std::remove_if(calls_.begin(), calls_.end(), [&](const Arrival& each) { return !is_kept(each, every_); });
        calls_.erase(forgotten, calls_.end());
    }
    if (is_kept(arrival, every_)) calls_.push_back(arrival);
}

}  // namespace hcoll
