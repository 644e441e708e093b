// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm x ranks x roots x counts around the boundaries: the static proof, and runs in random order.
#include <gtest/gtest.h>

#include "algorithms/plan_check.hpp"
#include "plan_cases.hpp"

namespace hcoll::test {
namespace {

std::vector<int> roots_of(Collective collective, int ranks) {
    std::vector<int> roots;
    for (int root = 0; root < (has_root(collective) ? ranks : 1); ++root) roots.push_back(root);
    return roots;
}

// Around one, two and many segments of `segment` units, and around one and two units for each rank.
std::vector<std::uint64_t> unit_counts(std::uint64_t segment, int ranks) {
    const auto n = static_cast<std::uint64_t>(ranks);
    std::vector<std::uint64_t> counts = {
        1, 2, segment, segment + 1, 2 * segment, 2 * segment + 1, 9 * segment - 1, 9 * segment, n, n + 1, 2 * n + 1};
    if (segment > 1) counts.push_back(segment - 1);
    if (n > 1) counts.push_back(n - 1);
    return counts;
}

struct Shape {
    std::uint64_t segment_bytes;
    std::uint32_t unit_bytes, sends, receives, window = 0;
    std::uint64_t segment() const {
        return segment_bytes == 0 ? 5 : std::max<std::uint64_t>(segment_bytes / unit_bytes, 1);
    }
};
constexpr Shape shapes[] = {{3, 1, 1, 1}, {16, 4, 2, 4}, {7, 8, 3, 2}, {0, 2, 2, 4}, {4, 2, 1, 1, 1}};

struct Operation {
    bool in_place, ordered;
};
std::vector<Operation> operations_of(const PlanCase& plan_case) {
    const Algorithm& algorithm = *plan_case.algorithm;
    if (algorithm.collective == Collective::bcast || algorithm.collective == Collective::barrier)
        return {{false, false}};
    std::vector<Operation> operations = {{false, false}, {true, false}};
    if (is_reduction(algorithm.collective) &&
        keeps_order(algorithm, plan_case.parameters,
                    plan_case.layout.placement ? *plan_case.layout.placement : Placement::one_node(plan_case.ranks)))
        operations.insert(operations.end(), {{false, true}, {true, true}});
    return operations;
}

PlanCase case_of(const Algorithm& algorithm, const Shape& shape, int ranks, int root, std::uint64_t units) {
    PlanCase plan_case{.algorithm = &algorithm,
                       .parameters = algorithm.defaults,
                       .ranks = ranks,
                       .root = root,
                       .units = algorithm.collective == Collective::barrier ? 1 : units,
                       .unit_bytes = shape.unit_bytes,
                       .layout = {}};
    plan_case.parameters.pipeline = {shape.segment_bytes, shape.sends, shape.receives, shape.window};
    return plan_case;
}

// Other values for whatever parameter the algorithm has besides those of the pipeline.
void vary_parameters(PlanCase& plan_case, std::mt19937_64& random) {
    for (const Parameter* parameter : plan_case.algorithm->parameters) {
        if (parameter->name == "segment" || parameter->name == "sends" || parameter->name == "receives") continue;
        const std::uint64_t most = std::min<std::uint64_t>(parameter->maximum, parameter->minimum + 8);
        parameter->set(plan_case.parameters, parameter->minimum + random() % (most - parameter->minimum + 1));
    }
    if (has_two_trees(plan_case.parameters.levels)) plan_case.parameters.split = 0;  // as no setting can have both
}

std::vector<const Algorithm*> algorithms_of(bool (*wanted)(Collective)) {
    std::vector<const Algorithm*> found;
    for (const Algorithm& algorithm : algorithms())
        if (wanted(algorithm.collective)) found.push_back(&algorithm);
    return found;
}

std::string test_name(const testing::TestParamInfo<const Algorithm*>& info) {
    return std::string(name_of(info.param->collective)) + "_" + std::string(info.param->name);
}

class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {
protected:
    const Algorithm& algorithm() const { return *GetParam(); }

    void check(const PlanCase& plan_case) {
        const std::vector<Plan> plans = build_plans(plan_case);
        const auto defect = find_plan_defect(plans);
        ASSERT_FALSE(defect) << plan_case.name() << ": " << *defect;
        const auto failure = run_and_compare(plan_case, plans, random_);
        ASSERT_FALSE(failure) << plan_case.name() << ": " << *failure;
        ++cases_;
    }

