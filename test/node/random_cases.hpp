// SPDX-License-Identifier: BSD-3-Clause
// Any algorithm, with any arguments that it takes, on any layout of so many ranks.
#pragma once

#include <iterator>
#include <random>
#include <vector>

#include "../plans/plan_cases.hpp"

namespace hcoll::test {

inline Layout random_layout(int ranks, std::mt19937_64& random) {
    const std::vector<Layout> layouts = layouts_of(ranks);
    return layouts[random() % layouts.size()];
}

// Segments of less than a cell, and of several.
inline PlanCase random_case(int ranks, std::uint64_t cell_units, std::mt19937_64& random) {
    const auto all = algorithms();
    PlanCase plan_case;
    plan_case.algorithm = &all[random() % all.size()];
    plan_case.parameters = plan_case.algorithm->defaults;
    if (plan_case.parameters.pipeline.segment_bytes != 0)
        plan_case.parameters.pipeline.segment_bytes = sizeof(Operand) * (1 + random() % (3 * cell_units));
    for (const Parameter* parameter : plan_case.algorithm->parameters)
        if (parameter->name == "s") parameter->set(plan_case.parameters, random() % 4);
    plan_case.ranks = ranks;
    plan_case.layout = random_layout(ranks, random);
    plan_case.root =
        has_root(plan_case.algorithm->collective) ? static_cast<int>(random() % static_cast<std::uint64_t>(ranks)) : 0;
    const std::uint64_t edges[] = {
        1, 2, cell_units - 1, cell_units, cell_units + 1, 3 * cell_units, 20 * cell_units + 1};
    plan_case.units = edges[random() % std::size(edges)];
    plan_case.unit_bytes = sizeof(Operand);
    plan_case.in_place = random() % 2 == 0;
    plan_case.ordered = is_reduction(plan_case.algorithm->collective) && random() % 2 == 0 &&
                        keeps_order(*plan_case.algorithm, plan_case.parameters, *plan_case.layout.placement);
    return plan_case;
}

}  // namespace hcoll::test
