// SPDX-License-Identifier: BSD-3-Clause
// Plans in the background, with threads as ranks: many in flight on every rank, moved by its progress thread and by itself, so
// that a sanitizer sees all who touch them.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <csignal>
#include <ctime>

#include <cstring>
#include <deque>
#include <map>
#include <thread>
#include <tuple>

#include "../support/seed.hpp"
#include "progress/background/callers_part.hpp"
#include "progress/background/in_flight.hpp"
#include "progress/background/progress_thread.hpp"
#include "progress/engine/engine.hpp"
#include "random_cases.hpp"

namespace hcoll::test {
namespace {

// What is between all ranks: messages by collective, sender, receiver and tag.
class Post {
public:
    using Address = std::tuple<std::size_t, int, int, std::uint32_t>;

    void put(const Address& address, std::vector<std::byte> message) {
        const std::lock_guard lock(mutex_);
        messages_[address].push_back(std::move(message));
    }
    bool take(const Address& address, std::byte* target) {
        const std::lock_guard lock(mutex_);
        const auto found = messages_.find(address);
        if (found == messages_.end() || found->second.empty()) return false;
        std::memcpy(target, found->second.front().data(), found->second.front().size());
        found->second.pop_front();
        return true;
    }

private:
    std::mutex mutex_;
    std::map<Address, std::deque<std::vector<std::byte>>> messages_;
};

class PostTransport : public Transport {
public:
    PostTransport(Post& post, std::size_t number, int rank) : post_(post), number_(number), rank_(rank) {}
    Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) override {
        post_.put({number_, rank_, peer, tag}, {data, data + units * sizeof(Operand)});
        sent_.push_back(token);
        return 0;
    }
    Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t, Token token) override {
        waiting_.push_back({{number_, peer, rank_, tag}, data, token});
        return 0;
    }
    Status collective(Collective, int, std::uint64_t, const std::byte*, std::byte*, std::uint64_t, Token) override {
        return 1;
    }
    Status progress(std::vector<Token>& completed) override {
        completed.insert(completed.end(), sent_.begin(), sent_.end());
        sent_.clear();
        std::erase_if(waiting_, [&](const Waiting& each) {
            const bool is_there = post_.take(each.address, each.target);
            if (is_there) completed.push_back(each.token);
            return is_there;
        });
        return 0;
    }

private:
    struct Waiting {
        Post::Address address;
        std::byte* target;
        Token token;
    };
    Post& post_;
    std::size_t number_;
    int rank_;
    std::vector<Token> sent_;
    std::vector<Waiting> waiting_;
};

class PlanOperation : public BackgroundOperation {
public:
    PlanOperation(Post& post, std::size_t number, const PlanCase& plan_case, SimulatedRank& self, int rank,
                  std::atomic<int>& done)
        : BackgroundOperation(self.plan.callers_part != CallersPart::none),
          transport_(post, number, rank),
          operations_(plan_case.ordered),
          self_(self),
          done_(done) {
        callers_turn_.begin(self_.plan, engine_);
    }
    bool is_callers_turn() const noexcept override { return callers_turn_.is_on(self_.plan, engine_); }
    bool advance(Part part, bool& has_moved) noexcept override {
        const std::uint64_t events = engine_.events();
        if (!is_started_) {
            is_started_ = true;
            scratch_.resize(self_.plan.scratch_units());
            const RunBuffers buffers{reinterpret_cast<const std::byte*>(self_.input.data()),
                                     reinterpret_cast<std::byte*>(self_.output.data()),
                                     reinterpret_cast<std::byte*>(scratch_.data()), sizeof(Operand)};
            has_failed_ = engine_.start(self_.plan, buffers, transport_, operations_, part) != 0;
        } else {
            has_failed_ = engine_.advance(part) != 0;
        }
        has_moved = has_moved || engine_.events() != events;
        if (!has_failed_ && !engine_.done()) return false;
        done_.fetch_add(has_failed_ ? 1'000'000 : 1, std::memory_order_release);
        return true;
    }

private:
    PostTransport transport_;
    OperandOperations operations_;
    SimulatedRank& self_;
    std::atomic<int>& done_;
    Engine engine_;
    CallersTurn callers_turn_;
    std::vector<Operand> scratch_;
    bool is_started_ = false;
    bool has_failed_ = false;
};

struct Job {
    std::vector<PlanCase> cases;
    std::vector<PreparedCase> prepared;
};

