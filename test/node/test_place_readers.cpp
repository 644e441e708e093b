// SPDX-License-Identifier: BSD-3-Clause
// Who may be reading what a rank wrote. Of collectives: one rank stops, before a call or within it, until all others have run as far ahead as they
// may; so a reader that is not noted finds something else than what it was given.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/place_readers.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll::test {
namespace {

TEST(PlaceReaders, AreThoseSinceTheUsesThatAreOver) {
    constexpr int ranks = 130;
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 300; ++round) {
        PlaceReaders readers(ranks, false);
        std::vector<std::set<int>> read;          // by use
        std::array<std::uint64_t, ranks> done{};  // uses, of each rank
        const auto add = [&] {
            read.emplace_back();
            for (std::size_t i = random() % 4; i > 0; --i) {
                const auto rank = static_cast<int>(random() % ranks);
                readers.add(rank);
                read.back().insert(rank);
            }
        };
        for (std::uint64_t use = 0; use < 100; ++use) {
            const bool before = random() % 4 == 0;  // whoever comes first
            if (before) add();
            if (random() % 8 == 0) {
                const std::uint64_t over = use - random() % (use + 1);
                for (std::uint64_t& uses : done) uses = std::max(uses, over);
                readers.learn(over);
            }
            if (random() % 4 == 0) {
                const std::uint64_t over = use - random() % (use + 1);
                std::set<int> visited;
                const std::uint64_t known = readers.known();
                readers.settle(use, [&](int rank) {
                    visited.insert(rank);
                    std::uint64_t& uses = done.at(static_cast<std::size_t>(rank));
                    return uses = std::max(uses, over + random() % 3);
                });
                for (std::uint64_t each = known; each < use; ++each)
                    for (const int rank : read[each]) ASSERT_TRUE(visited.count(rank)) << "use " << each;
                for (std::uint64_t each = 0; each < readers.known(); ++each)
                    for (const int rank : read[each]) ASSERT_GT(done.at(static_cast<std::size_t>(rank)), each);
                ASSERT_LE(readers.known(), use);
            }
            if (!before) add();
        }
    }
}

TEST(PlaceReaders, AreForgottenOnceTheyAreDone) {
    PlaceReaders readers(10, false);
    int visits = 0;
    const auto look = [&](std::uint64_t now) {
        visits = 0;
        readers.settle(now, [&](int) { return ++visits, now; });
    };
    readers.add_all();
    look(1);
    EXPECT_EQ(visits, 10);
    readers.add(3);
    look(2);  // those of the use before may have been looked at too early
    EXPECT_EQ(visits, 10);
    readers.add(3);
    look(3);
    EXPECT_EQ(visits, 1);
    look(4);
    EXPECT_EQ(visits, 1);
    look(5);
    EXPECT_EQ(visits, 0);
    PlaceReaders anybody(10, true);
    anybody.settle(5, [&](int) { return ++visits, 5; });
    EXPECT_EQ(visits, 10);
}

// ---- collectives ----

constexpr std::size_t buffer_bytes = 64 << 10;

struct Call {
    enum Kind { bcast, reduce, allreduce, gather, scatter, allgather, kinds } kind;
    int root;
    std::size_t bytes;
};

std::string text_of(const Call& call) {
    const char* names[] = {"bcast", "reduce", "allreduce", "gather", "scatter", "allgather"};
    return std::string(names[call.kind]) + " of " + std::to_string(call.bytes) + " bytes, root " +
           std::to_string(call.root);
}

std::byte value_of(int rank, std::size_t number) {
    return static_cast<std::byte>(static_cast<std::size_t>(rank) * 7 + number * 13 + 1);
}

// All ranks wait, but for one that says when that is: whoever waits drives what else is under way, again and again.
class Others {
public:
    explicit Others(int ranks) : waits_(static_cast<std::size_t>(ranks)) {}
    void waits(int rank) { ++waits_[at(rank)]; }
    void goes_on(int rank) { waits_[at(rank)] = 0; }
    void is_over(int rank) { waits_[at(rank)] = over; }
    // Until all but `rank` wait. That one of them does so without need is all that can be wrong.
    void run_ahead_of(int rank) const {
        for (std::size_t each = 0; each < waits_.size(); ++each)
            while (each != at(rank) && waits_[each] < waits_enough) sched_yield();
    }

private:
    static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
    static constexpr int waits_enough = 3;
    static constexpr int over = 1 << 30;
    std::vector<std::atomic<int>> waits_;
};

