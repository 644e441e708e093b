// SPDX-License-Identifier: BSD-3-Clause
// Learning where one rank cannot have memory for one more place, or for one that is to be tried. A program of its own: it has another operator new.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "../support/learning_job.hpp"

namespace {

// Which allocation of so many bytes fails, counted from 1; 0: none.
std::size_t failing_bytes = 0;
int failing = 0;

}  // namespace

void* operator new(std::size_t bytes) {
    if (bytes == failing_bytes && failing > 0 && --failing == 0) throw std::bad_alloc();
    void* memory = std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hcoll::test {
namespace {

// The place that a rank lacks is called once, and never told of: all see it nevertheless, and nobody goes on alone.
TEST(LearningWithoutMemory, EndsOnAllRanks) {
    constexpr int ranks = 4;
    for (int without = 0; without < 2 * ranks; ++without) {
        const int rank_without = without / 2;
        // Also where places begin with what other jobs have found out, such a rank runs what the others run.
        const int first = without % 2;
        LearningJob job(
            {.ranks = ranks,
             .first = first,
             .seconds = [](Collective, std::uint64_t, int candidate, std::uint64_t) { return 1e-5 * (candidate + 1); }},
            5);
        job.call(Collective::allreduce, 8);
        job.call(Collective::allreduce, 100'000);
        job.call(Collective::bcast, 1000);
        job.call(Collective::barrier, 0);
        ASSERT_EQ(job.ranks()[0].places().size(), Learning::first_places);
        failing_bytes = 2 * Learning::first_places * sizeof(Learning::Place);
        failing = rank_without + 1;
        job.call(Collective::bcast, 1 << 20);
        failing_bytes = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::size_t places = job.ranks()[static_cast<std::size_t>(rank)].places().size();
            ASSERT_EQ(places, Learning::first_places + (rank == rank_without ? 0 : 1));
        }
        for (int call = 0; call < 200 && job.ranks()[0].is_on(); ++call) {
            job.call(call % 10 == 0 ? Collective::barrier : Collective::bcast, call % 10 == 0 ? 0 : 1000);
            for (const Learning& each : job.ranks()) {
                ASSERT_EQ(each.rests_bcast(), job.ranks()[0].rests_bcast()) << "call " << call;
                ASSERT_EQ(each.is_on(), job.ranks()[0].is_on()) << "call " << call;
            }
        }
        EXPECT_FALSE(job.ranks()[0].is_on());
    }
}

// What one rank alone knows: a collective on the communicator has failed there.
TEST(LearningWithoutMemory, EndsOnAllRanksWhereOneCannotGoOn) {
    constexpr int ranks = 4;
    for (int rank = 0; rank < ranks; ++rank) {
        LearningJob job(
            {.ranks = ranks,
             .seconds = [](Collective, std::uint64_t, int candidate, std::uint64_t) { return 1e-5 * (candidate + 1); }},
            5);
        for (int call = 0; call < 60; ++call) job.call(Collective::allreduce, 8);
        ASSERT_TRUE(job.ranks()[0].is_on());
        job.ranks()[static_cast<std::size_t>(rank)].end_at_agreement();
        for (int call = 0; call < 200 && job.ranks()[0].is_on(); ++call) {
            job.call(Collective::allreduce, 8);
            for (const Learning& each : job.ranks()) ASSERT_EQ(each.is_on(), job.ranks()[0].is_on()) << "call " << call;
        }
        EXPECT_FALSE(job.ranks()[0].is_on());
    }
}

// A place is called often enough, but one rank cannot keep what calls of it take: the others hear of it before anything is tried.
TEST(LearningWithoutMemory, EndsBeforeAnythingIsTried) {
    constexpr int ranks = 4;
    for (int rank_without = 0; rank_without < ranks; ++rank_without) {
        LearningJob job(
            {.ranks = ranks,
             .seconds = [](Collective, std::uint64_t, int candidate, std::uint64_t) { return 1e-5 * (candidate + 1); }},
            5);
        failing_bytes = sizeof(Learning::Place::Timed);
        failing = rank_without + 1;
        for (int call = 0; call < 200 && job.ranks()[0].is_on(); ++call) {
            job.call(Collective::allreduce, 8);
            for (const Learning& each : job.ranks()) {
                ASSERT_EQ(each.is_on(), job.ranks()[0].is_on()) << "call " << call;
                for (const Learning::Place& place : each.places())
                    ASSERT_EQ(place.learning.state(), PlaceLearning::State::counted) << "call " << call;
            }
        }
        failing_bytes = 0;
        EXPECT_EQ(failing, 0) << "memory was asked for";
        EXPECT_FALSE(job.ranks()[0].is_on());
    }
}

}  // namespace
}  // namespace hcoll::test