// Begins all of them, and waits for them now and then. Returns false where one has failed.
bool run_rank(Job& job, Post& post, int rank, bool has_thread, bool helps) {
    InFlight in_flight;
    std::unique_ptr<ProgressThread> thread;
    if (has_thread) thread = std::make_unique<ProgressThread>(in_flight, std::vector<int>{}, rank % 2 == 0);
    std::mt19937_64 random(test_seed() + static_cast<std::uint64_t>(rank));
    std::atomic<int> done{0};
    for (std::size_t i = 0; i < job.cases.size(); ++i) {
        SimulatedRank& self = job.prepared[i].ranks[static_cast<std::size_t>(rank)];
        auto operation = std::make_unique<PlanOperation>(post, i, job.cases[i], self, rank, done);
        if (const auto patience = callers_patience(self.plan, sizeof(Operand)); patience.count() != 0)
            in_flight.add_and_lead(std::move(operation), patience);
        else
            in_flight.add(std::move(operation));
        if (helps && random() % 2 == 0) in_flight.drive();
        if (random() % 16 != 0 && i + 1 != job.cases.size()) continue;
        while (done.load(std::memory_order_acquire) < static_cast<int>(i) + 1)
            if (!helps || !in_flight.drive()) sched_yield();
    }
    while (in_flight.any()) sched_yield();
    return done == static_cast<int>(job.cases.size());
}

TEST(InBackground, ManyPlansAtATimeGiveTheRightResults) {
    constexpr int ranks = 4;
    std::mt19937_64 random(test_seed());
    for (const bool has_thread : {true, false})
        for (const bool helps : {true, false}) {
            if (!has_thread && !helps) continue;
            Job job;
            while (job.cases.size() < 120) {
                job.cases.push_back(random_case(ranks, 32, random));
                job.prepared.push_back(prepare(job.cases.back(), build_plans(job.cases.back())));
            }
            Post post;
            std::vector<std::thread> threads;
            std::array<bool, ranks> is_well{};
            for (int rank = 0; rank < ranks; ++rank)
                threads.emplace_back([&, rank] {
                    is_well[static_cast<std::size_t>(rank)] = run_rank(job, post, rank, has_thread, helps);
                });
            for (std::thread& each : threads) each.join();
            for (const bool each : is_well) ASSERT_TRUE(each);
            for (std::size_t i = 0; i < job.cases.size(); ++i) {
                const auto defect = compare(job.cases[i], job.prepared[i]);
                ASSERT_FALSE(defect) << job.cases[i].name() << ": " << *defect;
            }
        }
}

// What a step of an operation finds out about who runs it.
class Look : public BackgroundOperation {
public:
    struct Found {
        std::atomic<bool> done{false};
        bool blocks_signals = false;
        int cores = 0;
    };
    explicit Look(Found& found) : found_(found) {}
    bool advance(Part, bool&) noexcept override {
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        found_.blocks_signals = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGUSR1) == 1;
        cpu_set_t set;
        CPU_ZERO(&set);
        sched_getaffinity(0, sizeof set, &set);
        found_.cores = CPU_COUNT(&set);
        found_.done.store(true, std::memory_order_release);
        return true;
    }

private:
    Found& found_;
};

TEST(InBackground, TheThreadTakesNoSignalsAndKeepsToItsCores) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    int core = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(core), &mine)) ++core;
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);

    InFlight in_flight;
    ProgressThread thread(in_flight, {core}, false);
    EXPECT_TRUE(thread.is_bound());
    Look::Found found;
    in_flight.add(std::make_unique<Look>(found));
    while (!found.done.load(std::memory_order_acquire)) sched_yield();
    EXPECT_TRUE(found.blocks_signals);
    EXPECT_EQ(found.cores, 1);

    sigset_t after;
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM)) << "the maker's own signals";
}

// A process of sessions has a thread after the other: each sleeps while there is nothing to move.
TEST(InBackground, ASecondThreadSleeps) {
    InFlight in_flight;
    { const ProgressThread first(in_flight, {}, false); }
    const ProgressThread second(in_flight, {}, false);
    const auto used = [] {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
    };
    const auto before = used();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_LT(used() - before, 30'000'000);
}

TEST(InBackground, CoresThatDoNotExistBindNothing) {
    InFlight in_flight;
    ProgressThread thread(in_flight, {CPU_SETSIZE - 1}, false);
    EXPECT_FALSE(thread.is_bound());
}

