// SPDX-License-Identifier: BSD-3-Clause
// What is told of a run's steps (progress/engine/step_trace.hpp), counted.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "progress/engine/step_trace.hpp"

namespace hcoll::test {

class CountingTrace final : public StepTrace {
public:
    CountingTrace() { expect(); }

    Id begin(const TracedStep& step, Time) override {
        const std::lock_guard lock(mutex_);
        steps.push_back(step);
        ends_.push_back(0);
        return steps.size();
    }
    Id begin_wait(int) override { return none; }
    Time end(Id id) override {
        const std::lock_guard lock(mutex_);
        if (id != none) ++ends_[id - 1];
        return ++time_;
    }

    bool has_each_ended_once() const {
        const auto is_one = [](int ends) { return ends == 1; };
        return std::all_of(ends_.begin(), ends_.end(), is_one);
    }
    std::vector<TracedStep> steps;

private:
    std::mutex mutex_;
    std::vector<int> ends_;
    Time time_ = now;
};

}  // namespace hcoll::test
