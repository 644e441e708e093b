// SPDX-License-Identifier: BSD-3-Clause
// Gather, Scatter and Allgather over shared memory, with threads as ranks: random calls one after another, between other collectives, with nothing
// between them, so that ranks run ahead of one another as far as they may. Portions lie in the whole or not, side by side or with gaps, travel in slots,
// through groups and blocks or are copied once, and copies fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "every_third.hpp"
#include "failing_memory.hpp"
#include "rank_threads.hpp"

namespace hcoll::test {
namespace {

constexpr std::size_t buffer_bytes = 64 << 10;

struct Call {
    enum Kind { gather, scatter, allgather, bcast, reduce, barrier, kinds } kind;
    int root;
    std::size_t bytes;
    unsigned scattered_on;  // a bit for each rank, modulo their number
    bool in_place;
    int late_rank;  // yields for a while before
    std::size_t single_copy_from;
    std::size_t salt;
};

std::string text_of(const Call& call) {
    const char* names[] = {"gather", "scatter", "allgather", "bcast", "reduce", "barrier"};
    return std::string(names[call.kind]) + " of " + std::to_string(call.bytes) + " bytes, root " +
           std::to_string(call.root) + (call.in_place ? ", in place" : "") +
           (call.single_copy_from != NodeCollectives::never ? ", copied once" : "");
}

std::byte pattern(std::size_t rank, std::size_t i, std::size_t salt) {
    return static_cast<std::byte>((i * 7 + rank * 31 + salt) ^ (i >> 8U) ^ (rank >> 3U));
}

// A rank's side of a call: bytes side by side or with gaps, with bytes behind them that stay as they are.
class Memory {
public:
    Memory(std::size_t bytes, bool is_scattered)
        : bytes_(bytes),
          memory_(bytes + 64, untouched),
          scattered_(is_scattered ? bytes : 0),
          is_scattered_(is_scattered) {}
    void fill(std::size_t rank, std::size_t begin, std::size_t bytes, std::size_t salt) {
        for (std::size_t i = 0; i < bytes; ++i) memory_[begin + i] = pattern(rank, i, salt);
        if (is_scattered_) scattered_.write(memory_.data() + begin, bytes, scattered_.address() + begin);
    }
    NodeBuffer buffer(std::size_t begin, std::size_t bytes) {
        if (is_scattered_) return {scattered_.address() + begin, bytes, &scattered_};
        return {memory_.data() + begin, bytes};
    }
    NodeBuffer buffer() { return buffer(0, bytes_); }
    void read() {
        if (is_scattered_) scattered_.read(scattered_.address(), bytes_, memory_.data());
    }
    bool has(std::size_t rank, std::size_t begin, std::size_t bytes, std::size_t salt) const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (memory_[begin + i] != pattern(rank, i, salt)) return false;
        return true;
    }
    bool is_whole_behind() const {
        return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(bytes_), memory_.end(),
                           [](std::byte each) { return each == untouched; }) &&
               (!is_scattered_ || scattered_.is_untouched_between());
    }

private:
    std::size_t bytes_;
    std::vector<std::byte> memory_;
    EveryThird scattered_;
    bool is_scattered_;
};

struct Add : Combine {
    Add() : Combine(1) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result, std::size_t n) const override {
        for (std::size_t i = 0; i < n; ++i)
            result[i] =
                static_cast<std::byte>(std::to_integer<unsigned>(left[i]) + std::to_integer<unsigned>(right[i]));
    }
};

class Rank {
public:
    Rank(NodeCollectives& node, int rank, int ranks) : node_(node), rank_(rank), ranks_(ranks) {}