// What the background does by itself, and what callers do.
void expect_parts_apart(const PlanCase& plan_case) {
    const auto ranks = static_cast<std::size_t>(plan_case.ranks);
    PreparedCase prepared = prepare(plan_case, build_plans(plan_case));
    Post post;
    OperandOperations operations(false);
    std::deque<PostTransport> transports;
    std::vector<Engine> engines(ranks);
    std::vector<std::vector<Operand>> scratch(ranks);
    const Part first = plan_case.algorithm->collective == Collective::bcast ? Part::background : Part::callers;
    for (std::size_t index = 0; index < ranks; ++index) {
        SimulatedRank& self = prepared.ranks[index];
        scratch[index].resize(self.plan.scratch_units());
        transports.emplace_back(post, 0, static_cast<int>(index));
        const RunBuffers buffers{reinterpret_cast<const std::byte*>(self.input.data()),
                                 reinterpret_cast<std::byte*>(self.output.data()),
                                 reinterpret_cast<std::byte*>(scratch[index].data()), sizeof(Operand)};
        ASSERT_EQ(engines[index].start(self.plan, buffers, transports.back(), operations, first), 0);
    }
    const auto events = [&](bool by_caller) {
        std::uint64_t sum = 0;
        for (const Engine& engine : engines) sum += engine.events(by_caller);
        return sum;
    };
    const auto instances = [&](bool by_caller) {
        std::uint64_t sum = 0;
        for (const SimulatedRank& each : prepared.ranks) sum += each.plan.instances(by_caller);
        return sum;
    };
    // Until nothing moves any more.
    const auto run = [&](Part part) {
        constexpr int rounds_in_vain = 10;
        std::uint64_t before = events(false) + events(true);
        for (int idle = 0; idle < rounds_in_vain; ++idle) {
            for (Engine& engine : engines) ASSERT_EQ(engine.done() ? 0 : engine.advance(part), 0);
            const std::uint64_t now = events(false) + events(true);
            if (now != before) idle = 0;
            before = now;
        }
    };
    run(first);
    const bool callers_begin = first == Part::callers;
    EXPECT_EQ(events(!callers_begin), 0U) << "one part has run the other";
    if (plan_case.parameters.pipeline.segment_bytes == 0) {
        EXPECT_EQ(events(callers_begin), instances(callers_begin));
    }
    for (int turn = 0; turn < 100; ++turn) {
        run(first == Part::background ? Part::callers : Part::background);
        run(first);
    }
    for (const bool by_caller : {false, true}) EXPECT_EQ(events(by_caller), instances(by_caller));
    const auto defect = compare(plan_case, prepared);
    EXPECT_FALSE(defect) << *defect;
}

// Eight ranks, of whose tree the last level is the callers'. In both collectives, along one tree and through two nodes of two
// sockets, that level is the messages between 0 and 1, 2 and 3, and so on.
TEST(InBackground, NeitherPartOfASplitTreeRunsTheOther) {
    for (const Collective collective : {Collective::bcast, Collective::reduce})
        for (const std::string_view name : {"split_tree", "han"})
            for (const std::uint64_t segment : {std::uint64_t{0}, 2 * sizeof(Operand)}) {
                PlanCase plan_case;
                plan_case.algorithm = find_algorithm(collective, name);
                plan_case.parameters = plan_case.algorithm->defaults;
                plan_case.parameters.split = 1;
                plan_case.parameters.pipeline.segment_bytes = segment;
                plan_case.layout = block_layout({4, 4}, 2);
                plan_case.ranks = 8;
                plan_case.units = 200;
                plan_case.unit_bytes = sizeof(Operand);
                expect_parts_apart(plan_case);
            }
}

// It is the callers' turn until they have moved it so many times; then it is one move of anybody else's.
class CallersOwn : public BackgroundOperation {
public:
    struct Moves {
        std::atomic<int> by_maker{0};
        std::atomic<int> by_others{0};
        std::atomic<bool> may_end{true};
    };
    CallersOwn(Moves& moves, int turns) : BackgroundOperation(true), moves_(moves), turns_(turns) {}
    bool advance(Part part, bool& has_moved) noexcept override {
        const bool is_maker = std::this_thread::get_id() == maker_;
        if (turns_ == 0 && !is_maker) return true;
        if (part == Part::background || !moves_.may_end || turns_ == 0) return false;
        has_moved = true;
        ++(is_maker ? moves_.by_maker : moves_.by_others);
        --turns_;
        return false;
    }
    bool is_callers_turn() const noexcept override { return turns_ > 0; }

private:
    Moves& moves_;
    int turns_;
    std::thread::id maker_ = std::this_thread::get_id();
};

