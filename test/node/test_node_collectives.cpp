// SPDX-License-Identifier: BSD-3-Clause
// Collectives over shared memory, with threads as ranks: random calls one after another, without anything between them, so
// that ranks run ahead of one another as far as they may; results are compared with what MPI defines.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/shared_segment.hpp"
#include "rank_threads.hpp"

namespace hcoll::test {
namespace {

// An operand that knows which ranks are in it: a run of them, in order. Anything else poisons it.
struct RankRun {
    std::uint16_t first;
    std::uint16_t last;
    std::uint32_t tag;  // of the element; tags must be equal
    friend bool operator==(const RankRun&, const RankRun&) = default;
};
constexpr RankRun poisoned{0xffff, 0, 0xffffffff};

void combine_runs(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) {
        RankRun a{};
        RankRun b{};
        std::memcpy(&a, left + i * sizeof(RankRun), sizeof(RankRun));
        std::memcpy(&b, right + i * sizeof(RankRun), sizeof(RankRun));
        const bool fits = a.tag == b.tag && a.last + 1 == b.first;
        const RankRun both = fits ? RankRun{a.first, b.last, a.tag} : poisoned;
        std::memcpy(result + i * sizeof(RankRun), &both, sizeof(RankRun));
    }
}

// Which ranks are in an operand, in any order: a bit for each. One that is in both poisons it.
void combine_sets(const std::byte* left, const std::byte* right, std::byte* result, std::size_t elements) {
    for (std::size_t i = 0; i < 2 * elements; i += 2) {
        std::array<std::uint32_t, 2> a{};
        std::array<std::uint32_t, 2> b{};
        std::memcpy(a.data(), left + i * sizeof a[0], sizeof a);
        std::memcpy(b.data(), right + i * sizeof b[0], sizeof b);
        const bool fits = a[1] == b[1] && (a[0] & b[0]) == 0;
        const std::array<std::uint32_t, 2> both = {fits ? a[0] | b[0] : 0, a[1]};
        std::memcpy(result + i * sizeof both[0], both.data(), sizeof both);
    }
}
RankRun set_of(std::uint32_t ranks, std::uint32_t tag) {
    return {static_cast<std::uint16_t>(ranks), static_cast<std::uint16_t>(ranks >> 16U), tag};
}

// As the library's kernels are told of, and as the MPI library's operations are.
struct CombineRuns : Combine {
    explicit CombineRuns(bool by_kernel) : Combine(sizeof(RankRun), by_kernel ? combine_runs : nullptr) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        combine_runs(left, right, result, elements);
    }
};

struct CombineSets : Combine {
    CombineSets() : Combine(sizeof(RankRun), combine_sets) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        combine_sets(left, right, result, elements);
    }
};

struct Call {
    enum Kind { bcast, reduce, allreduce, barrier } kind;
    int root;
    std::size_t elements;
    bool in_place;
    int late_rank;  // yields for a while before
    std::uint32_t tag;
    bool commutes = false;  // of sets
};

// What every rank writes before a barrier, and all others read afterwards. There are two of each, in turn: before a rank
// writes the first one again, all have left the barrier after which it was read.
template <typename Note>
struct Notes {
    explicit Notes(int ranks)
        : of{std::vector<Note>(static_cast<std::size_t>(ranks)), std::vector<Note>(static_cast<std::size_t>(ranks))} {}
    std::array<std::vector<Note>, 2> of;
};
using AtomicNotes = Notes<std::atomic<std::uint32_t>>;

// Sizes around every boundary between two ways, and around blocks.
std::vector<std::size_t> sizes(std::size_t block_elements) {
    const std::size_t line = NodeCollectives::line_bytes / sizeof(RankRun);
    const std::size_t slot = 960 / sizeof(RankRun);
    const std::size_t longest = NodeCollectives::short_bytes / sizeof(RankRun);
    std::vector<std::size_t> found = {1, 2, 100, 700};
    for (const std::size_t edge : {line, slot, longest, block_elements, 2 * block_elements, 7 * block_elements})
        for (const std::size_t each : {edge - 1, edge, edge + 1}) found.push_back(each);
    return found;
}

