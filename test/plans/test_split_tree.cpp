// The model of the split tree against its source, and against the binomial tree's own edges.
#include <gtest/gtest.h>

#include "algorithms/tree.hpp"
#include "tuning/split_tree.hpp"

namespace hcoll::test {
namespace {

// Section 4 and figure 2 of the source: 64 cores, of which some compute and the others make progress.
TEST(SplitTree, IsSplitFurtherWhereFewerCoresMakeProgress) {
    constexpr int cores = 64;
    const auto expected = [](int ranks) { return ranks < 52 ? 0 : ranks < 58 ? 1 : ranks < 62 ? 2 : 3; };
    for (int ranks = 33; ranks < cores; ++ranks) EXPECT_EQ(best_split(ranks, cores - ranks), expected(ranks)) << ranks;
}

// A rank's level is that of its message to its parent: the subtree below it has as many levels less one.
TEST(SplitTree, CountsTheMessagesOfTheTree) {
    for (int ranks = 1; ranks <= 130; ++ranks) {
        std::vector<int> counted(static_cast<std::size_t>(split_tree_levels(ranks)) + 1, 0);
        for (int rank = 1; rank < ranks; ++rank) {
            const int parent = tree_node({TreeShape::binomial}, ranks, rank, 0).parent;
            ++counted[static_cast<std::size_t>(split_tree_levels(rank - parent)) + 1];
        }
        int sum = 0;
        for (int level = 1; level <= split_tree_levels(ranks); ++level) {
            EXPECT_EQ(split_tree_messages(ranks, level), counted[static_cast<std::size_t>(level)])
                << "level " << level << " of " << ranks;
            sum += split_tree_messages(ranks, level);
        }
        EXPECT_EQ(sum, ranks - 1);
    }
}

// The source's example, figure 1: 16 ranks have 15 messages in 4 steps. Folded onto one core these are 15 steps; with the first
// level in the ranks, 1 and 7.
TEST(SplitTree, OfSixteenRanksIsThatOfTheSource) {
    EXPECT_EQ(split_tree_levels(16), 4);
    EXPECT_EQ(split_tree_steps(16, 1, 0), 15);
    EXPECT_EQ(split_tree_steps(16, 1, 1), 8);
    EXPECT_EQ(split_tree_steps(16, 1, 4), 4);
    EXPECT_EQ(split_tree_steps(16, 16, 0), 4);
    EXPECT_EQ(split_tree_overlapped(16, 1, 1, 10), 11) << "what the ranks do is not overlapped, the rest is";
    EXPECT_EQ(split_tree_overlapped(16, 1, 1, 0), 8);
}

TEST(SplitTree, OfOneRankIsNothing) {
    EXPECT_EQ(split_tree_levels(1), 0);
    EXPECT_EQ(split_tree_steps(1, 1, 3), 0);
    EXPECT_EQ(best_split(1, 1), 0);
}

}  // namespace
}  // namespace hcoll::test