    std::mt19937_64 random_{test_seed()};
    std::size_t cases_ = 0;
};

TEST_P(EveryAlgorithm, GivesTheRightResultInAnyOrderForEveryShapeAndCount) {
    for (int ranks = 1; ranks <= small_sweep_ranks; ++ranks)
        for (const int root : roots_of(algorithm().collective, ranks))
            for (const Shape& shape : shapes)
                for (const std::uint64_t units : unit_counts(shape.segment(), ranks)) {
                    PlanCase plan_case = case_of(algorithm(), shape, ranks, root, units);
                    const auto layouts = layouts_of(ranks);
                    if (algorithm().uses_placement) plan_case.layout = layouts[random_() % layouts.size()];
                    for (const Operation& operation : operations_of(plan_case)) {
                        plan_case.in_place = operation.in_place;
                        plan_case.ordered = operation.ordered;
                        ASSERT_NO_FATAL_FAILURE(check(plan_case));
                    }
                }
    EXPECT_GT(cases_, 30U);
}

TEST_P(EveryAlgorithm, GivesTheRightResultForEveryRootOnEveryLayout) {
    for (int ranks = 1; ranks <= sweep_ranks; ++ranks)
        for (const int root : roots_of(algorithm().collective, ranks)) {
            std::vector<Layout> layouts = layouts_of(ranks);
            if (!algorithm().uses_placement) layouts.resize(1);
            if (ranks > 17) layouts = {layouts[random_() % layouts.size()]};
            for (const Layout& layout : layouts) {
                const Shape& shape = shapes[random_() % std::size(shapes)];
                const auto counts = unit_counts(shape.segment(), ranks);
                PlanCase plan_case = case_of(algorithm(), shape, ranks, root, counts[random_() % counts.size()]);
                plan_case.layout = layout;
                vary_parameters(plan_case, random_);
                const auto operations = operations_of(plan_case);
                const Operation& operation = operations[random_() % operations.size()];
                plan_case.in_place = operation.in_place;
                plan_case.ordered = operation.ordered;
                ASSERT_NO_FATAL_FAILURE(check(plan_case));
            }
        }
    EXPECT_GE(cases_, static_cast<std::size_t>(sweep_ranks));
}

TEST_P(EveryAlgorithm, GivesTheRightResultForManyRanks) {
    const std::vector<Layout> layouts = {block_layout(std::vector<int>(many_ranks / 16, 16), 2),
                                         block_layout({many_ranks - 24, 3, 21}, 2), cyclic_layout(many_ranks, 32)};
    for (const Layout& layout : layouts) {
        PlanCase plan_case = case_of(algorithm(), shapes[1], many_ranks, 0, has_blocks(algorithm().collective) ? 2 : 9);
        if (has_root(algorithm().collective)) plan_case.root = static_cast<int>(random_() % many_ranks);
        plan_case.layout = layout;
        const auto failure = run_and_compare(plan_case, build_plans(plan_case), random_);
        ASSERT_FALSE(failure) << plan_case.name() << ": " << *failure;
        if (!algorithm().uses_placement) return;
    }
}

using EveryAlgorithmOfOneMessage = EveryAlgorithm;
TEST_P(EveryAlgorithmOfOneMessage, NeedsNoMoreMemoryForALongerMessage) {
    for (const int ranks : {2, 5, 16}) {
        PlanCase plan_case = case_of(algorithm(), {16, 1, 2, 4}, ranks, 0, 100000);
        const std::vector<Plan> shorter = build_plans(plan_case);
        plan_case.units = 1000 * std::uint64_t{1000} * 1000 * 1000;
        const std::vector<Plan> longer = build_plans(plan_case);
        for (std::size_t rank = 0; rank < shorter.size(); ++rank) {
            EXPECT_EQ(shorter[rank].steps.size(), longer[rank].steps.size());
            EXPECT_LE(longer[rank].scratch_units(), 18U << 20);
        }
    }
}

using EveryReduction = EveryAlgorithm;
TEST_P(EveryReduction, HoldsNoMoreScratchThanOneSegmentOr16Megabytes) {
    for (const std::uint32_t unit_bytes : {1U, 1U << 20, 100U << 20}) {
        PlanCase plan_case = case_of(algorithm(), {64 << 10, unit_bytes, 2, 4}, 17, 0, 1000);
        for (const Plan& plan : build_plans(plan_case))
            for (const Phase& phase : plan.phases)
                EXPECT_TRUE(phase.window == 1 || phase.scratch_units() * unit_bytes <= (18U << 20) || phase.is_ring());
    }
}

TEST_P(EveryAlgorithm, CombinesNoMoreUnitsAtOnceThanAnIntCanCount) {
    for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
        PlanCase plan_case = case_of(algorithm(), {segment, 1, 2, 4}, 4, 0, std::uint64_t{1} << 40);
        for (const Plan& plan : build_plans(plan_case))
            for (const Step& step : plan.steps)
                EXPECT_TRUE(step.kind != StepKind::reduce || step.source.length <= std::uint64_t{1} << 30);
    }
}

using EveryBarrier = EveryAlgorithm;
TEST_P(EveryBarrier, LetsNobodyLeaveBeforeAllHaveEntered) {
    for (int ranks = 2; ranks <= 40; ++ranks) {
        std::vector<Layout> layouts = layouts_of(ranks);
        if (!algorithm().uses_placement) layouts.resize(1);
        for (const Layout& layout : layouts) {
            PlanCase plan_case = case_of(algorithm(), shapes[1], ranks, 0, 1);
            plan_case.layout = layout;
            vary_parameters(plan_case, random_);
            const std::vector<Plan> plans = build_plans(plan_case);
            for (std::size_t absent = 0; absent < plans.size(); ++absent)
                ASSERT_TRUE(nobody_finishes_without(plans, absent, random_))
                    << plan_case.name() << " without " << absent;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithm, testing::ValuesIn(algorithms_of([](Collective) { return true; })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithmOfOneMessage,
                         testing::ValuesIn(algorithms_of([](Collective each) { return !has_blocks(each); })),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryReduction, testing::ValuesIn(algorithms_of(is_reduction)), test_name);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryBarrier,
                         testing::ValuesIn(algorithms_of([](Collective each) { return each == Collective::barrier; })),
                         test_name);

// What the catalog says of an algorithm's bits.
TEST(Bits, AreTheSameForAnyPlacementWhereTheCatalogSaysSo) {
    std::mt19937_64 random(test_seed());
    for (const Algorithm& algorithm : algorithms()) {
        if (!is_reduction(algorithm.collective)) continue;
        bool differ = false;
        for (const int ranks : {5, 8, 13, 24}) {
            PlanCase plan_case = case_of(algorithm, shapes[1], ranks, has_root(algorithm.collective) ? 1 : 0, 9);
            std::vector<std::uint64_t> first;
            for (const Layout& layout : layouts_of(ranks)) {
                plan_case.layout = layout;
                const auto bits = result_bits(plan_case, random);
                ASSERT_EQ(bits.size(), 9U) << plan_case.name();
                if (first.empty()) first = bits;
                differ = differ || bits != first;
            }
        }
        EXPECT_EQ(differ, algorithm.bits_need_placement) << name_of(algorithm.collective) << ' ' << algorithm.name;
    }
}

TEST(Bits, OfTheReproducibleReduceAreTheSameForAnyRoot) {
    std::mt19937_64 random(test_seed());
    const Algorithm* algorithm = find_algorithm(Collective::reduce, "reproducible");
    for (const Layout& layout : layouts_of(13)) {
        std::vector<std::uint64_t> first;
        for (int root = 0; root < 13; ++root) {
            PlanCase plan_case = case_of(*algorithm, shapes[1], 13, root, 9);
            plan_case.layout = layout;
            const auto bits = result_bits(plan_case, random);
            if (root == 0) first = bits;
            EXPECT_EQ(bits, first) << plan_case.name();
        }
    }
}

TEST(Counts, RecursiveDoublingCopiesNothingWhereItNeedNot) {
    const Algorithm* algorithm = find_algorithm(Collective::allreduce, "recursive_doubling");
    const std::vector<Plan> plans = build_plans(case_of(*algorithm, {0, 8, 2, 4}, 2, 0, 1));
    for (const Step& step : plans[0].steps) EXPECT_NE(step.kind, StepKind::copy);
}

}  // namespace
}  // namespace hcoll::test