std::vector<RankRun> operands(int rank, std::size_t elements, std::uint32_t tag) {
    std::vector<RankRun> runs(elements);
    for (std::size_t i = 0; i < elements; ++i)
        runs[i] = {static_cast<std::uint16_t>(rank), static_cast<std::uint16_t>(rank),
                   tag + static_cast<std::uint32_t>(i)};
    return runs;
}

class Rank {
public:
    // `base` is one mapping for all ranks: of several, ThreadSanitizer would not know that they are the same memory.
    Rank(std::byte* base, std::size_t buffer_bytes, const Placement& placement, int rank, bool oversubscribed,
         AtomicNotes& notes)
        : rank_(rank), ranks_(placement.ranks()), ranks_sit_apart_(!placement.is_in_rank_order()), notes_(notes) {
        node_ = std::make_unique<NodeCollectives>(base, buffer_bytes, placement, rank,
                                                  Waiting(
                                                      oversubscribed, [](void*) { return 0; }, nullptr));
    }

    std::string run(const Call& call) {
        if (call.late_rank == rank_) come_late();
        if (call.kind == Call::barrier) return meet(call);
        std::vector<RankRun> own = operands(rank_, call.elements, call.tag);
        if (are_sets(call))
            for (RankRun& run : own) run = set_of(1U << static_cast<unsigned>(rank_), run.tag);
        // One element behind the message must stay as it is.
        std::vector<RankRun> output(call.elements + 1, poisoned);
        if (call.in_place || (call.kind == Call::bcast && rank_ == call.root))
            std::copy(own.begin(), own.end(), output.begin());
        const std::byte* input = reinterpret_cast<const std::byte*>(call.in_place ? output.data() : own.data());
        auto* result = reinterpret_cast<std::byte*>(output.data());
        const CombineRuns runs(call.tag % 2 == 0);
        const CombineSets sets;
        const Combine& combine = are_sets(call) ? static_cast<const Combine&>(sets) : runs;
        const std::size_t bytes = call.elements * sizeof(RankRun);
        // Ranks need not all go the short way.
        if (call.kind == Call::bcast && node_->is_line(bytes) && (call.tag + static_cast<unsigned>(rank_)) % 4 != 0)
            node_->bcast_line(call.root, result, bytes);
        else if (call.kind == Call::bcast)
            node_->bcast(call.root, result, bytes);
        else if (call.kind == Call::reduce)
            node_->reduce(call.root, input, result, call.elements, combine);
        else
            node_->allreduce(input, result, call.elements, combine);
        return compare(call, output);
    }

private:
    bool are_sets(const Call& call) const { return call.commutes || ranks_sit_apart_; }
    std::string meet(const Call& call) {
        auto& notes = notes_.of[barriers_++ % 2];
        notes[static_cast<std::size_t>(rank_)].store(call.tag, std::memory_order_relaxed);
        node_->barrier();
        for (std::size_t each = 0; each < notes.size(); ++each)
            if (notes[each].load(std::memory_order_relaxed) != call.tag)
                return "left before rank " + std::to_string(each) + " had entered";
        return "";
    }

    std::string compare(const Call& call, const std::vector<RankRun>& output) const {
        if (!(output.back() == poisoned)) return "wrote behind its end";
        for (std::size_t i = 0; i < call.elements; ++i) {
            const std::uint32_t tag = call.tag + static_cast<std::uint32_t>(i);
            const auto run = [&](int first, int last) {
                return RankRun{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last), tag};
            };
            const auto operand = [&](int rank) {
                return are_sets(call) ? set_of(1U << static_cast<unsigned>(rank), tag) : run(rank, rank);
            };
            RankRun expected =
                are_sets(call) ? set_of((1U << static_cast<unsigned>(ranks_)) - 1, tag) : run(0, ranks_ - 1);
            if (call.kind == Call::bcast) expected = operand(call.root);
            if (call.kind == Call::reduce && rank_ != call.root) expected = call.in_place ? operand(rank_) : poisoned;
            if (!(output[i] == expected))
                return "element " + std::to_string(i) + " of " + std::to_string(call.elements) + " is " +
                       std::to_string(output[i].first) + "-" + std::to_string(output[i].last);
        }
        return "";
    }

    int rank_;
    int ranks_;
    bool ranks_sit_apart_;  // then they are combined in another order than theirs
    std::unique_ptr<NodeCollectives> node_;
    AtomicNotes& notes_;
    std::size_t barriers_ = 0;
};

