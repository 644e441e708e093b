// SPDX-License-Identifier: BSD-3-Clause
// Programs whose ranks name different lengths, with threads as ranks: nobody's memory is written behind its end, everybody who
// has too little room learns of it, and where the right thing can still be done, what follows is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "progress/node/node_collectives.hpp"
#include "progress/node/node_messages.hpp"
#include "progress/node/shared_segment.hpp"
#include "rank_threads.hpp"

namespace hcoll::test {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;
constexpr std::byte guard{0xa5};

std::byte pattern(std::size_t i, unsigned salt) { return static_cast<std::byte>(i * 7 + salt); }

// Memory for so many bytes, and behind it what must stay as it is.
class Guarded {
public:
    explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + 4096, guard) {}
    std::byte* data() { return memory_.data(); }
    void fill(unsigned salt) {
        for (std::size_t i = 0; i < bytes_; ++i) memory_[i] = pattern(i, salt);
    }
    // Has it the first `bytes` of the pattern, and nothing else?
    bool holds(std::size_t bytes, unsigned salt) const {
        for (std::size_t i = 0; i < memory_.size(); ++i)
            if (memory_[i] != (i < bytes ? pattern(i, salt) : guard)) return false;
        return true;
    }

    bool is_whole_behind() const {
        return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(bytes_), memory_.end(),
                           [](std::byte each) { return each == guard; });
    }

private:
    std::size_t bytes_;
    std::vector<std::byte> memory_;
};

// The root's bytes, and the room of another rank; the others have as much as the root sends.
struct Lengths {
    std::size_t root, short_rank;
};
constexpr Lengths wrong_lengths[] = {
    {40, 8},       {400, 300},     {400, 40},        {100'000, 50'000},   {100'000, 40},
    {40, 0},       {8, 40},        {300, 400},       {40, 400},           {50'000, 100'000},
    {40, 100'000}, {9'000, 8'000}, {8'000, 100'000}, {1'000'000, 900'000}};

class BcastOf : public ::testing::TestWithParam<int> {};

// The short way, on a rank whose own length lets it, which finds out that the root's is another one.
bool bcast_by_line(NodeCollectives& node, int root, std::byte* data, std::size_t room) {
    const std::size_t length = node.bcast_line(root, data, room);
    return length == room || node.take_bcast(root, length, {data, room});
}

void test_bcasts(const Placement& placement, bool oversubscribed, bool single_copy) {
    const int ranks = placement.ranks();
    std::atomic<int> wrong{0};
    std::atomic<int> refused{0};
    run_ranks(placement, buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
        if (single_copy && !node.use_single_copy(make_cma_memory(ranks))) ++refused;
        unsigned salt = 0;
        for (const int short_rank : {ranks - 1, ranks - 1, ranks / 3})
            for (const Lengths& lengths : wrong_lengths)
                for (const int root : {0, ranks / 2}) {
                    const bool is_short = rank == short_rank && rank != root;
                    const std::size_t room = is_short ? lengths.short_rank : lengths.root;
                    Guarded buffer(room);
                    if (rank == root) buffer.fill(++salt);
                    salt = rank == root ? salt : salt + 1;
                    const bool is_by_line =
                        !single_copy && node.is_line(room) && (salt + static_cast<unsigned>(rank)) % 2 == 0;
                    const bool fits =
                        is_by_line ? bcast_by_line(node, root, buffer.data(), room)
                                   : node.bcast(root, buffer.data(), room, single_copy ? 1 : NodeCollectives::never);
                    if (fits != (room >= lengths.root)) ++wrong;
                    if (!buffer.holds(std::min(room, lengths.root), salt)) ++wrong;
                    // What follows is right.
                    std::uint64_t sum = 1;
                    struct Sum : Combine {
                        Sum() : Combine(sizeof(std::uint64_t)) {}
                        void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                                        std::size_t) const override {
                            std::uint64_t a = 0;
                            std::uint64_t b = 0;
                            std::memcpy(&a, left, sizeof a);
                            std::memcpy(&b, right, sizeof b);
                            a += b;
                            std::memcpy(result, &a, sizeof a);
                        }
                    };
                    node.allreduce(reinterpret_cast<std::byte*>(&sum), reinterpret_cast<std::byte*>(&sum), 1, Sum());
                    if (sum != static_cast<std::uint64_t>(ranks)) ++wrong;
                }
    });
    if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
    EXPECT_EQ(wrong, 0);
}

