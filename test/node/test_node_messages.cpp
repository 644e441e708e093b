// SPDX-License-Identifier: BSD-3-Clause
// Plans over shared memory, with threads as ranks: random algorithms one after another, without anything between them, so
// that ranks run ahead of one another as far as they may; every unit of every rank is compared with what MPI defines.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "../support/seed.hpp"
#include "progress/node/node_messages.hpp"
#include "progress/node/routed_transport.hpp"
#include "progress/node/shared_segment.hpp"
#include "random_cases.hpp"
#include "rank_threads.hpp"

namespace hcoll::test {
namespace {

// Nothing may be sent over a network here.
class NoNetwork : public Transport {
public:
    Status send(int, std::uint32_t, const std::byte*, std::uint64_t, Token) override { return 1; }
    Status recv(int, std::uint32_t, std::byte*, std::uint64_t, Token) override { return 1; }
    Status collective(Collective, int, std::uint64_t, const std::byte*, std::byte*, std::uint64_t, Token) override {
        return 1;
    }
    Status progress(std::vector<Token>&) override { return 0; }
};

// Carries operands so that nothing fits that was not packed and unpacked.
class InvertedBytes : public Packing {
public:
    Status pack(const std::byte* elements, std::uint64_t count, std::byte* bytes) override {
        for (std::uint64_t i = 0; i < count * sizeof(Operand); ++i) bytes[i] = ~elements[i];
        return 0;
    }
    Status unpack(const std::byte* bytes, std::byte* elements, std::uint64_t count) override {
        return pack(bytes, count, elements);
    }
};

struct Job {
    std::vector<PlanCase> cases;
    std::vector<PreparedCase> prepared;
    std::vector<int> late_ranks;  // by case: this rank yields for a while before
    std::vector<bool> packed;     // by case
};

Job random_job(int ranks, std::size_t cases, std::uint64_t cell_units, std::mt19937_64& random) {
    Job job;
    for (std::size_t i = 0; i < cases; ++i) {
        job.cases.push_back(random_case(ranks, cell_units, random));
        job.prepared.push_back(prepare(job.cases.back(), build_plans(job.cases.back())));
        job.late_ranks.push_back(static_cast<int>(random() % (2 * static_cast<std::uint64_t>(ranks))));
        job.packed.push_back(random() % 4 == 0);
    }
    return job;
}

// `base` is one mapping for all ranks: of several, ThreadSanitizer would not know that they are the same memory. Returns the
// number of the case that failed, or -1.
int run_rank(Job& job, std::byte* base, std::size_t buffer_bytes, int ranks, int rank) {
    NoNetwork network;
    RoutedTransport transport(
        network, [](void*) { return 0; }, nullptr);
    transport.use_node(std::make_unique<NodeMessages>(base, buffer_bytes, ranks, rank), Placement::one_node(ranks),
                       rank, true);
    Engine engine;
    InvertedBytes inverted;
    for (std::size_t i = 0; i < job.cases.size(); ++i) {
        if (job.late_ranks[i] == rank) come_late();
        SimulatedRank& self = job.prepared[i].ranks[static_cast<std::size_t>(rank)];
        std::vector<Operand> scratch(self.plan.scratch_units());
        const RunBuffers buffers{reinterpret_cast<const std::byte*>(self.input.data()),
                                 reinterpret_cast<std::byte*>(self.output.data()),
                                 reinterpret_cast<std::byte*>(scratch.data()), sizeof(Operand)};
        OperandOperations operations(job.cases[i].ordered);
        transport.begin(
            {.bytes = sizeof(Operand), .stride = sizeof(Operand), .packing = job.packed[i] ? &inverted : nullptr});
        Status status = engine.start(self.plan, buffers, transport, operations);
        while (status == 0 && !engine.done()) status = engine.advance();
        if (status != 0) return static_cast<int>(i);
    }
    return -1;
}

class NodeMessagesOf : public ::testing::TestWithParam<int> {};

TEST_P(NodeMessagesOf, CarryEveryAlgorithm) {
    const int ranks = GetParam();
    std::mt19937_64 random(test_seed());
    for (const std::size_t buffer_bytes : {std::size_t{64} << 10, std::size_t{512} << 10}) {
        const std::uint64_t cell_units = buffer_bytes / NodeMessages::cells / sizeof(Operand);
        Job job = random_job(ranks, 150, cell_units, random);
        SharedSegment segment;
        ASSERT_EQ(segment.create(4096 + NodeMessages::segment_bytes(ranks, buffer_bytes)), 0);
        std::vector<int> failed(static_cast<std::size_t>(ranks), -1);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank] {
                failed[static_cast<std::size_t>(rank)] =
                    run_rank(job, segment.data() + 4096, buffer_bytes, ranks, rank);
            });
        for (std::thread& each : threads) each.join();
        for (const int each : failed) ASSERT_EQ(each, -1) << job.cases[static_cast<std::size_t>(each)].name();
        for (std::size_t i = 0; i < job.cases.size(); ++i) {
            const auto defect = compare(job.cases[i], job.prepared[i]);
            ASSERT_FALSE(defect) << job.cases[i].name() << ": " << *defect;
        }
    }
}