void run_calls(const Placement& placement, const std::vector<Call>& calls, std::size_t buffer_bytes,
               bool oversubscribed) {
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(placement.ranks(), buffer_bytes)), 0);
    AtomicNotes notes(placement.ranks());
    std::vector<std::string> problems(static_cast<std::size_t>(placement.ranks()));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < placement.ranks(); ++rank)
        threads.emplace_back([&, rank] {
            Rank self(segment.data(), buffer_bytes, placement, rank, oversubscribed, notes);
            std::string& problem = problems[static_cast<std::size_t>(rank)];
            for (std::size_t i = 0; i < calls.size(); ++i) {
                const std::string found = self.run(calls[i]);
                if (!found.empty() && problem.empty())
                    problem = "call " + std::to_string(i) + " kind " + std::to_string(calls[i].kind) + " root " +
                              std::to_string(calls[i].root) + ": " + found;
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < placement.ranks(); ++rank)
        EXPECT_EQ(problems[static_cast<std::size_t>(rank)], "") << "rank " << rank << " of " << placement.ranks();
}

class NodeCollectivesOf : public testing::TestWithParam<int> {};

TEST_P(NodeCollectivesOf, GiveTheRightResultsWhoeverIsLate) {
    const int ranks = GetParam();
    constexpr std::size_t buffer_bytes = 64 << 10;
    const std::size_t block_elements = buffer_bytes / NodeCollectives::depth / sizeof(RankRun);
    std::mt19937_64 random(test_seed());
    const auto all_sizes = sizes(block_elements);
    std::vector<Call> calls;
    const auto add = [&](Call::Kind kind, int root, std::size_t elements) {
        calls.push_back({kind, root, elements, random() % 2 == 0, static_cast<int>(random() % 8),
                         static_cast<std::uint32_t>(random()), random() % 4 == 0});
    };
    for (const std::size_t elements : all_sizes)
        for (int root = 0; root < ranks; ++root) {
            // Of many ranks the first ones, the last one, and a third of the others, which each run draws anew.
            if (ranks > NodeCollectives::flat_ranks && root > 1 && root + 1 < ranks && random() % 3 != 0) continue;
            add(Call::bcast, root, elements);
            add(Call::reduce, root, elements);
            if (root < 2) add(Call::allreduce, 0, elements);
            if (root < 2) add(Call::barrier, 0, 0);
        }
    std::shuffle(calls.begin(), calls.end(), random);
    // Rows of equal short calls, in which places are used again.
    for (const Call::Kind kind : {Call::bcast, Call::reduce, Call::allreduce, Call::barrier})
        for (std::size_t i = 0; i < random_calls; ++i) add(kind, ranks - 1, 1 + i % 3);
    const Placement one_socket = Placement::one_node(ranks);
    run_calls(one_socket, calls, buffer_bytes, ranks > 2);
    if (ranks <= NodeCollectives::flat_ranks) return;
    for (const Placement& each : uneven_placements(ranks)) run_calls(each, calls, buffer_bytes, true);
}

INSTANTIATE_TEST_SUITE_P(Ranks, NodeCollectivesOf, testing::Values(2, 3, 4, 5, 8, 9, 12, 17, 27));

// Without memory for its message a rank takes part all the same, and the next calls are right.
TEST(NodeCollectives, KeepInStepWithARankThatHasNoMemory) {
    const int ranks = 10;
    constexpr std::size_t buffer_bytes = 64 << 10;
    std::atomic<int> wrong{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int rank) {
        for (int without = 0; without < ranks; ++without)
            for (const std::size_t elements : {std::size_t{3}, std::size_t{500}, std::size_t{20'000}}) {
                std::vector<RankRun> runs = operands(rank, elements, 1);
                const bool takes_part = rank != without;
                node.bcast(0, takes_part ? reinterpret_cast<std::byte*>(runs.data()) : nullptr,
                           elements * sizeof(RankRun));
                if (takes_part && without != 0 && runs.back().first != 0) ++wrong;
            }
    });
    EXPECT_EQ(wrong, 0);
}

// What was written before a barrier, without any care, is there after it: flat, and through leaders.
TEST_P(NodeCollectivesOf, MeetInBarriersThatOrderWhatTheyWrote) {
    const int ranks = GetParam();
    constexpr std::size_t buffer_bytes = 64 << 10;
    constexpr std::uint32_t rounds = 200;
    Notes<std::uint32_t> notes(ranks);
    std::atomic<int> early{0};
    run_ranks(Placement::one_node(ranks), buffer_bytes, ranks > 2, [&](NodeCollectives& node, int rank) {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            auto& all = notes.of[round % 2];
            if (round % static_cast<std::uint32_t>(ranks) == static_cast<std::uint32_t>(rank)) sched_yield();
            all[static_cast<std::size_t>(rank)] = round;
            node.barrier();
            for (const std::uint32_t each : all)
                if (each != round) ++early;
        }
    });
    EXPECT_EQ(early, 0);
}

// A rank that never waits, because it is always the last to come, drives what else there is all the same.
TEST(NodeCollectives, OfARankThatIsAlwaysLateDriveTheRest) {
    constexpr int rounds = 200;
    constexpr std::size_t buffer_bytes = 64 << 10;
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(2, buffer_bytes)), 0);
    const Placement placement = Placement::one_node(2);
    std::atomic<int> begun{0};
    std::atomic<int> polls{0};
    std::thread early([&] {
        NodeCollectives node(segment.data(), buffer_bytes, placement, 0,
                             Waiting(
                                 true, [](void*) { return 0; }, nullptr));
        for (int i = 0; i < rounds; ++i) {
            ++begun;
            node.barrier();
        }
    });
    const auto count = [](void* counter) {
        ++*static_cast<std::atomic<int>*>(counter);
        return 0;
    };
    NodeCollectives node(segment.data(), buffer_bytes, placement, 1, Waiting(true, count, &polls));
    for (int i = 0; i < rounds; ++i) {
        while (begun <= i) sched_yield();
        for (int yield = 0; yield < 5; ++yield) sched_yield();
        node.barrier();
    }
    early.join();
    EXPECT_GE(polls, rounds / 40);
}