    // What was wrong, or nothing.
    std::string run(const Call& call) {
        if (call.late_rank == rank_) come_late();
        switch (call.kind) {
            case Call::barrier: node_.barrier(); return "";
            case Call::bcast: return bcast(call);
            case Call::reduce: return reduce(call);
            default: return move_portions(call);
        }
    }

private:
    bool is_scattered(const Call& call, unsigned salt) const {
        return (call.scattered_on >> ((static_cast<unsigned>(rank_) * 5 + salt) % 32) & 1U) != 0;
    }
    std::string bcast(const Call& call) {
        Memory memory(call.bytes, is_scattered(call, 0));
        if (rank_ == call.root) memory.fill(0, 0, call.bytes, call.salt);
        const NodeBuffer buffer = memory.buffer();
        node_.bcast(call.root, buffer.data, call.bytes, call.single_copy_from, buffer.scattered);
        memory.read();
        return memory.has(0, 0, call.bytes, call.salt) && memory.is_whole_behind() ? "" : "is wrong";
    }
    std::string reduce(const Call& call) {
        std::vector<std::byte> input(call.bytes, std::byte{1});
        std::vector<std::byte> output(call.bytes);
        node_.reduce(call.root, input.data(), output.data(), call.bytes, Add(), call.single_copy_from);
        const auto sum = static_cast<std::byte>(ranks_);
        const bool is_right = rank_ != call.root ||
                              std::all_of(output.begin(), output.end(), [&](std::byte each) { return each == sum; });
        return is_right ? "" : "is wrong";
    }
    std::string move_portions(const Call& call) {
        const auto own = static_cast<std::size_t>(rank_);
        const auto all = static_cast<std::size_t>(ranks_);
        const bool is_scatter = call.kind == Call::scatter;
        const bool has_whole = call.kind == Call::allgather || rank_ == call.root;
        const bool in_place = call.in_place && has_whole;
        Memory whole(has_whole ? all * call.bytes : 0, has_whole && is_scattered(call, 0));
        Memory portion(call.bytes, is_scattered(call, 1));
        if (is_scatter && has_whole)
            for (std::size_t each = 0; each < all; ++each) whole.fill(each, each * call.bytes, call.bytes, call.salt);
        if (!is_scatter) (in_place ? whole : portion).fill(own, in_place ? own * call.bytes : 0, call.bytes, call.salt);
        const NodeBuffer given = in_place ? whole.buffer(own * call.bytes, call.bytes) : portion.buffer();
        const NodeBuffer all_of_it = has_whole ? whole.buffer() : NodeBuffer(nullptr, 0);
        if (call.kind == Call::gather)
            node_.gather(call.root, given, all_of_it, call.bytes, call.single_copy_from);
        else if (is_scatter)
            node_.scatter(call.root, all_of_it, given, call.bytes, call.single_copy_from);
        else
            node_.allgather(given, all_of_it, call.bytes, call.single_copy_from);
        whole.read();
        portion.read();
        for (std::size_t each = 0; has_whole && each < all; ++each)
            if (!whole.has(each, each * call.bytes, call.bytes, call.salt))
                return "has a wrong portion of rank " + std::to_string(each);
        if (!in_place && !portion.has(own, 0, call.bytes, call.salt)) return "has a wrong portion of its own";
        return whole.is_whole_behind() && portion.is_whole_behind() ? "" : "wrote where nothing is to be written";
    }

    NodeCollectives& node_;
    int rank_;
    int ranks_;
};

// Around every boundary between two ways: of slots, of wholes that are short, of blocks.
std::vector<std::size_t> sizes(int ranks) {
    constexpr std::size_t block = buffer_bytes / NodeCollectives::depth;
    const std::size_t whole = NodeCollectives::short_bytes / static_cast<std::size_t>(ranks);
    std::vector<std::size_t> found = {
        1, 8, 100, 3 * block / 2, 3 * NodeCollectives::short_bytes, (NodeCollectives::depth + 2) * block + 3};
    for (const std::size_t edge :
         {NodeCollectives::line_bytes, std::size_t{960}, whole, NodeCollectives::short_bytes, 3 * block})
        for (const std::size_t each : {edge - 1, edge, edge + 1}) found.push_back(each);
    return found;
}