// A buffer, and an operation, at which a rank may stop.
class Stop {
public:
    Stop(const Others& others, int rank) : others_(&others), rank_(rank) {}
    void arm() { is_armed_ = true; }
    void here() {
        if (!is_armed_) return;
        is_armed_ = false;
        others_->run_ahead_of(rank_);
    }

private:
    const Others* others_;
    int rank_;
    bool is_armed_ = false;
};

class Memory : public ScatteredBytes {
public:
    Memory(std::size_t bytes, Stop& stop) : bytes_(bytes), stop_(&stop) {}
    void read(const std::byte* from, std::uint64_t bytes, std::byte* to) const override {
        stop_->here();
        std::copy_n(from, bytes, to);
    }
    void write(const std::byte* from, std::uint64_t bytes, std::byte* to) const override {
        stop_->here();
        std::copy_n(from, bytes, to);
    }
    NodeBuffer buffer() { return {bytes_.data(), bytes_.size(), this}; }
    std::vector<std::byte>& bytes() { return bytes_; }

private:
    std::vector<std::byte> bytes_;
    Stop* stop_;
};

struct Add : Combine {
    explicit Add(Stop& stop_here) : Combine(1), stop(&stop_here) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result, std::size_t n) const override {
        stop->here();
        for (std::size_t i = 0; i < n; ++i)
            result[i] =
                static_cast<std::byte>(std::to_integer<unsigned>(left[i]) + std::to_integer<unsigned>(right[i]));
    }
    Stop* stop;
};

// What was wrong, or nothing.
std::string run(NodeCollectives& node, const Call& call, std::size_t number, int rank, int ranks, Stop& stop) {
    const bool is_root = rank == call.root;
    const bool has_whole = is_root || call.kind == Call::allgather;
    const std::byte mine = value_of(rank, number);
    const auto are = [](const std::vector<std::byte>& bytes, std::byte value) {
        return std::all_of(bytes.begin(), bytes.end(), [&](std::byte each) { return each == value; });
    };
    if (call.kind == Call::bcast) {
        Memory memory(call.bytes, stop);
        if (is_root) std::fill(memory.bytes().begin(), memory.bytes().end(), mine);
        node.bcast(call.root, memory.buffer().data, call.bytes, NodeCollectives::never, &memory);
        return are(memory.bytes(), value_of(call.root, number)) ? "" : "is wrong";
    }
    if (call.kind == Call::reduce || call.kind == Call::allreduce) {
        std::vector<std::byte> input(call.bytes, mine);
        std::vector<std::byte> output(call.bytes);
        const Add add(stop);
        if (call.kind == Call::reduce)
            node.reduce(call.root, input.data(), output.data(), call.bytes, add);
        else
            node.allreduce(input.data(), output.data(), call.bytes, add);
        unsigned sum = 0;
        for (int each = 0; each < ranks; ++each) sum += std::to_integer<unsigned>(value_of(each, number));
        return (call.kind == Call::reduce && !is_root) || are(output, static_cast<std::byte>(sum)) ? "" : "is wrong";
    }
    Memory portion(call.bytes, stop);
    Memory whole(has_whole ? call.bytes * static_cast<std::size_t>(ranks) : 0, stop);
    const NodeBuffer all = has_whole ? whole.buffer() : NodeBuffer(nullptr, 0);
    std::fill(portion.bytes().begin(), portion.bytes().end(), mine);
    const auto portions = [&](auto&& visit) {
        for (std::size_t i = 0; i < whole.bytes().size(); ++i)
            visit(whole.bytes()[i], value_of(static_cast<int>(i / call.bytes), number));
    };
    if (call.kind == Call::scatter) {
        portions([](std::byte& byte, std::byte value) { byte = value; });
        std::fill(portion.bytes().begin(), portion.bytes().end(), std::byte{0});
        node.scatter(call.root, all, portion.buffer(), call.bytes);
        return are(portion.bytes(), mine) ? "" : "is wrong";
    }
    if (call.kind == Call::gather)
        node.gather(call.root, portion.buffer(), all, call.bytes);
    else
        node.allgather(portion.buffer(), all, call.bytes);
    bool is_right = true;
    portions([&](std::byte byte, std::byte value) { is_right &= byte == value; });
    return is_right ? "" : "is wrong";
}

struct Row {
    std::vector<Call> calls;
    std::vector<bool> stops_before;  // the rank that stops does so before the call; else,
    std::vector<bool> stops_within;  // where it reads or combines the first time
    int stops;
};

