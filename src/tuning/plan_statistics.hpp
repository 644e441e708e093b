// SPDX-License-Identifier: BSD-3-Clause
// What the plans of a collective amount to: counted from the plans, and from runs in which only messages take time.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "algorithms/plan.hpp"
#include "topology/placement.hpp"
#include "tuning/traffic.hpp"

namespace hcoll {

// Calls `use(step, segment, units)` for every message that the plan sends, segment by segment.
template <typename Use>
void for_each_send(const Plan& plan, Use&& use) {
    for (const Phase& phase : plan.phases)
        for (std::uint64_t number = 0; number < phase.segments(); ++number) {
            const Segment segment = phase.segment(number);
            for (std::uint32_t index = phase.first_step; index < phase.first_step + phase.steps; ++index) {
                const Step& step = plan.steps[index];
                if (step.kind == StepKind::send && (step.positions & segment.position) != 0)
                    use(step, segment, Phase::region_length(step.source, segment));
            }
        }
}

struct PlanStatistics {
    std::array<LinkTraffic, link_count> links;  // by Link
    LinkTraffic all;                            // whatever link
    std::uint64_t collectives = 0;              // of the MPI library's own, that all leaders together begin
    // Of the phase that has most segments, of any rank.
    std::uint64_t segments = 0;
    std::uint64_t segment_bytes = 0;
    std::uint32_t window = 0;
    // Of the biggest plan each.
    std::uint64_t steps = 0;  // in the template, without what loops repeat
    std::uint64_t scratch_bytes = 0;
    std::uint64_t plan_bytes = 0;

    const LinkTraffic& operator[](Link link) const { return links[static_cast<std::size_t>(link)]; }
};

// Of plans[rank] of all ranks of `placement`.
PlanStatistics statistics_of(std::span<const Plan> plans, const Placement& placement, std::uint64_t unit_bytes);

// Messages on the longest path. By link: on the path that has most over links of that level, which may be another path for
// each of them. A collective of the MPI library counts as a binomial tree (price.hpp).
struct PathLength {
    double all = 0;
    std::array<double, link_count> links{};  // by Link

    double operator[](Link link) const { return links[static_cast<std::size_t>(link)]; }
};

// Where a rank sends one message at a time, and receives one: the number of steps.
PathLength steps_of(std::span<const Plan> plans, const Placement& placement);

// Where it sends and receives any number: who waits for whose data.
PathLength dependencies_of(std::span<const Plan> plans, const Placement& placement);

}  // namespace hcoll
