// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits for a flag, without other ranks: what it drives raises the flag.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "progress/node/waiting.hpp"

namespace hcoll {

namespace {

struct Driven {
    Flag flag{};
    int drives = 0;
    int raised_after = 0;
    int announced = 0;  // that it will sleep, so far
};

Status drive(void* context) {
    auto& driven = *static_cast<Driven*>(context);
    if (driven.flag.sleepers.exchange(0) != 0) ++driven.announced;
    if (++driven.drives == driven.raised_after) driven.flag.value = 1;
    return 0;
}

// How often another program got this thread's core while it wanted to run.
long times_taken() {
    rusage usage{};
    EXPECT_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nivcsw;
}

}  // namespace

// What others want of the MPI library of a rank that waits (one-sided communication) goes on only where that is looked at. It may sleep where
// another program took the core again and again, which the system has counted.
TEST(Waiting, PollsWithACoreOfItsOwn) {
    constexpr int runs = 10;
    int slept_for_nothing = 0;
    for (int run = 0; run < runs; ++run) {
        Driven driven{.raised_after = 1000};
        Waiting waiting(false, drive, &driven);
        const long taken_before = times_taken();
        waiting.until(driven.flag, 1);
        EXPECT_EQ(driven.drives, driven.raised_after);
        if (driven.announced != 0 && times_taken() - taken_before < 3) ++slept_for_nothing;
    }
    // A virtual machine may have been taken its cores, which nobody counts.
    EXPECT_LT(slept_for_nothing, runs / 2);
}

TEST(Waiting, SleepsWhereCoresAreShared) {
    Driven driven{.raised_after = 1000};
    Waiting waiting(true, drive, &driven);
    waiting.until(driven.flag, 1);
    EXPECT_GT(driven.announced, 500);
}

TEST(Waiting, ACoreThatWasTakenIsItsOwnAgainAfterSomeWaits) {
    OwnCore core;
    EXPECT_TRUE(core.is_likely());
    EXPECT_FALSE(core.is_taken(5'000));
    EXPECT_TRUE(core.is_likely());
    // The system, now and then.
    for (int i = 0; i < 10000; ++i) EXPECT_FALSE(core.is_taken(i % 1000 == 0 ? 400'000 : 1'000));
    EXPECT_TRUE(core.is_likely());
    EXPECT_FALSE(core.is_taken(3'000'000));
    EXPECT_FALSE(core.is_taken(3'000'000));
    EXPECT_TRUE(core.is_taken(3'000'000));
    int waits = 0;
    while (!core.is_likely()) ++waits;
    EXPECT_EQ(waits, 64);
    EXPECT_FALSE(OwnCore(true).is_likely());
}

// Ranks that gave their cores to another program as soon as one of them was late met seldom (Open MPI with mpi_yield_when_idle: 134 us a call).
TEST(Waiting, SpinsForAboutATurnWhereAnotherProgramTakesTurns) {
    Spins spins(false);
    const int usual = spins.now();
    spins.succeeded();
    EXPECT_EQ(spins.now(), usual);
    spins.were_in_vain();
    spins.gave_turn(4'000'000);
    EXPECT_EQ(spins.now(), usual / 2);
    for (int i = 0; i < 100; ++i) spins.succeeded();
    EXPECT_GT(spins.now(), 50 * usual);
    // Where it is in vain again and again a partner may need this very core.
    for (int i = 0; i < 12; ++i) spins.were_in_vain();
    EXPECT_LT(spins.now(), usual / 10);
    for (int i = 0; i < 100; ++i) spins.succeeded();
    spins.gave_turn(1'000);
    EXPECT_EQ(spins.now(), usual);
    Spins shared(true);
    shared.gave_turn(4'000'000);
    shared.succeeded();
    EXPECT_EQ(shared.now(), 0);
}

}  // namespace hcoll