TEST(NodeCollectives, OfARankThatWaitsLongSleepAndAreWoken) {
    const std::vector<Call> calls(3, Call{Call::allreduce, 0, 5, false, -1, 7});
    SharedSegment segment;
    constexpr std::size_t buffer_bytes = 64 << 10;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(2, buffer_bytes)), 0);
    const Placement placement = Placement::one_node(2);
    std::atomic<int> polls{0};
    const auto count = [](void* counter) {
        ++*static_cast<std::atomic<int>*>(counter);
        return 0;
    };
    const CombineRuns combine(true);
    std::thread early([&] {
        NodeCollectives node(segment.data(), buffer_bytes, placement, 0, Waiting(false, count, &polls));
        for (int i = 0; i < 3; ++i) {
            auto runs = operands(0, 5, 7);
            node.allreduce(reinterpret_cast<std::byte*>(runs.data()), reinterpret_cast<std::byte*>(runs.data()), 5,
                           combine);
            EXPECT_EQ(runs[4], (RankRun{0, 1, 11}));
        }
    });
    // More polls than there are yields: it sleeps, and drives what else there is in between.
    NodeCollectives node(segment.data(), buffer_bytes, placement, 1, Waiting(false, count, &polls));
    for (int i = 0; i < 3; ++i) {
        const int target = polls + 2100;
        while (polls < target) sched_yield();
        auto runs = operands(1, 5, 7);
        node.allreduce(reinterpret_cast<std::byte*>(runs.data()), reinterpret_cast<std::byte*>(runs.data()), 5,
                       combine);
    }
    early.join();
}

}  // namespace
}  // namespace hcoll::test
