// SPDX-License-Identifier: BSD-3-Clause
// What a tuner decides by: races among candidates, and costs of tasks put together.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "../support/seed.hpp"
#include "tuner/slow_nodes.hpp"
#include "tuning/racing.hpp"
#include "tuning/task_costs.hpp"

namespace hcoll::test {
namespace {

// Seconds with noise that only ever adds.
class Noisy {
public:
    Noisy(std::vector<double> true_seconds, double noise) : seconds_(std::move(true_seconds)), noise_(noise) {}
    double operator()(std::size_t i) {
        ++measured_;
        std::exponential_distribution<double> added(1 / noise_);
        return seconds_[i] * (1 + added(random_));
    }
    int measured() const { return measured_; }

private:
    std::vector<double> seconds_;
    double noise_;
    std::mt19937_64 random_{test_seed()};
    int measured_ = 0;
};

TEST(Race, StopsAtOnceWhereNothingDisturbs) {
    Noisy clock({3e-6, 1e-6, 2e-6, 10e-6}, 1e-9);
    const auto runners = race(4, std::ref(clock), {});
    EXPECT_EQ(winner_of(runners), 1U);
    EXPECT_EQ(runners[3].samples.size(), 2U) << "three times as slow: out at once";
    EXPECT_LE(clock.measured(), 4 * 5);
    EXPECT_NEAR(runners[1].median(), 1e-6, 1e-9);
}

TEST(Race, EndsEarlyOnlyWhereSamplesLieFurtherApartThanTheyScatter) {
    const auto rounds_of = [](const std::vector<std::vector<double>>& samples) {
        std::vector<std::size_t> next(samples.size(), 0);
        const auto runners =
            race(samples.size(), [&](std::size_t i) { return samples[i][next[i]++ % samples[i].size()]; }, {});
        return runners[0].samples.size();
    };
    EXPECT_EQ(rounds_of({{1.00, 1.01, 1.00}, {1.06, 1.06, 1.07}}), 3U);
    EXPECT_GE(rounds_of({{1.00, 1.01, 1.00}, {1.02, 1.03, 1.02}}), 5U) << "two percent";
    EXPECT_GE(rounds_of({{1.00, 1.04, 1.00}, {1.07, 1.09, 1.08}}), 5U) << "the first one scatters by more";
    EXPECT_GE(rounds_of({{1.00, 1.01, 1.00}, {1.06, 1.20, 1.10}}), 5U) << "the second one scatters by more";
}

// A burst of noise is longer than a sample: nobody's two samples are to be in the same one, and nobody is always the first after a pause.
TEST(Race, TakesTurnsThatBeginElsewhereEachRound) {
    for (std::size_t candidates = 2; candidates < 10; ++candidates) {
        std::vector<std::size_t> order;
        const auto sample = [&](double seconds, std::size_t i) {
            order.push_back(i);
            return seconds;
        };
        race(candidates, [&](std::size_t i) { return sample(1, i); }, {.fewest_rounds = 12, .most_rounds = 12});
        ASSERT_EQ(order.size(), 12 * candidates);
        for (std::size_t i = 1; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1]) << candidates;
        std::set<std::size_t> first;
        for (std::size_t i = 0; i < order.size(); i += candidates) first.insert(order[i]);
        EXPECT_TRUE(candidates == 2 || first.size() == candidates) << candidates;
        // Also where some are out soon.
        order.clear();
        std::mt19937_64 random(test_seed());
        race(candidates,
             [&](std::size_t i) {
                 return sample(1 + static_cast<double>(i % 3) + static_cast<double>(random() % 1000) * 1e-3, i);
             },
             {});
        for (std::size_t i = 1; i < order.size(); ++i) EXPECT_NE(order[i], order[i - 1]) << candidates;
    }
}

TEST(Race, FindsTheFastestInSpiteOfNoise) {
    int right = 0;
    constexpr int races = 50;
    for (int i = 0; i < races; ++i) {
        Noisy clock({1.2e-6, 1.5e-6, 1.0e-6, 1.3e-6, 9e-6}, 0.1);
        const auto runners = race(5, std::ref(clock), {});
        right += winner_of(runners) == 2 ? 1 : 0;
        EXPECT_TRUE(runners[4].is_out);
    }
    EXPECT_GE(right, races * 9 / 10);
}

TEST(Race, OfEqualsEndsAndHasAnIntervalAroundTheMedian) {
    Noisy clock({1e-6, 1e-6}, 0.2);
    const auto runners = race(2, std::ref(clock), {.fewest_rounds = 5, .most_rounds = 11});
    EXPECT_LE(clock.measured(), 22);
    for (const Runner& runner : runners) {
        EXPECT_LE(runner.low(), runner.median());
        EXPECT_LE(runner.median(), runner.high());
    }
    EXPECT_EQ(winner_of(race(1, [](std::size_t) { return 1.0; }, {})), 0U);
    EXPECT_EQ(winner_of({}), 0U);
}

TEST(SlowNodes, AreThoseThatComputeOrSendSlowerThanTheOthers) {
    EXPECT_TRUE(slow_nodes({{1}, {}}).empty());
    EXPECT_TRUE(slow_nodes({{1, 1.1, 1.2}, {1, 1.3, 1.2}}).empty());
    // One link alone is nobody's.
    EXPECT_TRUE(slow_nodes({{1, 1, 1, 1}, {1, 4, 1, 1}}).empty());
    for (int nodes = 3; nodes < 9; ++nodes)
        for (int slow = 0; slow < nodes; ++slow) {
            const auto all = static_cast<std::size_t>(nodes);
            const auto one = static_cast<std::size_t>(slow);
            NodeSpeeds speeds{std::vector<double>(all, 1), std::vector<double>(all, 1)};
            speeds.computing[one] = 1.5;
            const std::vector<SlowNode> computing = slow_nodes(speeds);
            ASSERT_EQ(computing.size(), 1U) << nodes;
            EXPECT_EQ(computing[0].node, slow);
            EXPECT_FALSE(computing[0].by_network);
            speeds.computing[one] = 1;
            speeds.links[one] = speeds.links[(one + all - 1) % all] = 3;
            const std::vector<SlowNode> sending = slow_nodes(speeds);
            ASSERT_EQ(sending.size(), 1U) << nodes;
            EXPECT_EQ(sending[0].node, slow);
            EXPECT_TRUE(sending[0].by_network);
            EXPECT_DOUBLE_EQ(sending[0].times, 3);
        }
}

// Equation 5.4 with tasks of known costs, on ranks that end at different times.
TEST(TaskCosts, PutTogetherAreTheCollective) {
    const double ib[] = {2, 3};
    const double sbib[] = {5, 4};
    const double sb[] = {1, 2};
    const auto of_segments = [&](int segments) {
        std::vector<double> seconds;
        for (int rank = 0; rank < 2; ++rank) seconds.push_back(ib[rank] + (segments - 1) * sbib[rank] + sb[rank]);
        return seconds;
    };
    const TaskCosts costs(1000, {{1, of_segments(1)}, {2, of_segments(2)}, {6, of_segments(6)}});
    for (const int segments : {1, 2, 3, 7, 100}) {
        const std::vector<double> all = of_segments(segments);
        EXPECT_DOUBLE_EQ(costs.seconds(static_cast<std::uint64_t>(segments) * 1000), std::max(all[0], all[1]))
            << segments;
    }
    EXPECT_DOUBLE_EQ(costs.full_task(), 5);
    EXPECT_DOUBLE_EQ(costs.seconds(10), 5) << "less than a segment is one";
    EXPECT_TRUE(costs.is_stable());
}

// Equation 5.5, where the pipeline fills in three steps.
TEST(TaskCosts, OfAnAllreduceFillInFourSegments) {
    const auto of_segments = [](int segments) {
        const double ends[] = {0, 10, 16, 21, 25};
        return std::vector<double>{segments <= 4 ? ends[segments] : ends[4] + 3.0 * (segments - 4)};
    };
    const int filling = segments_to_fill(Collective::allreduce);
    const int later = segments_to_see_the_middle(Collective::allreduce);
    const TaskCosts costs(8, {{1, of_segments(1)}, {filling, of_segments(filling)}, {later, of_segments(later)}});
    EXPECT_DOUBLE_EQ(costs.seconds(8 * 1000), 25 + 3.0 * 996);
    EXPECT_DOUBLE_EQ(costs.seconds(8), 10);
    EXPECT_GT(costs.seconds(16), 10);
    EXPECT_LT(costs.seconds(16), 25);
}

// Where four segments do not fill the pipeline, the step after them is not that of a long message: it is seen, and measured later.
TEST(TaskCosts, OfADeepPipelineAreMeasuredUntilTheyAreStable) {
    const auto of_segments = [](int segments) {
        return std::vector<double>{10.0 + std::min(segments, 12) + 3.0 * std::max(segments - 12, 0)};
    };
    TaskTimes times = {{1, of_segments(1)}, {4, of_segments(4)}, {8, of_segments(8)}, {16, of_segments(16)}};
    EXPECT_FALSE(TaskCosts(8, times).is_stable());
    times[32] = of_segments(32);
    EXPECT_FALSE(TaskCosts(8, times).is_stable());
    times[64] = of_segments(64);
    const TaskCosts costs(8, times);
    EXPECT_TRUE(costs.is_stable());
    EXPECT_DOUBLE_EQ(costs.full_task(), 3);
    EXPECT_DOUBLE_EQ(costs.seconds(8 * 1000), of_segments(1000)[0]);
    EXPECT_DOUBLE_EQ(costs.seconds(8 * 6), of_segments(6)[0]) << "what was measured around it counts";
}

TEST(TaskCosts, OverlapIsBetweenNothingAndAll) {
    EXPECT_DOUBLE_EQ(overlap_rate(3, 2, 5), 0);
    EXPECT_DOUBLE_EQ(overlap_rate(3, 2, 3), 1);
    EXPECT_DOUBLE_EQ(overlap_rate(3, 2, 4), 0.5);
    EXPECT_DOUBLE_EQ(overlap_rate(3, 2, 9), 0);
    EXPECT_DOUBLE_EQ(overlap_rate(3, 2, 1), 1);
    EXPECT_DOUBLE_EQ(overlap_rate(0, 2, 1), 0);
}

}  // namespace
}  // namespace hcoll::test