Row random_row(int ranks, std::mt19937_64& random) {
    const std::array<std::size_t, 4> sizes{8, 500, 3'000, 12'000};
    const auto any = [&] {
        return Call{static_cast<Call::Kind>(random() % Call::kinds), static_cast<int>(random() % ranks),
                    sizes.at(random() % sizes.size())};
    };
    Row row{{}, {}, {}, static_cast<int>(random() % ranks)};
    const auto add = [&](const Call& call, std::size_t how) {
        row.calls.push_back(call);
        row.stops_before.push_back(how == 1);
        row.stops_within.push_back(how == 2);
    };
    for (int part = 0; part < 3; ++part) {
        // After what nobody has without all others, often what one gives to others.
        Call first = any();
        Call again = any();
        if (random() % 2 == 0) {
            first.kind = random() % 2 == 0 ? Call::allgather : Call::allreduce;
            again.kind = random() % 2 == 0 ? Call::bcast : Call::scatter;
            again.bytes = first.bytes;
        }
        add(first, random() % 3);
        // So many that all rings are used again. Whoever all wait for in each of them holds the others back.
        for (std::size_t i = 0; i < 70; ++i) add(again, i % 35 == 0 ? random() % 3 : 0);
    }
    return row;
}

std::string run_row(const Placement& placement, bool oversubscribed, const Row& row) {
    const int ranks = placement.ranks();
    SharedSegment segment;
    if (segment.create(NodeCollectives::segment_bytes(ranks, buffer_bytes)) != 0) return "no memory";
    Others others(ranks);
    std::vector<std::string> problems(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            struct Self {
                Others* others;
                int rank;
            } self{&others, rank};
            const auto waits = [](void* context) {
                const auto* of = static_cast<Self*>(context);
                of->others->waits(of->rank);
                return 0;
            };
            NodeCollectives node(segment.data(), buffer_bytes, placement, rank, Waiting(oversubscribed, waits, &self));
            Stop stop(others, rank);
            std::string& problem = problems[static_cast<std::size_t>(rank)];
            try {
                for (std::size_t i = 0; i < row.calls.size(); ++i) {
                    if (rank == row.stops && row.stops_before[i]) others.run_ahead_of(rank);
                    if (rank == row.stops && row.stops_within[i]) stop.arm();
                    const std::string found = run(node, row.calls[i], i, rank, ranks, stop);
                    others.goes_on(rank);
                    if (!found.empty() && problem.empty())
                        problem = "call " + std::to_string(i) + ", " + text_of(row.calls[i]) + " " + found;
                }
            } catch (const NodeFailure&) {
                // The others would wait for ever.
                std::fprintf(stderr, "rank %d (rank %d stops) gave up\n", rank, row.stops);
                std::abort();
            }
            others.is_over(rank);
        });
    for (std::thread& thread : threads) thread.join();
    for (int rank = 0; rank < ranks; ++rank)
        if (const std::string& problem = problems[static_cast<std::size_t>(rank)]; !problem.empty())
            return "rank " + std::to_string(rank) + " (rank " + std::to_string(row.stops) + " stops), " + problem;
    return "";
}

TEST(PlaceReaders, OfCollectivesAreAllOfThem) {
    constexpr int ranks = 20;
    std::mt19937_64 random(test_seed());
    for (std::size_t round = 0; round < random_calls; ++round) {
        std::vector<Seat> seats;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::array<int, 3> caches{static_cast<int>(random() % 7), rank * 6 / ranks, 0};
            const int cache = caches.at(round % 3);
            seats.push_back({.node = 0, .socket = cache / 2, .package = cache / 4, .cache = cache});
        }
        ASSERT_EQ(run_row(Placement(seats), round % 2 == 0, random_row(ranks, random)), "") << "round " << round;
    }
}

// A reader that comes to each look of who writes just in time, and is in its last call when others write.
TEST(PlaceReaders, WhoIsJustInTimeStaysOne) {
    constexpr int ranks = 20;
    constexpr int reader = 5;
    constexpr std::size_t bytes = 3'000;
    constexpr std::size_t gathers = 17;
    Row row{{}, {}, {}, reader};
    for (std::size_t i = 0; i < gathers + 16; ++i) {
        row.calls.push_back(i < gathers ? Call{Call::gather, reader, bytes} : Call{Call::bcast, 0, bytes});
        row.stops_before.push_back(false);
        row.stops_within.push_back(i < gathers && i > 0 && i % 4 == 0);
    }
    EXPECT_EQ(run_row(Placement::one_node(ranks), true, row), "");
}

}  // namespace
}  // namespace hcoll::test
