// SPDX-License-Identifier: BSD-3-Clause
// Messages that do not lie side by side on some ranks, with threads as ranks: every rank has what the root sends, as much of it as
// there is room for, and nothing else of its memory is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "every_third.hpp"
#include "rank_threads.hpp"

namespace hcoll::test {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;

std::byte pattern(std::size_t i, std::size_t salt) { return static_cast<std::byte>(i * 7 + salt); }

// One message that is scattered on the ranks of whom the bit is set. Returns what was wrong on this rank.
bool is_right(NodeCollectives& node, int rank, int root, std::size_t length, std::size_t room, unsigned scattered_on,
              std::size_t single_copy_from, std::size_t salt) {
    const std::size_t capacity = rank == root ? length : room;
    std::vector<std::byte> memory(capacity + 1, untouched);
    std::vector<std::byte> expected(capacity + 1, untouched);
    for (std::size_t i = 0; i < std::min(length, capacity); ++i) expected[i] = pattern(i, salt);
    if (rank == root) memory = expected;
    const bool fits = length <= capacity;
    if ((scattered_on >> static_cast<unsigned>(rank) & 1U) == 0)
        return node.bcast(root, memory.data(), capacity, single_copy_from) == fits && memory == expected;
    EveryThird scattered(capacity);
    if (rank == root) scattered.write(memory.data(), capacity, scattered.address());
    const bool said = node.bcast(root, scattered.address(), capacity, single_copy_from, &scattered);
    memory.assign(capacity + 1, untouched);
    scattered.read(scattered.address(), std::min(length, capacity), memory.data());
    return said == fits && memory == expected && scattered.is_untouched_between();
}

class ScatteredBcastOf : public ::testing::TestWithParam<int> {};

void test_random_messages(int ranks, bool oversubscribed, bool single_copy) {
    const std::uint64_t seed = test_seed();
    std::atomic<int> wrong{0};
    std::atomic<int> refused{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
        if (single_copy && !node.use_single_copy(make_cma_memory(ranks))) {
            ++refused;
            return;
        }
        std::mt19937_64 random(seed);  // the same calls on all ranks
        constexpr std::size_t lengths[] = {1, 40, 48, 49, 900, 5'000, 8'192, 8'193, 20'000, 100'000, 300'000};
        for (std::size_t call = 0; call < random_calls; ++call) {
            const std::size_t length = lengths[random() % std::size(lengths)] + random() % 3;
            const std::size_t room = random() % 4 == 0 ? random() % (length + 2) : length;
            const int root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
            const auto scattered_on = static_cast<unsigned>(random());
            const std::size_t from = random() % 3 == 0 ? NodeCollectives::never : 1;
            if (!is_right(node, rank, root, length, room, scattered_on, from, call)) ++wrong;
        }
    });
    if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
    EXPECT_EQ(wrong, 0);
}

TEST_P(ScatteredBcastOf, ArrivesThroughSlotsAndBlocks) { test_random_messages(GetParam(), GetParam() > 2, false); }
TEST_P(ScatteredBcastOf, ArrivesWhereOthersCopyOnce) { test_random_messages(GetParam(), false, true); }
TEST_P(ScatteredBcastOf, ArrivesWhereOthersCopyOnceAndShareCores) { test_random_messages(GetParam(), true, true); }

INSTANTIATE_TEST_SUITE_P(Ranks, ScatteredBcastOf, testing::Values(2, 3, 5, 12));

}  // namespace
}  // namespace hcoll::test
