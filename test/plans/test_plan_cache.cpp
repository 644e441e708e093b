// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "progress/engine/plan_cache.hpp"

namespace hcoll {
namespace {

Plan build(int steps) {
    Plan plan;
    plan.steps.resize(static_cast<std::size_t>(steps));
    return plan;
}

TEST(PlanCacheTest, BuildsOnceAndKeepsWhatWasUsedLast) {
    PlanCache cache(4096);
    int built = 0;
    const auto get = [&](std::uint64_t units) {
        return cache.get({.units = units}, [&] {
            ++built;
            return build(4);
        });
    };
    const auto first = get(1);
    EXPECT_EQ(get(1), first);
    EXPECT_EQ(built, 1);
    for (std::uint64_t units = 2; units < 100; ++units) {
        get(units);
        EXPECT_EQ(get(1), first) << "used most often, dropped all the same";
        EXPECT_LE(cache.bytes(), 4096U);
    }
    EXPECT_EQ(built, 99);
}

TEST(PlanCacheTest, APlanInUseOutlivesItsPlaceInTheCache) {
    PlanCache cache(0);
    const auto plan = cache.get({.units = 1}, [] { return build(4); });
    EXPECT_EQ(cache.size(), 0U);
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_EQ(plan->steps.size(), 4U);
}

TEST(PlanCacheTest, APlanLargerThanTheCacheDrivesNobodyOut) {
    PlanCache cache(4096);
    int built = 0;
    const auto get = [&](std::uint64_t units, int steps) {
        return cache.get({.units = units}, [&] { return ++built, build(steps); });
    };
    const auto small = get(1, 4);
    const std::size_t bytes = cache.bytes();
    const auto large = get(2, 4096);
    EXPECT_EQ(large->steps.size(), 4096U);
    EXPECT_EQ(cache.size(), 1U);
    EXPECT_EQ(cache.bytes(), bytes);
    EXPECT_EQ(get(1, 4), small);
    EXPECT_EQ(built, 2);
    // But it is there for the next call like it, as long as there is no other of that kind.
    EXPECT_EQ(get(2, 4096), large);
    EXPECT_EQ(built, 2);
    get(3, 4096);
    EXPECT_NE(get(2, 4096), large);
    EXPECT_EQ(built, 4);
}

TEST(PlanCacheTest, EveryPartOfTheKeyTellsPlansApart) {
    PlanCache cache(1 << 20);
    const PlanKey keys[] = {{.units = 8},
                            {.units = 9},
                            {.collective = Collective::reduce, .units = 8},
                            {.in_place = true, .units = 8},
                            {.ordered = true, .units = 8},
                            {.root = 1, .units = 8},
                            {.unit_bytes = 4, .units = 8}};
    int built = 0;
    for (int round = 0; round < 2; ++round)
        for (const PlanKey& key : keys) cache.get(key, [&] { return ++built, build(1); });
    EXPECT_EQ(built, static_cast<int>(std::size(keys)));
}

}  // namespace
}  // namespace hcoll
