// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is in the run of a plan that calling ranks and the background share ("split-tree", algorithms/cut.hpp).
#pragma once

#include <algorithm>
#include <chrono>

#include "progress/engine/engine.hpp"

namespace hcoll {

class CallersTurn {
public:
    // Before `engine` starts the plan.
    void begin(const Plan& plan, const Engine& engine) { end_ = engine.events(true) + plan.instances(true); }
    // From then on until the plan is complete: is there something for callers to run, or to wait for?
    bool is_on(const Plan& plan, const Engine& engine) const noexcept {
        switch (plan.callers_part) {
            case CallersPart::first: return engine.events(true) < end_;
            case CallersPart::last: return engine.waits_for_other_part();
            case CallersPart::none: break;
        }
        return false;
    }

private:
    std::uint64_t end_ = 0;  // the engine's events by callers when their part is done
};

// For how long a call that begins a plan may run the callers' part before it leaves that to others; 0 where that part does not
// come first. For each of its messages a rank may have to wait for another rank, and then for the message; but a call that is
// not to block does not wait for long.
inline std::chrono::nanoseconds callers_patience(const Plan& plan, std::uint64_t unit_bytes) {
    constexpr std::chrono::nanoseconds delay(100'000);
    constexpr std::chrono::nanoseconds longest(10'000'000);
    constexpr std::uint64_t bytes_per_ns = 1;
    std::chrono::nanoseconds patience{};
    if (plan.callers_part != CallersPart::first) return patience;
    for (const Phase& phase : plan.phases)
        for (std::uint32_t index = 0; index < phase.steps; ++index) {
            const Step& step = plan.steps[phase.first_step + index];
            if (step.by_caller && step.is_message())
                patience += delay + std::chrono::nanoseconds(phase.units * unit_bytes / bytes_per_ns);
        }
    return std::min(patience, longest);
}

}  // namespace hcoll
