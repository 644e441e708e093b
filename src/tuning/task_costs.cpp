// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/task_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/check.hpp"

namespace hcoll {

namespace {

using TaskTime = TaskTimes::const_iterator;

// What each further segment takes rank `i` on the way from one measurement to the next.
double step_of(TaskTime from, TaskTime to, std::size_t i) {
    return std::max(to->second[i] - from->second[i], 0.0) / (to->first - from->first);
}

// The same on the rank that takes longest.
double slowest_step(TaskTime from, TaskTime to) {
    double slowest = 0;
    for (std::size_t i = 0; i < to->second.size(); ++i) slowest = std::max(slowest, step_of(from, to, i));
    return slowest;
}

}  // namespace

int segments_to_fill(Collective collective) { return collective == Collective::allreduce ? 4 : 2; }

int segments_to_see_the_middle(Collective collective) {
    constexpr int to_settle = 4;  // figure 5.12: after the first few
    return segments_to_fill(collective) + to_settle;
}

TaskCosts::TaskCosts(std::uint64_t segment_bytes, TaskTimes times)
    : segment_bytes_(segment_bytes), times_(std::move(times)) {
    const auto has_all_ranks = [this](const auto& of_one) {
        return of_one.second.size() == times_.begin()->second.size();
    };
    check(times_.size() >= 2 && times_.begin()->first == 1 &&
              std::all_of(times_.begin(), times_.end(), has_all_ranks) && segment_bytes != 0,
          "tasks are timed for one segment and for more, on every rank");
}

TaskCosts TaskCosts::extrapolated(const TaskCosts& shortest, const TaskCosts& shorter, std::uint64_t segment_bytes) {
    check(shortest.segment_bytes_ < shorter.segment_bytes_ && shorter.segment_bytes_ < segment_bytes,
          "tasks are extrapolated from two shorter ones");
    const double distance = static_cast<double>(segment_bytes - shorter.segment_bytes_) /
                            static_cast<double>(shorter.segment_bytes_ - shortest.segment_bytes_);
    TaskTimes times;
    for (const auto& [segments, b] : shorter.times_) {
        const auto found = shortest.times_.find(segments);
        if (found == shortest.times_.end()) continue;
        const std::vector<double>& a = found->second;
        std::vector<double>& further = times[segments];
        for (std::size_t i = 0; i < a.size(); ++i) further.push_back(b[i] + std::max(b[i] - a[i], 0.0) * distance);
    }
    return {segment_bytes, std::move(times)};
}

double TaskCosts::seconds(std::uint64_t bytes) const {
    const double segments = std::max(static_cast<double>(bytes) / static_cast<double>(segment_bytes_), 1.0);
    // Between the two measurements around it, or on from the last two.
    auto to = std::next(times_.begin());
    while (std::next(to) != times_.end() && to->first < segments) ++to;
    const auto from = std::prev(to);
    double longest = 0;
    for (std::size_t i = 0; i < from->second.size(); ++i)
        longest = std::max(longest, from->second[i] + (segments - from->first) * step_of(from, to, i));
    return longest;
}

double TaskCosts::full_task() const { return slowest_step(std::prev(times_.end(), 2), std::prev(times_.end())); }

bool TaskCosts::is_stable() const {
    constexpr double near = 0.03;
    if (times_.size() < 3) return false;
    const auto last = std::prev(times_.end());
    const double before = slowest_step(std::prev(last, 2), std::prev(last));
    return std::abs(full_task() - before) <= near * before;
}

double overlap_rate(double inter, double intra, double together) {
    const double shorter = std::min(inter, intra);
    return shorter <= 0 ? 0 : std::clamp((inter + intra - together) / shorter, 0.0, 1.0);
}

}  // namespace hcoll
