// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/plan_statistics.hpp"

#include <algorithm>

#include "tuning/machine_model.hpp"
#include "tuning/price.hpp"

namespace hcoll {

namespace {

template <typename MachineOfLink>
PathLength path_length(std::span<const Plan> plans, const Placement& placement, const MachineModel& machine,
                       const MachineOfLink& machine_of) {
    constexpr std::uint64_t unit_bytes = 1;  // bytes take no time
    PathLength length{.all = price(plans, placement, machine, unit_bytes).seconds, .links = {}};
    for (const Link link : every_link)
        length.links[static_cast<std::size_t>(link)] = price(plans, placement, machine_of(link), unit_bytes).seconds;
    return length;
}

}  // namespace

PlanStatistics statistics_of(std::span<const Plan> plans, const Placement& placement, std::uint64_t unit_bytes) {
    using OfLinks = std::array<Traffic, link_count>;
    std::vector<OfLinks> sent(plans.size());
    PlanStatistics result;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const Plan& plan = plans[rank];
        for_each_send(plan, [&](const Step& step, const Segment&, std::uint64_t units) {
            const Link link = placement.link(static_cast<int>(rank), step.peer);
            sent[rank][static_cast<std::size_t>(link)] += {1, units * unit_bytes};
        });
        for (const Phase& phase : plan.phases) {
            for (std::uint32_t index = phase.first_step; index < phase.first_step + phase.steps; ++index)
                if (plan.steps[index].kind == StepKind::collective) result.collectives += phase.segments();
            if (phase.segments() <= result.segments) continue;
            result.segments = phase.segments();
            result.segment_bytes = phase.segment_units * unit_bytes;
            result.window = phase.window;
        }
        result.steps = std::max<std::uint64_t>(result.steps, plan.steps.size());
        result.scratch_bytes = std::max(result.scratch_bytes, plan.scratch_units() * unit_bytes);
        result.plan_bytes = std::max<std::uint64_t>(result.plan_bytes, plan.memory_bytes());
    }
    for (std::size_t link = 0; link < link_count; ++link)
        result.links[link] =
            traffic_of(placement, [&](int rank) { return sent[static_cast<std::size_t>(rank)][link]; });
    result.all = traffic_of(placement, [&](int rank) {
        Traffic all;
        for (const Traffic& of_link : sent[static_cast<std::size_t>(rank)]) all += of_link;
        return all;
    });
    return result;
}

PathLength steps_of(std::span<const Plan> plans, const Placement& placement) {
    return path_length(plans, placement, unit_latency(), [](Link link) { return unit_latency(link); });
}

PathLength dependencies_of(std::span<const Plan> plans, const Placement& placement) {
    return path_length(plans, placement, unit_dependency(), [](Link link) { return unit_dependency(link); });
}

}  // namespace hcoll