TEST_P(BcastOf, TheRootsLengthFillsNoMoreThanThereIsRoomFor) {
    test_bcasts(Placement::one_node(GetParam()), GetParam() > 2, false);
}
TEST_P(BcastOf, TheRootsLengthFillsNoMoreByASingleCopy) { test_bcasts(Placement::one_node(GetParam()), false, true); }

INSTANTIATE_TEST_SUITE_P(Ranks, BcastOf, testing::Values(2, 3, 5, 12));

// A rank that passes a message on may have less room than others that have it from there.
TEST(Bcast, TheRootsLengthFillsNoMoreAlongLevels) {
    for (const Placement& placement : uneven_placements(11))
        for (const bool single_copy : {false, true}) test_bcasts(placement, true, single_copy);
}

// Calls that go another way, announced, between such that do not.
TEST(Bcast, IsAnnouncedWhereItGoesAnotherWay) {
    constexpr int ranks = 11;
    std::atomic<int> wrong{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int rank) {
        for (unsigned i = 0; i < 300; ++i) {
            const int root = static_cast<int>(i % ranks);
            const std::size_t bytes = i % 3 == 0 ? 0 : i % 3 == 1 ? 100'000 + i : std::size_t{5} << 30;
            if (rank == root) {
                node.announce_bcast(bytes);
            } else {
                if (node.await_length(root) != bytes) ++wrong;
                node.leave_bcast(bytes);
            }
            Guarded buffer(i);
            if (rank == root) buffer.fill(i);
            if (!node.bcast(root, buffer.data(), i) || !buffer.holds(i, i)) ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
}

// ---- reductions ----

struct KeepRight : Combine {
    KeepRight() : Combine(1) {}
    void operator()(const std::byte*, const std::byte* right, std::byte* result, std::size_t elements) const override {
        std::copy(right, right + elements, result);
    }
};

// Ranks that know of one another when one gives up.
template <typename Run>
std::vector<NodeBreak> run_ranks_that_may_fail(const Placement& placement, bool oversubscribed, const Run& run) {
    const int ranks = placement.ranks();
    const std::size_t collectives = NodeCollectives::segment_bytes(ranks, buffer_bytes);
    SharedSegment segment;
    EXPECT_EQ(segment.create(collectives + NodePeers::segment_bytes(ranks)), 0);
    std::vector<NodeBreak> outcomes(static_cast<std::size_t>(ranks), NodeBreak::none);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            NodePeers peers(segment.data() + collectives, ranks, rank);
            NodeCollectives node(segment.data(), buffer_bytes, placement, rank,
                                 Waiting(
                                     oversubscribed, [](void*) { return 0; }, nullptr, &peers));
            NodeBreak& outcome = outcomes[static_cast<std::size_t>(rank)];
            try {
                run(node, rank);
                node.barrier();
            } catch (const NodeFailure& failure) {
                outcome = failure.why;
                // From now on at once.
                EXPECT_THROW(node.barrier(), NodeFailure);
                EXPECT_THROW(node.bcast(0, nullptr, 0), NodeFailure);
            } catch (const std::runtime_error&) {
                outcome = NodeBreak::unwound;
            }
        });
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

void test_reductions(const Placement& placement, bool oversubscribed, bool single_copy) {
    const int ranks = placement.ranks();
    for (const Lengths& lengths : wrong_lengths) {
        if (lengths.short_rank == 0) continue;
        for (const bool is_rooted : {false, true}) {
            std::atomic<int> wrong{0};
            std::atomic<int> refused{0};
            const auto outcomes =
                run_ranks_that_may_fail(placement, oversubscribed, [&](NodeCollectives& node, int rank) {
                    if (single_copy && !node.use_single_copy(make_cma_memory(ranks))) ++refused;
                    const std::size_t bytes = rank == ranks - 1 ? lengths.short_rank : lengths.root;
                    Guarded input(bytes);
                    Guarded output(bytes);
                    input.fill(1);
                    const std::size_t from = single_copy ? 1 : NodeCollectives::never;
                    try {
                        if (is_rooted)
                            node.reduce(0, input.data(), output.data(), bytes, KeepRight(), from);
                        else
                            node.allreduce(input.data(), output.data(), bytes, KeepRight(), from);
                    } catch (const NodeFailure&) {
                        if (!output.holds(0, 0)) ++wrong;
                        throw;
                    }
                    if (!is_rooted && single_copy) ++wrong;
                });
            if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
            EXPECT_EQ(outcomes, std::vector(static_cast<std::size_t>(ranks), NodeBreak::lengths))
                << lengths.root << " and " << lengths.short_rank << (is_rooted ? " to a root" : "");
        }
    }
}

TEST(Reductions, OfDifferentLengthsEndInAnErrorOnAllRanks) {
    test_reductions(Placement::one_node(2), false, false);
    test_reductions(Placement::one_node(4), true, false);
    test_reductions(Placement::one_node(11), true, false);
}
// The last rank, whose length is another one, is alone in its cache: of a node of two, and of a package of two.
TEST(Reductions, OfDifferentLengthsEndInAnErrorAlongLevels) {
    std::vector<Seat> seats(8, {.node = 0, .socket = 0, .package = 0, .cache = 0});
    seats.push_back({.node = 0, .socket = 0, .package = 0, .cache = 1});
    test_reductions(Placement(seats), false, false);
    seats.assign(9, {.node = 0, .socket = 0, .package = 0, .cache = 0});
    seats.insert(seats.end(), 9, {.node = 0, .socket = 1, .package = 1, .cache = 1});
    seats.push_back({.node = 0, .socket = 1, .package = 1, .cache = 2});
    test_reductions(Placement(seats), false, false);
    test_reductions(Placement(seats), true, false);
}
TEST(Reductions, OfDifferentLengthsEndInAnErrorByASingleCopy) {
    test_reductions(Placement::one_node(2), false, true);
    test_reductions(Placement::one_node(3), true, true);
}

// ---- portions ----

// As above; of all ranks together they are long soon.
constexpr Lengths wrong_portions[] = {{40, 8},      {400, 300},     {400, 40},      {30'000, 20'000}, {20'000, 40},
                                      {40, 0},      {8, 40},        {300, 400},     {40, 400},        {20'000, 30'000},
                                      {40, 20'000}, {9'000, 8'000}, {8'000, 20'000}};

// The last rank's are of another length; behind no buffer anything is written.
void test_portions(int ranks, bool oversubscribed, bool single_copy) {
    for (const Lengths& lengths : wrong_portions) {
        for (const Collective collective : {Collective::gather, Collective::allgather})
            for (const int root : {0, ranks - 1}) {
                std::atomic<int> wrong{0};
                std::atomic<int> refused{0};
                const auto outcomes = run_ranks_that_may_fail(
                    Placement::one_node(ranks), oversubscribed, [&](NodeCollectives& node, int rank) {
                        if (single_copy && !node.use_single_copy(make_cma_memory(ranks))) ++refused;
                        const std::size_t bytes = rank == ranks - 1 ? lengths.short_rank : lengths.root;
                        const std::size_t all = bytes * static_cast<std::size_t>(ranks);
                        Guarded portion(bytes);
                        Guarded whole(all);
                        portion.fill(1);
                        const std::size_t from = single_copy ? 1 : NodeCollectives::never;
                        const NodeBuffer own(portion.data(), bytes);
                        const NodeBuffer everything = rank == root || collective == Collective::allgather
                                                          ? NodeBuffer(whole.data(), all)
                                                          : NodeBuffer(nullptr, 0);
                        try {
                            if (collective == Collective::gather)
                                node.gather(root, own, everything, bytes, from);
                            else
                                node.allgather(own, everything, bytes, from);
                        } catch (const NodeFailure&) {
                            if (!whole.is_whole_behind()) ++wrong;
                            throw;
                        }
                        if (!whole.is_whole_behind()) ++wrong;
                    });
                if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
                EXPECT_EQ(outcomes, std::vector(static_cast<std::size_t>(ranks), NodeBreak::lengths))
                    << lengths.root << " and " << lengths.short_rank << ", collective " << static_cast<int>(collective)
                    << ", root " << root;
                EXPECT_EQ(wrong, 0);
            }
    }
}

// A scatter goes by the root's length: the others get what there is room for, and what follows is right.
void test_scatters(int ranks, bool oversubscribed, bool single_copy) {
    std::atomic<int> wrong{0};
    std::atomic<int> refused{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
        if (single_copy && !node.use_single_copy(make_cma_memory(ranks))) ++refused;
        unsigned salt = 0;
        for (int round = 0; round < 2; ++round)
            for (const Lengths& lengths : wrong_portions)
                for (const int root : {0, ranks / 2}) {
                    const bool is_short = rank == ranks - 1 && rank != root;
                    const std::size_t room = is_short ? lengths.short_rank : lengths.root;
                    const std::size_t from = single_copy ? 1 : NodeCollectives::never;
                    std::vector<std::byte> whole(rank == root ? lengths.root * static_cast<std::size_t>(ranks) : 0);
                    Guarded portion(room);
                    ++salt;
                    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = pattern(i % lengths.root, salt);
                    const NodeBuffer all(rank == root ? whole.data() : nullptr, whole.size());
                    if (node.scatter(root, all, {portion.data(), room}, room, from) != lengths.root) ++wrong;
                    if (!portion.holds(std::min(room, lengths.root), salt)) ++wrong;
                    Guarded next(40);
                    if (rank == 0) next.fill(salt);
                    if (!node.bcast(0, next.data(), 40) || !next.holds(40, salt)) ++wrong;
                }
    });
    if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
    EXPECT_EQ(wrong, 0);
}

TEST(Scatter, GoesByTheRootsLength) {
    test_scatters(3, true, false);
    test_scatters(9, true, false);
}
TEST(Scatter, GoesByTheRootsLengthWhereItIsCopiedOnce) {
    test_scatters(2, false, true);
    test_scatters(9, true, true);
}

TEST(Portions, OfDifferentLengthsEndInAnErrorOnAllRanks) {
    test_portions(3, true, false);
    test_portions(9, true, false);
}
TEST(Portions, OfDifferentLengthsEndInAnErrorByASingleCopy) {
    test_portions(2, false, true);
    test_portions(9, true, true);
}

// An operation of the application that throws, on one rank: its exception passes, the others do not wait.
TEST(Reductions, WhoseOperationThrowsLetTheOthersGo) {
    struct Throwing : KeepRight {
        bool throws = false;
        void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                        std::size_t elements) const override {
            if (throws) throw std::runtime_error("the application's");
            KeepRight::operator()(left, right, result, elements);
        }
    };
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{100'000}}) {
        const auto outcomes =
            run_ranks_that_may_fail(Placement::one_node(3), true, [&](NodeCollectives& node, int rank) {
                Throwing combine;
                combine.throws = rank == 1;
                Guarded buffer(bytes);
                node.allreduce(buffer.data(), buffer.data(), bytes, combine);
            });
        EXPECT_EQ(outcomes, std::vector(3, NodeBreak::unwound));
    }
}

// ---- messages ----

// Two ranks in one thread: who makes progress when is the test's choice.
class Messages : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(segment_.create(4096 + NodeMessages::segment_bytes(2, buffer_bytes)), 0);
        for (int rank = 0; rank < 2; ++rank)
            ranks_.push_back(std::make_unique<NodeMessages>(segment_.data() + 4096, buffer_bytes, 2, rank));
    }
    void drive() {
        for (int i = 0; i < 400; ++i)
            for (int rank = 0; rank < 2; ++rank)
                ASSERT_EQ(ranks_[static_cast<std::size_t>(rank)]->progress(done_[rank]), 0);
    }
    NodeMessages& sender() { return *ranks_[0]; }
    NodeMessages& receiver() { return *ranks_[1]; }

    SharedSegment segment_;
    std::vector<std::unique_ptr<NodeMessages>> ranks_;
    std::vector<Token> done_[2];
};