std::vector<Call> random_row(int ranks, std::mt19937_64& random, bool copies) {
    std::vector<Call> calls;
    const auto add = [&](Call::Kind kind, std::size_t bytes) {
        calls.push_back({.kind = kind,
                         .root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks)),
                         .bytes = bytes,
                         .scattered_on = random() % 2 == 0 ? 0 : static_cast<unsigned>(random()),
                         .in_place = random() % 2 == 0,
                         .late_rank = static_cast<int>(random() % 8),
                         .single_copy_from = copies && random() % 4 != 0 ? 1 : NodeCollectives::never,
                         .salt = random() % 256});
    };
    for (const std::size_t bytes : sizes(ranks))
        for (const Call::Kind kind : {Call::gather, Call::scatter, Call::allgather}) {
            add(kind, bytes);
            if (ranks <= NodeCollectives::flat_ranks) add(kind, bytes);
        }
    for (std::size_t i = 0; i < random_calls / 3; ++i)
        add(static_cast<Call::Kind>(random() % Call::kinds), 1 + random() % (random() % 3 == 0 ? 30'000 : 300));
    if (copies) {  // where everybody copies, whatever else is drawn
        add(Call::allgather, 3 * NodeCollectives::short_bytes);
        calls.back().single_copy_from = 1;
    }
    std::shuffle(calls.begin(), calls.end(), random);
    // Rows of equal short calls, in which places are used again.
    for (const Call::Kind kind : {Call::gather, Call::scatter, Call::allgather})
        for (std::size_t i = 0; i < random_calls; ++i) add(kind, 1 + i % 3 * 30);
    return calls;
}

void run_calls(
    const Placement& placement, const std::vector<Call>& calls, bool oversubscribed,
    const std::function<bool(NodeCollectives&, int)>& prepare = [](NodeCollectives&, int) { return true; }) {
    const int ranks = placement.ranks();
    std::vector<std::string> problems(static_cast<std::size_t>(ranks));
    std::atomic<int> refused{0};
    run_ranks(placement, buffer_bytes, oversubscribed, [&](NodeCollectives& node, int rank) {
        if (!prepare(node, rank)) {
            ++refused;
            return;
        }
        Rank self(node, rank, ranks);
        std::string& problem = problems[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < calls.size(); ++i)
            if (const std::string found = self.run(calls[i]); !found.empty() && problem.empty())
                problem = "call " + std::to_string(i) + ", " + text_of(calls[i]) + ", " + found;
    });
    if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
    for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(problems[static_cast<std::size_t>(rank)], "") << "rank " << rank << " of " << ranks;
}

// Both ways in turn; of XPMEM there is one here (test/support/xpmem.c).
std::unique_ptr<PeerMemory> peer_memory(int ranks) {
    return ranks % 2 == 0 ? make_cma_memory(ranks) : make_xpmem_memory(ranks);
}

class PortionsOf : public testing::TestWithParam<int> {};

TEST_P(PortionsOf, ArriveWhoeverIsLate) {
    const int ranks = GetParam();
    std::mt19937_64 random(test_seed());
    const std::vector<Call> calls = random_row(ranks, random, false);
    run_calls(Placement::one_node(ranks), calls, ranks > 2);
    if (ranks <= NodeCollectives::flat_ranks) {
        // One group, in another order than the ranks'.
        std::vector<Seat> seats;
        for (int rank = 0; rank < ranks; ++rank) seats.push_back({.node = 0, .socket = rank % 2});
        return run_calls(Placement(seats), calls, true);
    }
    for (const Placement& each : uneven_placements(ranks)) run_calls(each, calls, true);
}

TEST_P(PortionsOf, ArriveWhereTheyAreCopiedOnce) {
    const int ranks = GetParam();
    std::mt19937_64 random(test_seed());
    const std::vector<Call> calls = random_row(ranks, random, true);
    run_calls(Placement::one_node(ranks), calls, ranks > 2,
              [&](NodeCollectives& node, int) { return node.use_single_copy(peer_memory(ranks)); });
}

TEST_P(PortionsOf, ArriveWhereCopiesFail) {
    const int ranks = GetParam();
    const std::uint64_t seed = test_seed();
    std::mt19937_64 random(seed);
    const std::vector<Call> calls = random_row(ranks, random, true);
    std::atomic<bool> is_armed{false};
    std::atomic<int> failures{0};
    run_calls(Placement::one_node(ranks), calls, true, [&](NodeCollectives& node, int rank) {
        const bool is_proven = node.use_single_copy(std::make_shared<FailingMemory>(
            peer_memory(ranks), seed + static_cast<std::uint64_t>(rank), is_armed, failures));
        is_armed = true;
        return is_proven;
    });
    if (IsSkipped()) return;
    EXPECT_GT(failures, 0);
}

std::vector<int> numbers_of_ranks() {
    std::vector<int> numbers;
    for (const int ranks : {2, 3, 5, 8, 9, 12, 17, 27})
        if (ranks <= sweep_ranks / 2) numbers.push_back(ranks);  // see there
    return numbers;
}
INSTANTIATE_TEST_SUITE_P(Ranks, PortionsOf, testing::ValuesIn(numbers_of_ranks()));

// Without memory a rank takes part all the same, and the next calls are right.
TEST(Portions, OfARankThatHasNoMemoryKeepTheOthersInStep) {
    constexpr int ranks = 10;
    std::vector<std::string> problems(ranks);
    run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int rank) {
        const NodeBuffer nothing(nullptr, 0);
        Rank self(node, rank, ranks);
        for (int without = 0; without < ranks; ++without)
            for (const std::size_t bytes : {std::size_t{3}, std::size_t{900}, std::size_t{5'000}, std::size_t{30'000}})
                for (const Call::Kind kind : {Call::gather, Call::scatter, Call::allgather}) {
                    std::vector<std::byte> portion(bytes);
                    std::vector<std::byte> whole(ranks * bytes);
                    const NodeBuffer own = rank == without ? nothing : NodeBuffer(portion.data(), bytes);
                    const NodeBuffer all = rank == without ? nothing : NodeBuffer(whole.data(), whole.size());
                    if (kind == Call::gather) node.gather(0, own, rank == 0 ? all : nothing, bytes);
                    if (kind == Call::scatter) node.scatter(0, rank == 0 ? all : nothing, own, bytes);
                    if (kind == Call::allgather) node.allgather(own, all, bytes);
                    const std::string found = self.run({kind, 1, bytes, 0, false, -1, NodeCollectives::never, bytes});
                    if (!found.empty()) problems[static_cast<std::size_t>(rank)] = found;
                }
    });
    for (const std::string& each : problems) EXPECT_EQ(each, "");
}

