// SPDX-License-Identifier: BSD-3-Clause
// No message is lost: ranks that run ahead of one another as far as lanes and cells let them, tags and numbers of lines that begin anew, cells
// that are short. First in one thread, where a message that nobody sees any more can be told from one that is slow.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <thread>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "progress/node/shared_segment.hpp"
#include "random_messages.hpp"

namespace hcoll::test {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;

std::vector<RandomCollective> random_collectives(int ranks, std::size_t count, std::mt19937_64& random) {
    std::vector<RandomCollective> made;
    for (std::size_t i = 0; i < count; ++i)
        made.push_back(random_collective(ranks, buffer_bytes / NodeMessages::cells, random));
    return made;
}

class LostMessagesOf : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        ASSERT_EQ(segment_.create(SharedSegment::reserved + NodeMessages::segment_bytes(ranks_, buffer_bytes)), 0);
        for (int rank = 0; rank < ranks_; ++rank)
            messages_.push_back(
                std::make_unique<NodeMessages>(segment_.data() + SharedSegment::reserved, buffer_bytes, ranks_, rank));
    }
    NodeMessages& messages(int rank) { return *messages_[static_cast<std::size_t>(rank)]; }

    int ranks_ = GetParam();
    SharedSegment segment_;
    std::vector<std::unique_ptr<NodeMessages>> messages_;
};

// One rank has many turns in a row, and others none meanwhile. When each of them has had so many turns in vain, nothing is under way
// that could yet come.
TEST_P(LostMessagesOf, AreNoneHoweverTurnsAreTaken) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "all ranks take turns on one thread: no race can be seen";
#endif
    constexpr std::size_t collectives = 400;
    constexpr int most_turns = 300;
    constexpr int vain_rounds = 2000;
    std::mt19937_64 random(test_seed());
    const auto all = random_collectives(ranks_, collectives, random);
    std::vector<RandomRank> ranks;
    for (int rank = 0; rank < ranks_; ++rank) ranks.emplace_back(messages(rank), all, rank, random());
    const auto is_done = [&] {
        return std::all_of(ranks.begin(), ranks.end(), [](const RandomRank& each) { return each.is_done(); });
    };
    std::size_t furthest_ahead = 0;
    for (int vain = 0; !is_done();) {
        bool has_moved = false;
        // While nothing moves, all have their turns.
        if (vain == 0) {
            RandomRank& one = ranks[random() % ranks.size()];
            for (auto turns = random() % most_turns; turns != 0; --turns) has_moved = one.step() || has_moved;
        } else {
            for (RandomRank& each : ranks) has_moved = each.step() || has_moved;
        }
        vain = has_moved ? 0 : vain + 1;
        const auto [last, first] =
            std::minmax_element(ranks.begin(), ranks.end(),
                                [](const RandomRank& a, const RandomRank& b) { return a.number() < b.number(); });
        furthest_ahead = std::max(furthest_ahead, first->number() - last->number());
        for (const RandomRank& each : ranks)
            ASSERT_FALSE(each.has_failed()) << "in collective " << each.number() << ": a message is not what was sent";
        ASSERT_LT(vain, vain_rounds) << "a message of collective " << last->number()
                                     << " is lost, while the first rank is in " << first->number();
    }
    EXPECT_GT(furthest_ahead, 1U) << "nobody has run ahead";
}

