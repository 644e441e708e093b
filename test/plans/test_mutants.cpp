// SPDX-License-Identifier: BSD-3-Clause
// A check that never fails checks nothing: plans are damaged in every way below, and each damage must be found, by the
// static proof or by a run.
#include <gtest/gtest.h>

#include <functional>

#include "algorithms/plan_check.hpp"
#include "plan_cases.hpp"

namespace hcoll::test {
namespace {

struct Mutation {
    const char* name;
    // Damages the `choice`-th place of a plan; false where the plan has no such place.
    std::function<bool(Plan&, std::size_t choice)> apply;
};

bool remove_edge(Plan& plan, std::size_t choice) {
    for (Phase& phase : plan.phases)
        for (std::uint32_t index = 0; index < phase.steps; ++index) {
            Step& step = plan.steps[phase.first_step + index];
            if (choice < step.successors) {
                const std::size_t position = step.first_successor + choice;
                const std::uint32_t target = plan.successors[position];
                plan.successors.erase(plan.successors.begin() + static_cast<std::ptrdiff_t>(position));
                --step.successors;
                for (Step& other : plan.steps) other.first_successor -= other.first_successor > position ? 1U : 0U;
                --plan.steps[phase.first_step + target].dependencies;
                return true;
            }
            choice -= step.successors;
        }
    return false;
}

bool change_step(Plan& plan, std::size_t choice, const std::function<bool(Step&)>& change) {
    return choice < plan.steps.size() && change(plan.steps[choice]);
}

const Mutation mutations[] = {
    {"drop an edge", [](Plan& plan, std::size_t choice) { return remove_edge(plan, choice); }},
    {"wrong peer",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [](Step& step) { return step.is_message() && (step.peer += 1, true); });
     }},
    {"wrong channel",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [](Step& step) { return step.is_message() && (step.channel += 1, true); });
     }},
    {"shorter source",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice,
                            [](Step& step) { return step.has_source() && (step.source.length -= 1, true); });
     }},
    {"shorter target",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice,
                            [](Step& step) { return step.has_target() && (step.target.length -= 1, true); });
     }},
    {"shifted target",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice,
                            [](Step& step) { return step.has_target() && (step.target.begin += 1, true); });
     }},
    {"target in another buffer",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [&](Step& step) {
             if (!step.has_target()) return false;
             step.target.buffer = step.target.buffer == Buffer::output ? Buffer::scratch : Buffer::output;
             step.target.part = 0;
             return true;
         });
     }},
    {"operands exchanged",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [](Step& step) {
             if (step.kind != StepKind::reduce || step.source.buffer == Buffer::input) return false;
             std::swap(step.source, step.target);
             return true;
         });
     }},
    {"reduce becomes copy",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [](Step& step) {
             return step.kind == StepKind::reduce && (step.kind = StepKind::copy, true);
         });
     }},
    {"forgotten event",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice,
                            [](Step& step) { return step.dependencies > 0 && (step.dependencies -= 1, true); });
     }},
    {"event that never comes",
     [](Plan& plan, std::size_t choice) {
         return change_step(plan, choice, [](Step& step) { return (step.dependencies += 1, true); });
     }},
};

// In NAP the lane of the own subgroup gives the others of its node what they have already, so that all combine in the
// same order on all nodes: whoever receives it elsewhere has it in its output all the same.
bool changes_nothing(const PlanCase& plan_case, const Mutation& mutation, const Plan& before, const Plan& after) {
    if (plan_case.algorithm->name != "nap" || mutation.name != std::string_view("target in another buffer"))
        return false;
    for (std::size_t i = 0; i < before.steps.size(); ++i)
        if (!(before.steps[i].target == after.steps[i].target)) return before.steps[i].kind == StepKind::recv;
    return false;
}

// What a run of a damaged plan shows. A barrier's bytes have no content: it owes that nobody leaves before all have entered.
bool is_found_by_a_run(const PlanCase& plan_case, const std::vector<Plan>& damaged, std::mt19937_64& random) {
    if (run_and_compare(plan_case, damaged, random)) return true;
    if (plan_case.algorithm->collective != Collective::barrier) return false;
    for (std::size_t absent = 0; absent < damaged.size(); ++absent)
        if (!nobody_finishes_without(damaged, absent, random)) return true;
    return false;
}

TEST(Mutants, EveryOneIsFound) {
    std::mt19937_64 random(test_seed());
    std::size_t mutants = 0;
    for (const Algorithm& algorithm : algorithms())
        for (const int ranks : {2, 3, 5, 8})
            for (const bool in_place : {false, true}) {
                const bool has_operands =
                    algorithm.collective != Collective::bcast && algorithm.collective != Collective::barrier;
                if (!has_operands && in_place) continue;
                PlanCase plan_case{
                    .algorithm = &algorithm,
                    .parameters = algorithm.defaults,
                    .ranks = ranks,
                    .root = has_root(algorithm.collective) ? 1 : 0,
                    .units = algorithm.collective == Collective::barrier ? 1U : 5U * static_cast<unsigned>(ranks),
                    .unit_bytes = 2,
                    .in_place = in_place,
                    .layout = block_layout(ranks > 3 ? std::vector{ranks - 3, 3} : std::vector{ranks})};
                plan_case.parameters.pipeline = {8, 2, 4};
                plan_case.ordered = is_reduction(algorithm.collective) &&
                                    keeps_order(algorithm, plan_case.parameters, *plan_case.layout.placement);
                const std::vector<Plan> plans = build_plans(plan_case);
                for (const Mutation& mutation : mutations)
                    for (std::size_t rank = 0; rank < plans.size(); ++rank)
                        for (std::size_t choice = 0; choice < 2 * plans[rank].steps.size(); ++choice) {
                            std::vector<Plan> damaged = plans;
                            if (!mutation.apply(damaged[rank], choice)) continue;
                            ++mutants;
                            if (find_plan_defect(damaged)) continue;
                            if (changes_nothing(plan_case, mutation, plans[rank], damaged[rank])) continue;
                            EXPECT_TRUE(is_found_by_a_run(plan_case, damaged, random))
                                << plan_case.name() << ": " << mutation.name << ", rank " << rank << ", place "
                                << choice;
                        }
            }
    std::printf("%zu mutants\n", mutants);
    EXPECT_GT(mutants, 10000U);
}

}  // namespace
}  // namespace hcoll::test