TEST(InBackground, TheCallThatBeginsItRunsTheCallersPart) {
    InFlight in_flight;
    ProgressThread thread(in_flight, {}, false);
    CallersOwn::Moves moves;
    in_flight.add_and_lead(std::make_unique<CallersOwn>(moves, 100), std::chrono::hours(1));
    EXPECT_EQ(moves.by_maker, 100);
    while (in_flight.any()) sched_yield();
    EXPECT_EQ(moves.by_others, 0);
}

// The others of its tree may never come, or the application may never ask again.
TEST(InBackground, WhatNoCallerEndsIsTheThreadsAfterAWhile) {
    InFlight in_flight;
    ProgressThread thread(in_flight, {}, false);
    CallersOwn::Moves moves;
    in_flight.add(std::make_unique<CallersOwn>(moves, 1));
    EXPECT_TRUE(in_flight.any_with_callers_part());
    while (in_flight.any()) sched_yield();
    EXPECT_EQ(moves.by_maker, 0);
    EXPECT_EQ(moves.by_others, 1);
    EXPECT_FALSE(in_flight.any_with_callers_part());
}

// A call that has given up once shows that somebody is late: later ones lose no time with it, and have theirs again afterwards.
TEST(InBackground, ACallDoesNotWaitWhereAnEarlierOneHasGivenUp) {
    InFlight in_flight;
    auto thread = std::make_unique<ProgressThread>(in_flight, std::vector<int>{}, false);
    CallersOwn::Moves stuck;
    stuck.may_end = false;
    in_flight.add_and_lead(std::make_unique<CallersOwn>(stuck, 1), std::chrono::milliseconds(2));
    EXPECT_EQ(stuck.by_maker, 0);
    CallersOwn::Moves later;
    later.may_end = false;
    in_flight.add_and_lead(std::make_unique<CallersOwn>(later, 1), std::chrono::hours(1));
    EXPECT_TRUE(in_flight.any());
    stuck.may_end = true;
    later.may_end = true;
    while (in_flight.any()) sched_yield();
    thread.reset();

    CallersOwn::Moves again;
    in_flight.add_and_lead(std::make_unique<CallersOwn>(again, 3), std::chrono::hours(1));
    EXPECT_EQ(again.by_maker, 3);
    ProgressThread other(in_flight, {}, false);
    while (in_flight.any()) sched_yield();
}

TEST(InBackground, WhoDrivesInsideOfAnOperationIsTurnedAway) {
    struct Nested : BackgroundOperation {
        Nested(InFlight& list, bool& answer) : in_flight(list), inner(answer) {}
        bool advance(Part, bool&) noexcept override {
            inner = in_flight.drive();
            return true;
        }
        InFlight& in_flight;
        bool& inner;
    };
    InFlight in_flight;
    bool inner = true;
    in_flight.add(std::make_unique<Nested>(in_flight, inner));
    EXPECT_TRUE(in_flight.any());
    EXPECT_TRUE(in_flight.drive());
    EXPECT_FALSE(inner);
    EXPECT_FALSE(in_flight.any());
}

// At exit without MPI_Finalize the thread may be inside of MPI for ever.
TEST(InBackground, AThreadThatHangsIsLeftAlone) {
    struct Hang : BackgroundOperation {
        Hang(std::atomic<bool>& begin, std::atomic<bool>& end) : has_begun(begin), may_end(end) {}
        bool advance(Part, bool&) noexcept override {
            has_begun = true;
            while (!may_end) sched_yield();
            return true;
        }
        std::atomic<bool>& has_begun;
        std::atomic<bool>& may_end;
    };
    // They outlive the thread, wherever it is.
    static auto* in_flight = new InFlight;
    static std::atomic<bool> has_begun{false};
    static std::atomic<bool> may_end{false};
    static auto* thread = new ProgressThread(*in_flight, {}, false);
    in_flight->add(std::make_unique<Hang>(has_begun, may_end));
    while (!has_begun) sched_yield();
    thread->abandon();
    EXPECT_TRUE(in_flight->any());
    may_end = true;
    while (in_flight->any()) sched_yield();
}

}  // namespace
}  // namespace hcoll::test