// Rank 0 sends the same long messages to all others, of which the last asks for none before it has got one that comes behind them. The cells that wait
// for it were all there are.
TEST_P(LostMessagesOf, NoneWaitsForOneThatNobodyHasAskedFor) {
    if (ranks_ < 3) GTEST_SKIP() << "a message has one receiver only";
    constexpr std::size_t count = 5;
    constexpr std::size_t cell_bytes = buffer_bytes / NodeMessages::cells;
    const int last = ranks_ - 1;
    std::vector<std::vector<std::byte>> sent;
    for (std::size_t i = 0; i <= count; ++i) sent.emplace_back(40 * cell_bytes, static_cast<std::byte>(i + 1));
    std::vector<std::vector<std::byte>> received(static_cast<std::size_t>(ranks_) * (count + 1));
    const auto memory = [&](int rank, std::size_t which) -> std::vector<std::byte>& {
        return received[static_cast<std::size_t>(rank) * (count + 1) + which];
    };
    const auto tag = [&](int rank, std::size_t which) {
        return static_cast<std::uint32_t>(which * static_cast<std::size_t>(ranks_)) + static_cast<std::uint32_t>(rank);
    };
    std::size_t waits_for = 0;
    const auto ask = [&](int rank, std::size_t which) {
        memory(rank, which).resize(sent[which].size());
        ++waits_for;
        ASSERT_EQ(messages(rank).recv(0, tag(rank, which), memory(rank, which).data(), sent[which].size(), {}, 0), 0);
    };
    for (int rank = 0; rank < ranks_; ++rank) messages(rank).begin(0);
    for (std::size_t which = 0; which < count; ++which)
        for (int to = 1; to < ranks_; ++to)
            ASSERT_EQ(messages(0).send(to, tag(to, which), sent[which].data(), sent[which].size(), {}, 0), 0);
    ASSERT_EQ(messages(0).send(last, tag(last, count), sent[count].data(), sent[count].size(), {}, 0), 0);
    waits_for += count * static_cast<std::size_t>(ranks_ - 1) + 1;
    for (int rank = 1; rank < last; ++rank)
        for (std::size_t which = 0; which < count; ++which) ask(rank, which);
    ask(last, count);
    bool has_asked = false;
    std::vector<Token> completed;
    for (int round = 0; round < 20'000 && completed.size() < waits_for; ++round)
        for (int rank = 0; rank < ranks_; ++rank) {
            const std::size_t before = completed.size();
            ASSERT_EQ(messages(rank).progress(completed), 0);
            if (rank != last || has_asked || completed.size() == before) continue;
            has_asked = true;
            for (std::size_t which = 0; which < count; ++which) ask(last, which);
        }
    EXPECT_EQ(completed.size(), waits_for);
    for (int rank = 1; rank < ranks_; ++rank)
        for (std::size_t which = 0; which < count + (rank == last ? 1 : 0); ++which)
            EXPECT_EQ(memory(rank, which), sent[which]);
}

// The order of memory accesses is the machine's.
TEST_P(LostMessagesOf, AreNoneBetweenThreads) {
    constexpr std::size_t collectives = 2 * random_calls;
    constexpr std::uint64_t one_yield_in = 16;
    constexpr std::uint64_t one_pause_in = 4096;
    constexpr int yields_of_a_pause = 50;
    std::mt19937_64 random(test_seed());
    const auto all = random_collectives(ranks_, collectives, random);
    std::vector<RandomRank> ranks;
    for (int rank = 0; rank < ranks_; ++rank) ranks.emplace_back(messages(rank), all, rank, random());
    std::atomic<bool> has_failed{false};
    std::vector<std::thread> threads;
    for (RandomRank& rank : ranks)
        threads.emplace_back([&, turns = std::mt19937_64(random())]() mutable {
            while (!rank.is_done() && !has_failed) {
                if (!rank.step() || turns() % one_yield_in == 0) sched_yield();
                if (turns() % one_pause_in == 0)
                    for (int i = 0; i < yields_of_a_pause; ++i) sched_yield();
                if (rank.has_failed()) has_failed = true;
            }
        });
    for (std::thread& each : threads) each.join();
    for (const RandomRank& each : ranks)
        ASSERT_TRUE(each.is_done()) << "in collective " << each.number() << ": a message is not what was sent";
}

INSTANTIATE_TEST_SUITE_P(Ranks, LostMessagesOf, testing::Values(2, 3, 4, 7));

}  // namespace
}  // namespace hcoll::test