TEST_F(Messages, OfAnotherLengthFillNoMoreThanThereIsRoomFor) {
    std::uint32_t tag = 0;
    for (const bool is_expected : {true, false})
        for (const Lengths& lengths : wrong_lengths) {
            for (auto& each : ranks_) each->begin(tag);
            Guarded sent(lengths.root);
            Guarded received(lengths.short_rank);
            Guarded next(8);
            sent.fill(tag);
            const auto receive = [&] {
                ASSERT_EQ(receiver().recv(0, tag, received.data(), lengths.short_rank, Elements{}, 1), 0);
            };
            if (is_expected) receive();
            ASSERT_EQ(sender().send(1, tag, sent.data(), lengths.root, Elements{}, 2), 0);
            drive();
            if (!is_expected) receive();
            drive();
            EXPECT_EQ(done_[0], std::vector<Token>{2}) << lengths.root << " to " << lengths.short_rank;
            EXPECT_EQ(done_[1], std::vector<Token>{1}) << lengths.root << " to " << lengths.short_rank;
            EXPECT_TRUE(received.holds(std::min(lengths.root, lengths.short_rank), tag));
            EXPECT_EQ(receiver().outcome(), lengths.root > lengths.short_rank ? status_truncated : 0);
            EXPECT_EQ(sender().outcome(), 0);
            // The next one with the same tag is another message.
            Guarded again(8);
            again.fill(3);
            ASSERT_EQ(sender().send(1, tag, again.data(), 8, Elements{}, 2), 0);
            ASSERT_EQ(receiver().recv(0, tag, next.data(), 8, Elements{}, 1), 0);
            drive();
            EXPECT_TRUE(next.holds(8, 3));
            for (auto& each : done_) each.clear();
            tag += tags_per_collective;
        }
}

// A long message that nobody asked for in its collective: its sender comes to its end all the same.
TEST_F(Messages, ThatNobodyAskedForDoNotHoldTheirSender) {
    for (auto& each : ranks_) each->begin(0);
    Guarded sent(100'000);
    Guarded received(8);
    sent.fill(1);
    ASSERT_EQ(sender().send(1, 5, sent.data(), 100'000, Elements{}, 2), 0);
    drive();
    EXPECT_TRUE(done_[0].empty());
    receiver().begin(tags_per_collective);
    ASSERT_EQ(receiver().recv(0, tags_per_collective, received.data(), 8, Elements{}, 1), 0);
    drive();
    EXPECT_EQ(done_[0], std::vector<Token>{2});
    sender().begin(tags_per_collective);
    ASSERT_EQ(sender().send(1, tags_per_collective, sent.data(), 8, Elements{}, 3), 0);
    drive();
    EXPECT_TRUE(received.holds(8, 1));
}

}  // namespace
}  // namespace hcoll::test
