// Every algorithm x ranks x roots x counts around the boundaries: the static proof, and runs in random order.
#include <gtest/gtest.h>

#include <set>

#include "algorithms/plan_check.hpp"
#include "plan_cases.hpp"

namespace hcoll::test {
namespace {

std::vector<int> rank_counts() {
    std::vector<int> counts;
    for (int ranks = 1; ranks <= 17; ++ranks) counts.push_back(ranks);
    for (const int ranks : {24, 31, 32, 33, 48, 63, 64}) counts.push_back(ranks);
    return counts;
}

std::vector<int> roots_of(Collective collective, int ranks) {
    if (collective == Collective::allreduce) return {0};
    std::vector<int> roots;
    for (int root = 0; root<ranks; root += ranks> 9 ? 7 : 1) roots.push_back(root);
    if (roots.back() != ranks - 1) roots.push_back(ranks - 1);
    return roots;
}

// Around one, two and many segments of `segment` units.
std::set<std::uint64_t> unit_counts(std::uint64_t segment) {
    return {1,
            2,
            segment - 1 == 0 ? 1 : segment - 1,
            segment,
            segment + 1,
            2 * segment,
            2 * segment + 1,
            9 * segment - 1,
            9 * segment};
}

template <typename Visit>
void for_each_case(const Algorithm& algorithm, const std::vector<int>& ranks_to_try, Visit&& visit) {
    struct Shape {
        std::uint64_t segment_bytes;
        std::uint32_t unit_bytes, sends, receives;
    };
    const bool has_operands = algorithm.collective != Collective::bcast;
    for (const int ranks : ranks_to_try)
        for (const int root : roots_of(algorithm.collective, ranks))
            for (const Shape shape : {Shape{3, 1, 1, 1}, Shape{16, 4, 2, 4}, Shape{7, 8, 3, 2}, Shape{0, 2, 2, 4}})
                for (const bool in_place : {false, true})
                    for (const bool ordered : {false, true}) {
                        if (!has_operands && (in_place || ordered)) continue;
                        const std::uint64_t segment =
                            std::max<std::uint64_t>(shape.segment_bytes / shape.unit_bytes, 1);
                        for (const std::uint64_t units : unit_counts(segment)) {
                            if (ranks > 17 && units % segment != 1) continue;
                            PlanCase plan_case{&algorithm, algorithm.defaults, ranks,    root,
                                               units,      shape.unit_bytes,   in_place, ordered};
                            plan_case.parameters.pipeline = {shape.segment_bytes, shape.sends, shape.receives};
                            visit(plan_case);
                        }
                    }
}

std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const Algorithm& algorithm : algorithms())
        names.push_back(std::string(name_of(algorithm.collective)) + "_" + std::string(algorithm.name));
    return names;
}

class EveryAlgorithm : public testing::TestWithParam<std::size_t> {
protected:
    const Algorithm& algorithm() const { return algorithms()[GetParam()]; }
};

TEST_P(EveryAlgorithm, GivesTheRightResultInAnyOrder) {
    std::mt19937_64 random(test_seed());
    std::size_t cases = 0;
    for_each_case(algorithm(), rank_counts(), [&](const PlanCase& plan_case) {
        const std::vector<Plan> plans = build_plans(plan_case);
        const auto defect = find_plan_defect(plans);
        ASSERT_FALSE(defect) << plan_case.name() << ": " << *defect;
        const auto failure = run_and_compare(plan_case, plans, random);
        ASSERT_FALSE(failure) << plan_case.name() << ": " << *failure;
        ++cases;
    });
    EXPECT_GT(cases, 100U);
}

TEST_P(EveryAlgorithm, NeedsNoMoreMemoryForALongerMessage) {
    for (const int ranks : {2, 5, 16}) {
        PlanCase plan_case{&algorithm(), algorithm().defaults, ranks, 0, 1000, 1, false, false};
        plan_case.parameters.pipeline = {16, 2, 4};
        const std::vector<Plan> shorter = build_plans(plan_case);
        plan_case.units = 1000 * std::uint64_t{1000} * 1000 * 1000;
        const std::vector<Plan> longer = build_plans(plan_case);
        for (std::size_t rank = 0; rank < shorter.size(); ++rank) {
            EXPECT_EQ(shorter[rank].memory_bytes(), longer[rank].memory_bytes());
            EXPECT_EQ(shorter[rank].scratch_units(), longer[rank].scratch_units());
        }
    }
}

TEST_P(EveryAlgorithm, HoldsNoMoreScratchThanOneSegmentOr16Megabytes) {
    for (const std::uint32_t unit_bytes : {1U, 1U << 20, 100U << 20}) {
        const PlanCase plan_case{&algorithm(), algorithm().defaults, 17, 0, 1000, unit_bytes, false, false};
        for (const Plan& plan : build_plans(plan_case))
            EXPECT_TRUE(plan.window == 1 || plan.scratch_units() * unit_bytes <= (16U << 20));
    }
}

TEST_P(EveryAlgorithm, SendsNoMessageOfMoreUnitsThanAnIntCanCount) {
    PlanCase plan_case{&algorithm(), algorithm().defaults, 4, 0, std::uint64_t{1} << 40, 1, false, false};
    for (const std::uint64_t segment : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
        plan_case.parameters.pipeline.segment_bytes = segment;
        for (const Plan& plan : build_plans(plan_case)) EXPECT_LE(plan.segment_units, std::uint64_t{1} << 30);
    }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryAlgorithm, testing::Range<std::size_t>(0, algorithms().size()),
                         [](const auto& parameter) { return algorithm_names()[parameter.param]; });

// What the heads of the files claim.
TEST(Counts, MessagesAreAsManyAsTheHeadsOfTheFilesSay) {
    struct Claim {
        Collective collective;
        const char* algorithm;
        int ranks;
        std::size_t messages;
    };
    for (const Claim& claim :
         {Claim{Collective::bcast, "chain", 9, 8}, Claim{Collective::bcast, "binomial", 16, 15},
          Claim{Collective::reduce, "binary", 10, 9}, Claim{Collective::allreduce, "reduce_bcast", 7, 12},
          Claim{Collective::allreduce, "recursive_doubling", 8, 24},
          Claim{Collective::allreduce, "recursive_doubling", 11, 24 + 6}}) {
        const Algorithm* algorithm = find_algorithm(claim.collective, claim.algorithm);
        ASSERT_NE(algorithm, nullptr);
        std::size_t messages = 0;
        for (const Plan& plan : build_plans({algorithm, algorithm->defaults, claim.ranks, 0, 1, 1, false, false}))
            for (const Step& step : plan.steps) messages += step.kind == StepKind::send ? 1 : 0;
        EXPECT_EQ(messages, claim.messages) << claim.algorithm;
    }
}

TEST(Counts, RecursiveDoublingCopiesNothingWhereItNeedNot) {
    const Algorithm* algorithm = find_algorithm(Collective::allreduce, "recursive_doubling");
    const std::vector<Plan> plans = build_plans({algorithm, algorithm->defaults, 2, 0, 1, 8, false, false});
    for (const Step& step : plans[0].steps) EXPECT_NE(step.kind, StepKind::copy);
}

}  // namespace
}  // namespace hcoll::test