// Several ranks in one thread: who makes progress when is the test's choice.
class ThreeRanks : public ::testing::Test {
protected:
    static constexpr std::size_t buffer_bytes = 64 << 10;
    static constexpr std::size_t cell_bytes = buffer_bytes / NodeMessages::cells;

    void SetUp() override {
        ASSERT_EQ(segment_.create(4096 + NodeMessages::segment_bytes(3, buffer_bytes)), 0);
        ranks_.reserve(3);
        for (int rank = 0; rank < 3; ++rank)
            ranks_.push_back(std::make_unique<NodeMessages>(segment_.data() + 4096, buffer_bytes, 3, rank));
    }
    static std::vector<std::byte> message(std::size_t bytes, unsigned number) {
        std::vector<std::byte> made(bytes);
        for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(std::size_t{number} * 31 + i % 251);
        return made;
    }
    NodeMessages& rank(int index) { return *ranks_[static_cast<std::size_t>(index)]; }
    // Drives ranks in turn, until nothing happens any more.
    void drive(const std::vector<int>& turns) {
        for (int i = 0; i < 200; ++i)
            for (const int each : turns) ASSERT_EQ(rank(each).progress(completed_[each]), 0);
    }

    SharedSegment segment_;
    std::vector<std::unique_ptr<NodeMessages>> ranks_;
    std::vector<Token> completed_[3];
};

TEST_F(ThreeRanks, MoveWhatNobodyHasAskedForOutOfTheWay) {
    const Elements bytes;
    std::vector<std::vector<std::byte>> unasked;
    // More than there are cells; the last ones also find no room in the lane.
    constexpr unsigned count = NodeMessages::cells + 20;
    for (unsigned i = 0; i < count; ++i) {
        unasked.push_back(message(cell_bytes, i));
        ASSERT_EQ(rank(0).send(1, i, unasked.back().data(), cell_bytes, bytes, i), 0);
    }
    const std::vector<std::byte> urgent = message(3 * cell_bytes, 1000);
    std::vector<std::byte> received(urgent.size());
    ASSERT_EQ(rank(0).send(2, 7, urgent.data(), urgent.size(), bytes, 1000), 0);
    ASSERT_EQ(rank(2).recv(0, 7, received.data(), received.size(), bytes, 5), 0);
    drive({0, 1, 2});
    EXPECT_EQ(completed_[2], std::vector<Token>{5});
    EXPECT_EQ(received, urgent);
    EXPECT_TRUE(completed_[1].empty());
    for (unsigned i = count; i-- > 0;) {
        std::vector<std::byte> late(cell_bytes);
        ASSERT_EQ(rank(1).recv(0, i, late.data(), cell_bytes, bytes, i), 0);
        drive({0, 1});
        ASSERT_EQ(completed_[1], std::vector<Token>{i});
        EXPECT_EQ(late, unasked[i]);
        completed_[1].clear();
    }
    EXPECT_EQ(completed_[0].size(), count + 1);
}

TEST_F(ThreeRanks, SendOneFragmentAheadOfTheReceiver) {
    const Elements bytes;
    // Together many times what the cells hold; none may be in the way of what somebody waits for.
    constexpr unsigned count = 20;
    std::vector<std::vector<std::byte>> unasked;
    for (unsigned i = 0; i < count; ++i) {
        unasked.push_back(message(40 * cell_bytes + 3, i));
        ASSERT_EQ(rank(0).send(1, i, unasked.back().data(), unasked.back().size(), bytes, i), 0);
    }
    const std::vector<std::byte> urgent = message(100 * cell_bytes, 1000);
    std::vector<std::byte> received(urgent.size());
    ASSERT_EQ(rank(0).send(2, 7, urgent.data(), urgent.size(), bytes, 1000), 0);
    ASSERT_EQ(rank(2).recv(0, 7, received.data(), received.size(), bytes, 5), 0);
    // Rank 1 is away.
    drive({0, 2});
    EXPECT_EQ(completed_[2], std::vector<Token>{5});
    EXPECT_EQ(received, urgent);
    EXPECT_EQ(completed_[0], std::vector<Token>{1000});
    std::vector<std::vector<std::byte>> late(count);
    for (unsigned i = 0; i < count; ++i) {
        late[i].resize(unasked[i].size());
        ASSERT_EQ(rank(1).recv(0, i, late[i].data(), late[i].size(), bytes, i), 0);
    }
    drive({1, 0});
    EXPECT_EQ(completed_[1].size(), count);
    EXPECT_EQ(late, unasked);
}