// A root that takes its time, so that others could go on meanwhile.
class LateBytes : public EveryThird {
public:
    using EveryThird::EveryThird;
    void write(const std::byte* source, std::uint64_t bytes, std::byte* target) const override {
        come_late(std::chrono::milliseconds(1));
        EveryThird::write(source, bytes, target);
    }
};

// No portion can be copied to a root's elements with gaps. While it takes that of rank 1 from a block, rank 2 comes to a Bcast of its own that is not
// copied either: what its desk says of the Gather must stay until the root has read it.
TEST(Portions, ThatAreNotCopiedAreKnownUntilTheRootHasThem) {
    constexpr int ranks = 3;
    constexpr std::size_t bytes = 2 * NodeCollectives::short_bytes;
    std::atomic<int> refused{0};
    std::vector<std::string> problems(ranks);
    run_ranks(Placement::one_node(ranks), buffer_bytes, true, [&](NodeCollectives& node, int rank) {
        if (!node.use_single_copy(make_cma_memory(ranks))) {
            ++refused;
            return;
        }
        Rank self(node, rank, ranks);
        for (std::size_t salt = 0; salt < 20; ++salt) {
            Memory portion(bytes, false);
            portion.fill(static_cast<std::size_t>(rank), 0, bytes, salt);
            const LateBytes late(rank == 0 ? ranks * bytes : 0);
            node.gather(0, portion.buffer(),
                        rank == 0 ? NodeBuffer(late.address(), ranks * bytes, &late) : NodeBuffer(nullptr, 0), bytes,
                        1);
            std::string found = self.run({Call::bcast, 2, bytes, ~0U, false, -1, 1, salt});
            Memory whole(ranks * bytes, false);
            if (rank == 0) {
                late.read(late.address(), ranks * bytes, whole.buffer().data);
                for (std::size_t each = 0; each < ranks; ++each)
                    if (!whole.has(each, each * bytes, bytes, salt))
                        found = "wrong portion of rank " + std::to_string(each);
            }
            if (!found.empty()) problems[static_cast<std::size_t>(rank)] = found;
        }
    });
    if (refused != 0) GTEST_SKIP() << "the system lets no process read another one's memory";
    for (const std::string& each : problems) EXPECT_EQ(each, "");
}

}  // namespace
}  // namespace hcoll::test
