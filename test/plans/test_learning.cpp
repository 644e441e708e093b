// SPDX-License-Identifier: BSD-3-Clause
// What places learn (tuning/learning.hpp): the fastest candidate, whoever is late, for a bounded price, and alike on all ranks.
#include "tuning/learning.hpp"

#include <gtest/gtest.h>

#include "../support/learning_job.hpp"
#include "../support/seed.hpp"
#include "plan_cases.hpp"

namespace hcoll::test {
namespace {

TEST(Learning, FindsTheFastestCandidateOfCallsThatAreMadeOften) {
    LearningJob job({.seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    for (int i = 0; i < 400; ++i) job.call(Collective::allreduce, 1000);
    EXPECT_EQ(job.chosen(Collective::allreduce, 1000), 2);
}

TEST(Learning, TriesNothingOnCallsThatAreMadeSeldom) {
    LearningJob job({.seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    for (int i = 0; i < 5; ++i) {
        for (int size = 0; size < 20; ++size) EXPECT_EQ(job.call(Collective::allreduce, 1ULL << size), 0);
        EXPECT_EQ(job.call(Collective::barrier, 0), 0);
    }
}

TEST(Learning, LeavesTheMpiLibraryWhatNothingTellsApart) {
    int vendors = 0;
    for (std::uint64_t i = 0; i < 50; ++i) {
        LearningJob job({.noise = 0.5, .seconds = seconds_of({20, 20, 20.2, 19.9})}, mix({test_seed(), i}));
        for (int call = 0; call < 1500; ++call) job.call(Collective::allreduce, 1000);
        if (job.chosen(Collective::allreduce, 1000) == 0) ++vendors;
    }
    EXPECT_GE(vendors, 30);
}

// Of several candidates, the MPI library's second, after one round that leaves nothing for another one. What their calls take, in microseconds.
int chosen_after_one_round(const std::vector<std::vector<double>>& costs_of, std::uint64_t bytes = 0,
                           int first = PlaceLearning::usual) {
    constexpr int vendor = 1;
    PlaceLearning::Costs memory{};
    PlaceLearning place;
    place.begin(static_cast<int>(costs_of.size()), vendor, bytes, TuneMode::automatic, first, true);
    place.keep_costs_in(memory);
    while (!place.is_ready()) place.next(false);
    place.learn({}, place.calls(), place.position());
    std::vector<PlaceLearning::Cost> costs;
    std::vector<std::size_t> told(costs_of.size());
    while (place.is_in_round()) {
        const PlaceLearning::Turn turn = place.next(false);
        if (!turn.is_timed) continue;
        const auto candidate = static_cast<std::size_t>(turn.candidate);
        costs.push_back({turn.candidate, costs_of[candidate].at(told[candidate]++) * microsecond});
    }
    place.add_regret(100 * microsecond);
    place.learn(costs, place.calls(), place.position());
    EXPECT_EQ(place.state(), PlaceLearning::State::settled);
    return place.chosen();
}

// A Barrier of 0.1 us, beside the MPI library's of 0.4.
TEST(Learning, OneDisturbedCallDoesNotEndWhatRunsSoFar) {
    EXPECT_EQ(chosen_after_one_round({{0.10, 2.45, 0.06, 0.10, 0.12}, {0.42, 0.38, 0.45, 0.41, 0.44}}), 0);
    EXPECT_EQ(chosen_after_one_round({{0.55, 0.60, 0.57, 0.90, 0.52}, {0.42, 0.38, 0.45, 0.41, 0.44}}), 1);
    // Ranks that share cores: two of five calls had to wait for a turn, and most of them.
    EXPECT_EQ(chosen_after_one_round({{0.2, 90, 0.2, 0.2, 120}, {0.5, 0.6, 0.5, 0.5, 0.5}}), 0);
    EXPECT_EQ(chosen_after_one_round({{0.2, 90, 110, 95, 120}, {0.5, 0.6, 0.5, 0.5, 0.5}}), 1);
    // Another one that is ahead by chance.
    EXPECT_EQ(chosen_after_one_round({{0.40, 2.45, 0.39}, {0.80, 0.85, 0.79}, {0.41, 0.42, 0.43}}), 0);
    // What other jobs have found fastest.
    EXPECT_EQ(chosen_after_one_round({{0.40, 3.40, 0.40}, {0.52, 0.53, 0.52}, {0.41, 0.43, 0.42}}, 0, 2), 2);
    EXPECT_EQ(chosen_after_one_round({{0.40, 0.41, 0.40}, {0.52, 0.53, 0.52}, {0.39, 2.43, 0.40}}, 0, 2), 2);
    // One call of each tells nothing but what it took.
    EXPECT_EQ(chosen_after_one_round({{300}, {100}, {4000}}, 1 << 20), 1);
}

// Ranks arrive up to ten times as far apart as the collective takes.
struct Skewed {
    Collective collective;
    double ratio;  // of the slower candidates to the fastest
};

class LearningUnderSkew : public testing::TestWithParam<Skewed> {};

TEST_P(LearningUnderSkew, FindsTheFasterCandidateIn99Of100Runs) {
    const auto [collective, ratio] = GetParam();
    int right = 0;
    for (std::uint64_t run = 0; run < 100; ++run) {
        LearningJob job(
            {.others = 1,
             .skew = 10,
             .seconds = seconds_of(run % 2 == 0 ? std::vector{20.0, 20 * ratio} : std::vector{20 * ratio, 20.0})},
            mix({test_seed(), run}));
        for (int i = 0; i < 2000; ++i) {
            job.call(collective, 1000, collective == Collective::allreduce ? 0 : i % 4);
            if (i % 16 == 0) job.call(Collective::barrier, 0);
        }
        if (job.chosen(collective, 1000) == static_cast<int>(run % 2)) ++right;
    }
    EXPECT_GE(right, 99);
}

INSTANTIATE_TEST_SUITE_P(All, LearningUnderSkew,
                         testing::Values(Skewed{Collective::allreduce, 1.2}, Skewed{Collective::reduce, 1.2},
                                         Skewed{Collective::bcast, 2.0}),
                         [](const auto& tested) { return std::string(name_of(tested.param.collective)); });

// A program waits for all ranks after every fourth call, and there a candidate that works ahead takes long.
TEST(Learning, IsNotInStepWithThePrograms) {
    for (const auto& [period, ahead] : {std::pair{2U, 1}, {3U, 3}, {4U, 1}, {4U, 2}, {4U, 3}}) {
        int right = 0;
        for (std::uint64_t run = 0; run < 100; ++run) {
            std::uint64_t made = 0;
            LearningJob job(
                {.others = 3,
                 .noise = 0.05,
                 .seconds =
                     [&, period = period, ahead = ahead](Collective, std::uint64_t, int candidate, std::uint64_t) {
                         if (candidate != ahead) return (candidate == 0 ? 1.2 : 1.8) * microsecond;
                         const auto length = static_cast<double>(period);
                         return (made % period == 0 ? 2 * length : 0.6) * microsecond;
                     }},
                mix({test_seed(), period, static_cast<std::uint64_t>(ahead), run}));
            for (; made < 3000; ++made) {
                job.call(Collective::bcast, 1000);
                if (made % period == period - 1) job.call(Collective::barrier, 0);
            }
            if (job.chosen(Collective::bcast, 1000) == 0) ++right;
        }
        EXPECT_GE(right, 99) << "every " << period << " calls, candidate " << ahead;
    }
}

TEST(Learning, CostsNoMoreThanFiftyCallsOfTheBestOrAHundredthOfTheTime) {
    double worst = 0;
    for (std::uint64_t run = 0; run < 200; ++run) {
        Random random(mix({test_seed(), run}));
        std::vector<double> costs;
        for (int i = 0; i < 4; ++i) costs.push_back(10 + static_cast<double>(random.below(300)) / 10);
        const double best = *std::min_element(costs.begin(), costs.end());
        LearningJob job({.noise = 0.3, .seconds = seconds_of(costs)}, random.next());
        for (int i = 0; i < 20; ++i) job.call(Collective::allreduce, 1000);
        const double before = job.seconds();
        double regret = 0;
        const int chosen_at_first = 0;
        for (int i = 0; i < 1000; ++i) {
            const int candidate = job.call(Collective::allreduce, 1000);
            const bool is_trial = candidate != job.chosen(Collective::allreduce, 1000) ||
                                  job.place(Collective::allreduce, 1000)->learning.is_trying();
            // Before anything is known, what is usual runs.
            if (is_trial && candidate != chosen_at_first) regret += costs[static_cast<std::size_t>(candidate)] - best;
        }
        const double allowed = std::max(50 * best, 0.01 * (job.seconds() - before) / microsecond);
        worst = std::max(worst, regret / allowed);
    }
    EXPECT_LE(worst, 1.0);
}

TEST(Learning, TriesWhoIsMoreThanFourTimesSlowerOnce) {
    LearningJob job({.seconds = seconds_of({10, 45, 60, 12})}, test_seed());
    std::vector<int> calls(4, 0);
    for (int i = 0; i < 20000; ++i) ++calls[static_cast<std::size_t>(job.call(Collective::allreduce, 1000))];
    // One turn.
    EXPECT_LE(calls[1], 4);
    EXPECT_LE(calls[2], 4);
    EXPECT_EQ(job.chosen(Collective::allreduce, 1000), 0);
}

TEST(Learning, NoiseDoesNotHaveItTryAgainAndAgain) {
    LearningJob job({.noise = 1, .seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    std::vector<int> calls(4, 0);
    constexpr int all = 100'000;
    for (int i = 0; i < all; ++i) ++calls[static_cast<std::size_t>(job.call(Collective::allreduce, 1000))];
    EXPECT_GE(calls[2], all * 94 / 100);
}

// A hundredth of what the calls take: here an agreement takes 1 us at least.
TEST(Learning, AgreesSeldomWhenAllIsSettled) {
    LearningJob job({.seconds = seconds_of({2, 3, 1.2, 9})}, test_seed());
    for (int i = 0; i < 2000; ++i) job.call(Collective::allreduce, 8);
    const std::uint64_t before = job.agreements();
    for (int i = 0; i < 100'000; ++i) job.call(Collective::allreduce, 8);
    EXPECT_LE(job.agreements() - before, 100'000 / 75U);
}

// Whose number between two agreements was bounded by one that was too small for that.
TEST(Learning, AgreementsTakeAHundredthOfShortCallsToo) {
    constexpr double seconds = 0.07e-6;
    LearningJob job({.seconds = [](Collective, std::uint64_t, int candidate,
                                   std::uint64_t) { return candidate == 2 ? seconds : 4 * seconds; }},
                    test_seed());
    for (int i = 0; i < 10'000; ++i) job.call(Collective::allreduce, 8);
    const std::uint64_t before = job.agreements();
    constexpr int calls = 400'000;
    for (int i = 0; i < calls; ++i) job.call(Collective::allreduce, 8);
    constexpr double agreement = 1e-6;  // at least
    EXPECT_LE(static_cast<double>(job.agreements() - before) * agreement, 0.01 * calls * seconds);
}

// Their root may run ahead: nothing is agreed on there, and candidates are not tried beyond what the next agreement wants to know.
TEST(Learning, AddsNothingToCallsThatDoNotWaitForAll) {
    LearningJob job({.seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    for (int i = 0; i < 40; ++i) job.call(Collective::bcast, 1000);
    job.call(Collective::barrier, 0);
    int others = 0;
    for (int i = 0; i < 3000; ++i) others += job.call(Collective::bcast, 1000) == 0 ? 0 : 1;
    EXPECT_EQ(job.agreements(), 1U);
    EXPECT_LE(others, static_cast<int>(3 * PlaceLearning::most_in_round));
    for (int i = 0; i < 400; ++i) {
        job.call(Collective::bcast, 1000);
        if (i % 10 == 0) job.call(Collective::barrier, 0);
    }
    EXPECT_EQ(job.chosen(Collective::bcast, 1000), 2);
}

// A program goes on to other calls in the middle of a round, and comes back later: calls in which nobody looks at the time would end the round, and
// nothing would ever be agreed on.
TEST(Learning, SettlesWhatIsCalledInBursts) {
    for (const int burst : {4, 12, 24, 30, 60, 300})
        for (const int between : {1, 10, 100, 500, 2000}) {
            LearningJob job({.ranks = 2,
                             .others = 2,
                             .seconds = [](Collective, std::uint64_t, int candidate,
                                           std::uint64_t) { return candidate == 1 ? 1e-6 : 2e-6; }},
                            7);
            for (int step = 0; step < 100; ++step) {
                for (int i = 0; i < burst; ++i) job.call(Collective::bcast, 8);
                for (int i = 0; i < between; ++i) job.call(Collective::allreduce, 8);
            }
            // It may just be looking at others again.
            for (int i = 0; i < 2000; ++i) job.call(i % 5 == 0 ? Collective::allreduce : Collective::bcast, 8);
            const std::uint64_t before = job.agreements();
            for (int i = 0; i < 4000; ++i) job.call(i % 5 == 0 ? Collective::allreduce : Collective::bcast, 8);
            EXPECT_EQ(job.chosen(Collective::bcast, 8), 1) << burst << " Bcasts, " << between << " Allreduces";
            EXPECT_LT(job.agreements() - before, 100U) << burst << " Bcasts, " << between << " Allreduces";
        }
}

// A long row of rooted calls, in which the ranks cannot agree, begins while candidates are tried: all of it runs who leads by then.
TEST(Learning, BetweenTwoRoundsRunsWhoLeads) {
    int rows = 0;
    int slow_rows = 0;
    for (std::uint64_t run = 0; run < 200; ++run) {
        LearningJob job({.ranks = 2, .others = 2, .noise = 3, .seconds = seconds_of({14, 10, 13})},
                        mix({test_seed(), run}));
        for (int i = 0; i < 120; ++i) {
            job.call(Collective::reduce, 64 << 10);
            if (i % 16 == 15) job.call(Collective::barrier, 0);
        }
        const Learning::Place* place = job.place(Collective::reduce, 64 << 10);
        ASSERT_NE(place, nullptr);
        if (!place->learning.is_trying()) continue;
        while (place->learning.is_in_round()) job.call(Collective::reduce, 64 << 10);
        ++rows;
        const int first = job.call(Collective::reduce, 64 << 10);
        for (int i = 0; i < 500; ++i) EXPECT_EQ(job.call(Collective::reduce, 64 << 10), first);
        if (first != 1) ++slow_rows;
    }
    EXPECT_GE(rows, 50);
    // Times are noisy: not every row has been told apart.
    EXPECT_LE(slow_rows, rows / 2) << "of " << rows;
}

// A program that goes on to other calls in the middle of a round does not pay for that any more.
TEST(Learning, WhatIsNoLongerCalledIsNotWaitedFor) {
    LearningJob job({.seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    for (int i = 0; i < 40; ++i) job.call(Collective::reduce, 1000, i % 4);
    job.call(Collective::barrier, 0);
    for (int i = 0; i < 3; ++i) job.call(Collective::reduce, 1000, i % 4);
    ASSERT_TRUE(job.place(Collective::reduce, 1000)->learning.is_trying());
    for (int i = 0; i < 3000; ++i) job.call(Collective::allreduce, 50'000);
    const std::uint64_t before = job.agreements();
    for (int i = 0; i < 10'000; ++i) job.call(Collective::allreduce, 50'000);
    EXPECT_LE(job.agreements() - before, 10'000 / 75U);
}

// There its ranks need not tell one another the length of each.
TEST(Learning, BcastRestsWhereAllOfThemAreTheMpiLibrarys) {
    for (const bool is_vendor_fastest : {true, false}) {
        LearningJob job({.seconds = seconds_of(is_vendor_fastest ? std::vector{10.0, 20.0, 30.0, 40.0}
                                                                 : std::vector{30.0, 20.0, 10.0, 40.0})},
                        test_seed());
        for (int i = 0; i < 600; ++i) {
            job.call(Collective::bcast, 1000);
            if (i % 10 == 0) job.call(Collective::barrier, 0);
        }
        for (const Learning& each : job.ranks()) EXPECT_EQ(each.rests_bcast(), is_vendor_fastest);
    }
}

// Or nobody would ever try a length that comes later, nor look at others again.
TEST(Learning, BcastDoesNotRestForGood) {
    const auto seconds = [](Collective collective, std::uint64_t bytes, int candidate, std::uint64_t) {
        const int fastest = collective == Collective::bcast && bytes == 8 ? 2 : 0;
        return (candidate == fastest ? 2.0 : 10.0 + candidate) * microsecond;
    };
    LearningJob job({.seconds = seconds}, test_seed());
    const auto call = [&](std::uint64_t bytes, int calls) {
        for (int i = 0; i < calls; ++i) {
            job.call(Collective::bcast, bytes);
            if (i % 10 == 0) job.call(Collective::barrier, 0);
        }
    };
    call(1 << 20, 1000);
    EXPECT_TRUE(job.ranks()[0].rests_bcast());
    call(8, 10'000);
    EXPECT_EQ(job.chosen(Collective::bcast, 8), 2);
}

// One of the first calls of a candidate, wherever it comes: the fastest one is not out for that.
TEST(Learning, ADisturbanceAmongTheFirstCallsDoesNotEndACandidate) {
    int found = 0;
    constexpr int calls = 120;
    for (int disturbed = 0; disturbed < calls; ++disturbed) {
        LearningJob job(
            {.seconds =
                 [&](Collective, std::uint64_t, int candidate, std::uint64_t call) {
                     const double usual = std::array{200.0, 150.0, 100.0, 160.0}[static_cast<std::size_t>(candidate)];
                     return (call == static_cast<std::uint64_t>(disturbed) ? 20'000 : usual) * microsecond;
                 }},
            test_seed());
        for (int i = 0; i < 400; ++i) job.call(Collective::allreduce, 1000);
        found += job.chosen(Collective::allreduce, 1000) == 2 ? 1 : 0;
    }
    EXPECT_EQ(found, calls);
}

// 10^5 places: random collectives, lengths, costs, and times that differ on every rank. LearningJob compares what the ranks run, call by call.
TEST(Learning, RanksDecideAlikeWhateverEachOfThemSees) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr std::uint64_t enough = 10'000;  // it takes twenty times as long there
#else
    constexpr std::uint64_t enough = 100'000;
#endif
    std::uint64_t places = 0;
    for (std::uint64_t run = 0; places < enough; ++run) {
        Random random(mix({test_seed(), run}));
        const std::uint64_t costs = random.next();
        LearningJob job({.ranks = static_cast<int>(random.between(2, 9)),
                         .others = static_cast<std::size_t>(random.between(1, 3)),
                         .mode = random.chance(4) ? TuneMode::learn : TuneMode::automatic,
                         .skew = static_cast<double>(random.below(20)),
                         .noise = static_cast<double>(random.below(10)),
                         .seconds =
                             [costs](Collective collective, std::uint64_t bytes, int candidate, std::uint64_t call) {
                                 Random of_it(mix({costs, static_cast<std::uint64_t>(collective), bytes, call / 700,
                                                   static_cast<std::uint64_t>(candidate)}));
                                 return static_cast<double>(of_it.between(1, 1000)) * microsecond;
                             }},
                        random.next());
        const int kinds = static_cast<int>(random.between(1, 24));
        for (int i = 0; i < 1500; ++i) {
            const auto kind = static_cast<std::uint64_t>(random.below(static_cast<std::uint64_t>(kinds)));
            const Collective collective = std::array{Collective::bcast, Collective::reduce, Collective::allreduce,
                                                     Collective::barrier}[mix({costs, kind}) % 4];
            const std::uint64_t bytes = collective == Collective::barrier ? 0 : 1 + mix({costs, kind, 1}) % 2'000'000;
            job.call(collective, bytes, static_cast<int>(random.below(2)));
            if (testing::Test::HasFailure()) FAIL() << "run " << run;
        }
        places += job.ranks()[0].places().size();
    }
}

// Two ranks that may take a call for different places, as a wrong program has it.
class TwoRanks {
public:
    TwoRanks() {
        trials_[static_cast<std::size_t>(Collective::allreduce)] = trials_of(Collective::allreduce, 2);
        for (DecisionTable& each : usual_) each = {{.decision = {.parameters = {}, .what = "vendor", .why = "a test"}}};
        for (int rank = 0; rank < 2; ++rank)
            ranks.emplace_back(&usual_, &trials_, TuneMode::automatic, BitsPromise::fixed);
    }
    // What each of them has learned.
    std::vector<Learning::Outcome> agree() {
        std::array<Learning::Words, 2> words;
        for (std::size_t rank = 0; rank < 2; ++rank) ranks[rank].tell(words[rank], 1000, false);
        Learning::Words all;
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(words[0][i], words[1][i]);
        std::vector<Learning::Outcome> outcomes;
        for (Learning& each : ranks) outcomes.push_back(each.learn(all));
        return outcomes;
    }
    // Do both run the same? Of no bytes nothing is to be learned.
    bool call(std::array<std::uint64_t, 2> bytes) {
        for (Learning& each : ranks) each.count_call();
        EXPECT_EQ(ranks[0].is_due(), ranks[1].is_due());
        if (ranks[0].is_due()) agree();
        std::array<const Decision*, 2> ran{};
        for (std::size_t rank = 0; rank < 2; ++rank) {
            const Decision& usual = usual_[static_cast<std::size_t>(Collective::allreduce)].front().decision;
            ran[rank] = &usual;
            if (!ranks[rank].is_on()) continue;
            if (bytes[rank] == 0) {
                ranks[rank].leave(Collective::allreduce);
                continue;
            }
            const Learning::Turn turn = ranks[rank].next(Collective::allreduce, bytes[rank], usual);
            if (turn.place >= 0) ranks[rank].note(turn, rank == 0, 1000, 2000 + rank);
            ran[rank] = turn.decision;
        }
        return ran[0] == ran[1];
    }

    std::vector<Learning> ranks;

private:
    TrialTables trials_;
    std::array<DecisionTable, collective_count> usual_;
};

// A rank that takes a call for another place (a wrong program) is alone with that: when they agree, the place is left alone.
TEST(Learning, RanksThatCountDifferentlyLeaveThePlaceAlone) {
    TwoRanks job;
    std::vector<Learning>& ranks = job.ranks;
    for (int i = 0; i < 25; ++i) EXPECT_TRUE(job.call({100, 100}));
    job.call({100, 300});
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(job.call({100, 100})) << i;
    EXPECT_TRUE(ranks[0].places()[0].is_left_alone);
    EXPECT_TRUE(ranks[0].is_on());
    // And one that makes a call that the other does not makes both learn no more.
    ranks[0].count_call();
    for (int i = 0; i < 2000 && ranks[0].is_on(); ++i) {
        for (Learning& each : ranks) each.count_call();
        if (!ranks[0].is_due() || !ranks[1].is_due()) continue;
        for (const Learning::Outcome& each : job.agree()) EXPECT_TRUE(each.is_over);
    }
    EXPECT_FALSE(ranks[0].is_on());
    EXPECT_FALSE(ranks[1].is_on());
}

// What one rank tells of one place must not be taken for what another one tells of another place, or of none.
TEST(Learning, RanksThatSpeakOfDifferentPlacesLearnNoMore) {
    for (const std::uint64_t other : {std::uint64_t{300}, std::uint64_t{0}}) {
        TwoRanks job;
        for (int i = 0; i < 200; ++i) EXPECT_TRUE(job.call({100, other})) << i;
        EXPECT_FALSE(job.ranks[0].is_on());
        EXPECT_FALSE(job.ranks[1].is_on());
    }
}

// Calls of which nothing is to be learned (sums of floating-point numbers) do not keep others, or themselves, from going by.
TEST(Learning, CallsThatAreNotTriedGoBy) {
    LearningJob job({.ranks = 2, .seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    Learning& rank = job.ranks()[0];
    int gone_by = 0;
    for (int i = 0; i < 1000; ++i) {
        if (rank.may_go_by(Collective::reduce)) {
            ++gone_by;
            continue;
        }
        rank.count_call();
        rank.leave(Collective::reduce);
    }
    EXPECT_GE(gone_by, 750);
    EXPECT_TRUE(rank.places().empty());
}

// A place of which other jobs have learned begins with what they chose.
TEST(Learning, APlaceBeginsWithWhatOtherJobsHaveChosen) {
    TrialTables trials;
    trials[static_cast<std::size_t>(Collective::allreduce)] = trials_of(Collective::allreduce, 2);
    trials[static_cast<std::size_t>(Collective::allreduce)][0].first = 2;
    std::array<DecisionTable, collective_count> usual;
    for (DecisionTable& each : usual) each = {{.decision = {.parameters = {}, .what = "vendor", .why = "a test"}}};
    Learning rank(&usual, &trials, TuneMode::automatic, BitsPromise::fixed);
    rank.count_call();
    const Learning::Turn turn =
        rank.next(Collective::allreduce, 100, usual[static_cast<std::size_t>(Collective::allreduce)][0].decision);
    EXPECT_EQ(turn.decision, &trials[static_cast<std::size_t>(Collective::allreduce)][0].others[1]);
}

// A table whose choice changes between two powers of two: calls of one place are all usually the same.
TEST(Learning, APlaceIsOfCallsThatUsuallyRunTheSame) {
    TrialTables trials;
    trials[static_cast<std::size_t>(Collective::bcast)] = trials_of(Collective::bcast, 2);
    std::array<DecisionTable, collective_count> usual;
    for (DecisionTable& each : usual) each = {{.decision = {.parameters = {}, .what = "vendor", .why = "a test"}}};
    DecisionTable& table = usual[static_cast<std::size_t>(Collective::bcast)];
    table.insert(table.begin(), {.largest_bytes = 1500,
                                 .decision = {.shared = true, .parameters = {}, .what = "shared", .why = "a test"}});
    Learning rank(&usual, &trials, TuneMode::automatic, BitsPromise::fixed);
    for (const std::uint64_t bytes : {1400U, 1600U}) {
        rank.count_call();
        EXPECT_EQ(rank.next(Collective::bcast, bytes, decide(table, bytes)).decision, &decide(table, bytes));
    }
    ASSERT_EQ(rank.places().size(), 1U);
    EXPECT_EQ(rank.places()[0].bytes, 1600U);
    EXPECT_EQ(PlaceKey::of(Collective::bcast, 2048), PlaceKey::of(Collective::bcast, 1600));
}

// Calls that go by count for the place that was looked at last.
TEST(Learning, CallsThatGoByAreCounted) {
    LearningJob job({.ranks = 2, .seconds = seconds_of({20, 30, 12, 90})}, test_seed());
    for (int i = 0; i < 3000; ++i) job.call(Collective::allreduce, 1000);
    const Learning::Place* place = job.place(Collective::allreduce, 1000);
    ASSERT_EQ(place->learning.state(), PlaceLearning::State::settled);
    Learning& rank = job.ranks()[0];
    rank.count_call();
    rank.next(Collective::allreduce, 1000, job.usual_of(Collective::allreduce));
    const std::uint64_t before = place->learning.calls();
    std::uint64_t gone_by = 0;
    while (rank.may_go_by(Collective::allreduce)) ++gone_by;
    EXPECT_GT(gone_by, 0U);
    rank.count_call();
    rank.next(Collective::allreduce, 1000, job.usual_of(Collective::allreduce));
    EXPECT_EQ(place->learning.calls(), before + gone_by + 1);
}

}  // namespace
}  // namespace hcoll::test
