// What a tuner decides by: races among candidates, and costs of tasks put together.
#include <gtest/gtest.h>

#include <random>

#include "../support/seed.hpp"
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
    const TaskCosts costs(Collective::bcast, 1000,
                          {of_segments(1), of_segments(segments_to_fill(Collective::bcast)),
                           of_segments(segments_until_stable(Collective::bcast))});
    for (const int segments : {1, 2, 3, 7, 100}) {
        const std::vector<double> all = of_segments(segments);
        EXPECT_DOUBLE_EQ(costs.seconds(static_cast<std::uint64_t>(segments) * 1000), std::max(all[0], all[1]))
            << segments;
    }
    EXPECT_DOUBLE_EQ(costs.full_task(), 5);
    EXPECT_DOUBLE_EQ(costs.seconds(10), 5) << "less than a segment is one";
}

// Equation 5.5, where the pipeline fills in three steps.
TEST(TaskCosts, OfAnAllreduceFillInFourSegments) {
    const auto of_segments = [](int segments) {
        const double ends[] = {0, 10, 16, 21, 25};
        return std::vector<double>{segments <= 4 ? ends[segments] : ends[4] + 3.0 * (segments - 4)};
    };
    const TaskCosts costs(Collective::allreduce, 8,
                          {of_segments(1), of_segments(segments_to_fill(Collective::allreduce)),
                           of_segments(segments_until_stable(Collective::allreduce))});
    EXPECT_DOUBLE_EQ(costs.seconds(8 * 1000), 25 + 3.0 * 996);
    EXPECT_DOUBLE_EQ(costs.seconds(8), 10);
    EXPECT_GT(costs.seconds(16), 10);
    EXPECT_LT(costs.seconds(16), 25);
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
