// SPDX-License-Identifier: BSD-3-Clause
// How calls that differ are told.
#include <gtest/gtest.h>

#include "watch/call_description.hpp"

namespace hcoll {

namespace {

ToldCall bcast(int world_rank, int root) {
    ToldCall told{.number = 12, .world_rank = world_rank};
    told.call.root = root;
    told.call.bytes = 400;
    return told;
}

}  // namespace

TEST(CallDescription, ComesBackFromItsWords) {
    ToldCall told{.number = 1ULL << 40U, .world_rank = 70'000};
    told.call.collective = Collective::allreduce;
    told.call.form = CallForm::nonblocking;
    told.call.in_place = true;
    told.call.bytes = 5ULL << 32U;
    told.call.set_operation("MPI_MAXLOC");
    told.call.set_type("a name that is longer than there is room for");
    const ToldCall back = ToldCall::of(told.to_words());
    EXPECT_EQ(back.to_words(), told.to_words());
    EXPECT_EQ(back.call.root, CallDescription::no_root);
    EXPECT_EQ(back.world_rank, 70'000);
    EXPECT_EQ(call_text(back.call),
              "MPI_Iallreduce of MPI_MAXLOC, 21474836480 bytes of a name that is longer than ther, in place");
    // The whole text counts, not only what fits.
    const std::string longer(200, 'x');
    EXPECT_NE((ToldDecision{longer + "a", 0}.to_words()), (ToldDecision{longer + "b", 0}.to_words()));
    EXPECT_EQ(ToldDecision::of(ToldDecision{longer, 3}.to_words()).what,
              longer.substr(0, (ToldDecision::words - 2) * sizeof(std::uint64_t) - 1));
}

// Ranks that say the same may all be wrong.
TEST(CallDescription, WhatIsSentHasToFitWhatIsReceived) {
    std::vector<ToldCall::Words> all;
    for (int rank = 0; rank < 3; ++rank) {
        ToldCall told{.number = 12, .world_rank = rank};
        told.call.collective = Collective::allgather;
        told.call.bytes = 400;
        all.push_back(told.to_words());
    }
    EXPECT_TRUE(are_alike(all));
    EXPECT_TRUE(have_alike_sides(all));
    for (ToldCall::Words& each : all) {
        ToldCall told = ToldCall::of(each);
        told.call.other_bytes = 0;
        each = told.to_words();
    }
    EXPECT_TRUE(are_alike(all));
    EXPECT_FALSE(have_alike_sides(all));
    EXPECT_EQ(different_calls_text(all, "X"),
              "in the 12th collective on X what is sent does not fit what is received: ranks 0-2: MPI_Allgather, 400 "
              "bytes a block, but 0 of its own");
}

TEST(CallDescription, CallsThatDifferAreToldWithTheirRanks) {
    std::vector<ToldCall::Words> all;
    for (int rank : {3, 2, 1, 0}) all.push_back(bcast(rank, 0).to_words());
    EXPECT_TRUE(are_alike(all));
    ToldCall reduce = bcast(4, 1);
    reduce.call.collective = Collective::reduce;
    reduce.call.set_operation("MPI_SUM");
    reduce.call.set_type("int32");
    all.insert(all.begin(), reduce.to_words());
    EXPECT_FALSE(are_alike(all));
    EXPECT_EQ(different_calls_text(all, "a duplicate of MPI_COMM_WORLD"),
              "in the 12th collective on a duplicate of MPI_COMM_WORLD not all ranks make the same call: ranks 0-3: "
              "MPI_Bcast, root 0, 400 bytes; "
              "rank 4: MPI_Reduce of MPI_SUM, root 1, 400 bytes of int32");
    // Who has left one out makes another call with every number.
    ToldCall late = bcast(9, 0);
    late.number = 11;
    all.push_back(late.to_words());
    EXPECT_EQ(different_calls_text(all, "X"),
              "in X not all ranks make the same call: ranks 0-3: MPI_Bcast, root 0, 400 bytes (the 12th collective "
              "there); rank 4: MPI_Reduce of "
              "MPI_SUM, root 1, 400 bytes of int32 (the 12th collective there); rank 9: MPI_Bcast, root 0, 400 bytes "
              "(the 11th collective there)");
}

// Ranks on nodes with other numbers of cores run other levels of a split tree themselves, and that is no difference.
TEST(CallDescription, LeavesOutWhatEachRankChooses) {
    EXPECT_EQ(without_split("split_tree:s=1,tree=binomial,sends=2"), "split_tree:tree=binomial,sends=2");
    EXPECT_EQ(without_split("han:tree=binomial,s=12,sends=2"), without_split("han:tree=binomial,s=0,sends=2"));
    EXPECT_NE(without_split("han:s=1,sends=2"), without_split("han:s=1,sends=3"));
    EXPECT_EQ(without_split("split_tree:s=3"), "split_tree:");
    for (const char* other : {"vendor", "nap", "binary:segments=4", "chain:sends=2"})
        EXPECT_EQ(without_split(other), other);
}

TEST(CallDescription, NeverTellsManyLines) {
    std::vector<ToldCall::Words> all;
    all.reserve(10'000);
    for (int rank = 0; rank < 10'000; ++rank) all.push_back(bcast(rank, rank % 100).to_words());
    EXPECT_LT(different_calls_text(all, "X").size(), 2000U);
    const std::vector<int> ranks = {0, 1, 2, 7, 9, 10};
    EXPECT_EQ(ranks_text(ranks), "ranks 0-2, 7, 9-10");
    EXPECT_EQ(ranks_text(std::vector<int>{5}), "rank 5");
    EXPECT_EQ(ordinal_text(1) + ordinal_text(2) + ordinal_text(3) + ordinal_text(4) + ordinal_text(11) +
                  ordinal_text(112) + ordinal_text(22),
              "1st2nd3rd4th11th112th22nd");
}

}  // namespace hcoll