// A rank that waits in one collective keeps nothing of those that another rank has run ahead to, and holds it back.
TEST_F(ThreeRanks, HoldBackARankThatRunsAhead) {
    const Elements bytes;
    constexpr std::uint32_t collectives = 500;
    std::vector<std::vector<std::byte>> sent;
    for (int each = 0; each < 3; ++each) rank(each).begin(0);
    ASSERT_EQ(rank(1).recv(2, 0, nullptr, 0, bytes, 1), 0);  // what rank 1 waits for
    for (std::uint32_t number = 1; number <= collectives; ++number) {
        // In a cell, in its line, and in several cells.
        const std::size_t sizes[] = {cell_bytes, 8, 3 * cell_bytes};
        sent.push_back(message(sizes[number % 3], number));
        rank(0).begin(number * tags_per_collective);
        ASSERT_EQ(rank(0).send(1, number * tags_per_collective, sent.back().data(), sent.back().size(), bytes, number),
                  0);
        drive({0, 1});
        if (completed_[0].size() < number) break;
    }
    EXPECT_LT(sent.size(), 100U);
    EXPECT_TRUE(completed_[1].empty());
    for (std::uint32_t number = 1; number <= sent.size(); ++number) {
        std::vector<std::byte> received(sent[number - 1].size());
        rank(1).begin(number * tags_per_collective);
        ASSERT_EQ(rank(1).recv(0, number * tags_per_collective, received.data(), received.size(), bytes, 7), 0);
        drive({0, 1});
        EXPECT_EQ(received, sent[number - 1]);
    }
    EXPECT_EQ(completed_[0].size(), sent.size());
}

// The place where a message's grant would be is taken by another one that nobody asks for.
TEST_F(ThreeRanks, GoAroundAMessageThatWaitsForItsGrant) {
    const Elements bytes;
    const std::vector<std::byte> unasked = message(3 * cell_bytes, 1);
    const std::vector<std::byte> between = message(255 * cell_bytes, 2);
    const std::vector<std::byte> urgent = message(3 * cell_bytes, 3);
    std::vector<std::byte> received(between.size());
    ASSERT_EQ(rank(0).send(1, 1, unasked.data(), unasked.size(), bytes, 1), 0);
    ASSERT_EQ(rank(0).send(1, 2, between.data(), between.size(), bytes, 2), 0);
    ASSERT_EQ(rank(1).recv(0, 2, received.data(), received.size(), bytes, 2), 0);
    drive({0, 1});
    ASSERT_EQ(received, between);
    received.assign(urgent.size(), std::byte{0});
    ASSERT_EQ(rank(0).send(1, 3, urgent.data(), urgent.size(), bytes, 3), 0);
    ASSERT_EQ(rank(1).recv(0, 3, received.data(), received.size(), bytes, 3), 0);
    drive({0, 1});
    EXPECT_EQ(received, urgent);
    std::vector<std::byte> late(unasked.size());
    ASSERT_EQ(rank(1).recv(0, 1, late.data(), late.size(), bytes, 1), 0);
    drive({0, 1});
    EXPECT_EQ(late, unasked);
}

class CountedCopies : public Packing {
public:
    Status pack(const std::byte* elements, std::uint64_t count, std::byte* bytes) override {
        ++packed;
        std::memcpy(bytes, elements, count);
        return 0;
    }
    Status unpack(const std::byte* bytes, std::byte* elements, std::uint64_t count) override {
        std::memcpy(elements, bytes, count);
        return 0;
    }
    int packed = 0;
};

TEST_F(ThreeRanks, CopyInOnceForSeveralReceivers) {
    CountedCopies copies;
    const Elements elements{.bytes = 1, .stride = 1, .packing = &copies};
    constexpr int fragments = 37;
    const std::vector<std::byte> sent = message(fragments * cell_bytes, 3);
    std::vector<std::byte> received[2];
    for (int to = 1; to < 3; ++to)
        ASSERT_EQ(rank(0).send(to, 1, sent.data(), sent.size(), elements, static_cast<Token>(to)), 0);
    for (int to = 1; to < 3; ++to) {
        received[to - 1].resize(sent.size());
        ASSERT_EQ(rank(to).recv(0, 1, received[to - 1].data(), sent.size(), elements, 9), 0);
    }
    drive({0, 1, 1, 2});
    EXPECT_EQ(received[0], sent);
    EXPECT_EQ(received[1], sent);
    EXPECT_EQ(copies.packed, fragments);
}

// What is left over by an error must not take cells for ever, nor be taken for a later message.
TEST_F(ThreeRanks, GoOnAfterAnError) {
    const Elements bytes;
    const std::vector<std::byte> lost = message(40 * cell_bytes, 1);
    for (unsigned round = 0; round < 3 * NodeMessages::cells; ++round) {
        for (int to = 1; to < 3; ++to) ASSERT_EQ(rank(0).send(to, 2 * round, lost.data(), lost.size(), bytes, 1), 0);
        rank(0).abandon();
        const std::vector<std::byte> sent = message(3 * cell_bytes, round);
        std::vector<std::byte> received(sent.size());
        ASSERT_EQ(rank(0).send(1, 2 * round + 1, sent.data(), sent.size(), bytes, 2), 0);
        ASSERT_EQ(rank(1).recv(0, 2 * round + 1, received.data(), received.size(), bytes, 3), 0);
        drive({0, 1, 2});
        ASSERT_EQ(received, sent) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Ranks, NodeMessagesOf, ::testing::Values(2, 3, 4, 7, 12));

}  // namespace
}  // namespace hcoll::test
