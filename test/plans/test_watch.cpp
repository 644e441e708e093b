// What ranks say of themselves while MPI hangs, and what is made of it (LIBHCOLL_WATCHDOG). Processes are threads here, each with sockets of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "watch/explain_hang.hpp"
#include "watch/watch_record.hpp"
#include "watch/watcher.hpp"

namespace hcoll {

namespace {

CallDescription allreduce() {
    CallDescription call{.collective = Collective::allreduce, .bytes = 4096};
    call.set_operation("MPI_SUM");
    return call;
}

RankState::Communicator world(int ranks, std::uint64_t entered) {
    return {.key = 7, .name = "MPI_COMM_WORLD", .entered = entered, .members = {{0, ranks, 1}}};
}

// In its `number`th collective of the world.
RankState in_collective(int rank, int ranks, std::uint64_t number, WaitNote::Wait wait = {},
                        std::string runs = "vendor") {
    RankState state{.rank = rank, .process = 100 + rank, .host = "n1"};
    state.communicators.push_back(world(ranks, number));
    state.calls.push_back({.communicator = 0,
                           .number = number,
                           .text = call_text(allreduce()),
                           .runs = std::move(runs),
                           .seconds = 10.0 + rank / 10.0,
                           .wait = wait});
    return state;
}

// In no call, after its `number`th collective.
RankState outside(int rank, int ranks, std::uint64_t number) {
    RankState state{.rank = rank, .process = 100 + rank, .host = "n2", .outside = 11};
    state.communicators.push_back(world(ranks, number));
    state.past.push_back({{.communicator = 0,
                           .number = number,
                           .text = "MPI_Bcast, root 0, 8 bytes on MPI_COMM_WORLD",
                           .seconds = 0.001},
                          11});
    return state;
}

std::string explained(const std::vector<RankState>& states) {
    std::vector<RankAnswer> answers;
    for (const RankState& state : states) answers.push_back({.rank = state.rank, .state = state});
    return explain_hang(answers, "why");
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(ExplainHang, NamesWhoHasNotCome) {
    std::vector<RankState> states;
    for (const int rank : {0, 1, 2, 3, 5}) states.push_back(in_collective(rank, 6, 812));
    states.insert(states.begin() + 4, outside(4, 6, 811));
    EXPECT_EQ(explained(states),
              "why. 6 ranks:\n"
              "  ranks 0-3, 5: in MPI_Allreduce of MPI_SUM, 4096 bytes, the 812th collective on MPI_COMM_WORLD, inside "
              "the MPI library, for 10 s; rank 4 has not come to it\n"
              "  rank 4: in no call that is watched, for 11 s; its last collective was the 811th, MPI_Bcast, root 0, 8 "
              "bytes on MPI_COMM_WORLD\n"
              "    process 104 on n2; its last collectives: the 811th, MPI_Bcast, root 0, 8 bytes on MPI_COMM_WORLD, "
              "11.0 s ago, took 0.001000 s\n"
              "  What is waited for: rank 4");
}

// Rank 0 waits for 1, which waits for 2, which has left a Bcast of which it was the root: it has come to all there is.
TEST(ExplainHang, FollowsWhatRanksHaveNoted) {
    const std::string text =
        explained({in_collective(0, 3, 5, {WaitNote::What::receive, 1, 3}, "binomial"),
                   in_collective(1, 3, 5, {WaitNote::What::flag, 2, -1}, "shared"), outside(2, 3, 5)});
    EXPECT_TRUE(has(text, "waits for a message of rank 1 (step 3 of its plan)")) << text;
    EXPECT_TRUE(has(text, "running shared")) << text;
    EXPECT_TRUE(has(text, "waits for rank 2 in shared memory")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 2")) << text;
}

TEST(ExplainHang, NamesACircle) {
    const std::string text = explained({in_collective(0, 3, 5, {WaitNote::What::receive, 1, 0}),
                                        in_collective(1, 3, 5, {WaitNote::What::receive, 2, 0}),
                                        in_collective(2, 3, 5, {WaitNote::What::receive, 1, 0})});
    EXPECT_TRUE(has(text, "Ranks wait for each other: 1 for 2 for 1")) << text;
}

TEST(ExplainHang, SaysWhereNobodyIsMissing) {
    EXPECT_TRUE(has(explained({in_collective(0, 2, 5), in_collective(1, 2, 5)}), "what is waited for is inside"));
    EXPECT_TRUE(has(explained({outside(0, 2, 5), outside(1, 2, 5)}), "No rank is in a collective"));
}

// A rank waits for a request of a collective that the other one has not begun.
TEST(ExplainHang, CountsCollectivesThatWereOnlyBegun) {
    RankState waits = outside(0, 2, 6);
    waits.past[0].call.is_only_begun = true;
    waits.calls.push_back({.text = "MPI_Wait", .seconds = 10});
    const std::string text = explained({waits, outside(1, 2, 5)});
    EXPECT_TRUE(has(text, "rank 0: in MPI_Wait, for 10 s")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 1")) << text;
    // One that was over when it returned says nothing of who is waited for.
    waits.past[0].call.is_only_begun = false;
    EXPECT_FALSE(has(explained({waits, outside(1, 2, 5)}), "What is waited for"));
}

TEST(ExplainHang, TakesThoseThatSayNothingForMissing) {
    std::vector<RankAnswer> answers;
    for (int rank = 0; rank < 4; ++rank) answers.push_back({.rank = rank, .state = in_collective(rank, 4, 1)});
    answers[2] = {.rank = 2, .silence = "its process is gone (process 12 on 10.0.0.1)"};
    const std::string text = explain_hang(answers, "why");
    EXPECT_TRUE(has(text, "rank 2: its process is gone (process 12 on 10.0.0.1)")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 2")) << text;
}

TEST(ExplainHang, OfManyRanksStaysShort) {
    constexpr int ranks = 20'000;
    std::vector<RankState> states;
    for (int rank = 0; rank < ranks; ++rank)
        states.push_back(rank % 2 == 0 ? in_collective(rank, ranks, 9, {WaitNote::What::receive, rank + 1, rank % 97},
                                                       "ring:segment=" + std::to_string(rank % 97))
                                       : outside(rank, ranks, 8));
    const std::string text = explained(states);
    EXPECT_LT(text.size(), 20'000U);
    EXPECT_TRUE(has(text, "and so on for ")) << text;
    EXPECT_TRUE(has(text, "other groups of ranks")) << text;
}

TEST(RankState, ComesBackFromItsText) {
    RankState state = in_collective(3, 8, 1ULL << 40U, {WaitNote::What::leaders, -1, 12}, "han");
    state.past = outside(3, 8, 2).past;
    state.past[0].call.is_only_begun = true;
    state.communicators[0].name = "\xff\"name\n";
    state.communicators[0].members = ranges_of({4, 0, 2, 4, 6, 7, 8});
    const auto back = RankState::of(state.to_text());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->to_text(), state.to_text());
    EXPECT_EQ(back->communicators[0].members, state.communicators[0].members);
    for (int index = 0; const int rank : {4, 0, 2, 4, 6, 7, 8, -1})
        EXPECT_EQ(rank_at(back->communicators[0].members, index++), rank);
    EXPECT_EQ(rank_at({}, 0), -1);
}

// It comes over a network.
TEST(RankState, OfAnythingElseIsNothing) {
    const std::string whole = in_collective(3, 8, 4).to_text();
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(RankState::of(whole.substr(0, length)).has_value()) << length;
    for (const std::string text : {"[]", "{}", "null", "\"\"", "{\"rank\":1}"})
        EXPECT_FALSE(RankState::of(text).has_value());
    RankState elsewhere = in_collective(3, 8, 4);
    elsewhere.calls[0].communicator = 1;
    EXPECT_FALSE(RankState::of(elsewhere.to_text()).has_value());
}

TEST(WatchRecord, KnowsCallsCommunicatorsAndWaits) {
    WatchRecord& record = WatchRecord::make(2, "n1");
    const int first = record.know("A", {1, 2, 5});
    const int second = record.know("B", {1, 2, 5});
    record.end(record.begin(first, allreduce(), 1));
    const int inside = record.begin(second, allreduce(), 1);
    record.decide(inside, "ring");
    record.note(inside)->set({WaitNote::What::receive, 2, 4});
    RankState state = record.state();
    ASSERT_EQ(state.calls.size(), 1U);
    EXPECT_EQ(state.calls[0].runs, "ring");
    EXPECT_EQ(state.calls[0].wait, (WaitNote::Wait{WaitNote::What::receive, 5, 4})) << "in the world's ranks";
    EXPECT_EQ(state.communicators[static_cast<std::size_t>(state.calls[0].communicator)].name, "B");
    ASSERT_EQ(state.past.size(), 1U);
    ASSERT_EQ(state.communicators.size(), 2U);
    EXPECT_NE(state.communicators[0].key, state.communicators[1].key);
    // A call of no collective counts where there may be something that it waits for.
    record.end(inside);
    const auto before = WatchRecord::Clock::time_point::min();
    record.end(record.begin("MPI_Wait", true));
    int wait = record.begin("MPI_Wait", true);
    EXPECT_FALSE(record.oldest_call(before).has_value());
    record.end(wait);
    CallDescription begun = allreduce();
    begun.form = CallForm::nonblocking;
    record.end(record.begin(first, begun, 2));
    EXPECT_TRUE(record.state().past[0].call.is_only_begun);
    wait = record.begin("MPI_Wait", true);
    EXPECT_TRUE(record.oldest_call(before).has_value());
    record.end(wait);
    // An error of this rank alone is no call, and what is freed is forgotten.
    record.end(record.begin(first, allreduce(), 3), true);
    record.forget(second);
    state = record.state();
    ASSERT_EQ(state.communicators.size(), 1U);
    EXPECT_EQ(state.communicators[0].entered, 2U);
    for (int i = 0; i < 20; ++i) record.end(record.begin(first, allreduce(), 3));
    EXPECT_EQ(record.state().past.size(), 6U);
    // More threads than it has room for are not seen, and do no harm.
    std::vector<int> slots;
    for (int i = 0; i < 20; ++i) slots.push_back(record.begin(first, allreduce(), 4));
    EXPECT_EQ(slots.back(), WatchRecord::no_slot);
    EXPECT_EQ(record.note(slots.back()), nullptr);
    for (const int slot : slots) record.end(slot);
    EXPECT_TRUE(record.state().calls.empty());
}

namespace {

// What the watchers of a test have said.
class Texts {
public:
    static void say(std::string_view text) {
        const std::lock_guard lock(mutex_);
        texts_.emplace_back(text);
        has_come_.notify_all();
    }
    static std::string next() {
        std::unique_lock lock(mutex_);
        has_come_.wait(lock, [] { return !texts_.empty(); });
        std::string text = std::move(texts_.front());
        texts_.erase(texts_.begin());
        return text;
    }
    static bool is_empty() {
        const std::lock_guard lock(mutex_);
        return texts_.empty();
    }

private:
    static inline std::mutex mutex_;
    static inline std::condition_variable has_come_;
    static inline std::vector<std::string> texts_;
};

// As many processes as there are ranks, of which `deaf` ones have no thread.
class Job {
public:
    Job(int ranks, std::chrono::milliseconds limit, const std::vector<int>& deaf = {},
        std::chrono::milliseconds patience = std::chrono::minutes(1)) {
        std::vector<std::unique_ptr<WatchSockets>> sockets;
        std::vector<WatchAddress> all;
        for (int rank = 0; rank < ranks; ++rank) {
            sockets.push_back(std::make_unique<WatchSockets>());
            all.push_back(sockets.back()->address());
            records_.push_back(&WatchRecord::make(rank, "here"));
        }
        std::vector<int> members(static_cast<std::size_t>(ranks));
        std::iota(members.begin(), members.end(), 0);
        for (int rank = 0; rank < ranks; ++rank) {
            const auto index = static_cast<std::size_t>(rank);
            sockets[index]->meet(all, {});
            world_.push_back(records_[index]->know("MPI_COMM_WORLD", members));
            if (std::find(deaf.begin(), deaf.end(), rank) != deaf.end()) {
                deaf_.push_back(std::move(sockets[index]));
                continue;
            }
            watchers_.push_back(std::make_unique<Watcher>(
                Watcher::Options{.rank = rank, .limit = limit, .say = Texts::say, .patience = patience},
                *records_[index], std::move(sockets[index])));
        }
    }
    int begin(int rank, std::uint64_t number) {
        const auto index = static_cast<std::size_t>(rank);
        return records_[index]->begin(world_[index], allreduce(), number);
    }
    void end(int rank, int slot) { records_[static_cast<std::size_t>(rank)]->end(slot); }

private:
    std::vector<WatchRecord*> records_;
    std::vector<int> world_;
    std::vector<std::unique_ptr<WatchSockets>> deaf_;
    std::vector<std::unique_ptr<Watcher>> watchers_;
};

}  // namespace

TEST(Watcher, TellsOfACallThatTakesTooLong) {
    Job job(70, std::chrono::milliseconds(200));
    for (int rank = 0; rank < 70; ++rank)
        if (rank != 41) job.begin(rank, 1);
    const std::string text = Texts::next();
    EXPECT_TRUE(has(text, "ranks 0-40, 42-69: in MPI_Allreduce")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 41")) << text;
    EXPECT_TRUE(Texts::is_empty()) << Texts::next();
}

// A rank that listens and says nothing, as one that is stopped, may be the one that others ask to collect.
TEST(Watcher, GoesOnWithoutThoseThatSayNothing) {
    Job job(4, std::chrono::milliseconds(200), {0}, std::chrono::milliseconds(500));
    for (int rank = 1; rank < 4; ++rank) job.begin(rank, 1);
    const std::string text = Texts::next();
    EXPECT_TRUE(has(text, "rank 0: does not answer")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 0")) << text;
}

TEST(Watcher, TellsOnASignal) {
    Job job(2, std::chrono::milliseconds(0));
    const int slot = job.begin(1, 1);
    ASSERT_EQ(std::raise(SIGUSR2), 0);
    const std::string text = Texts::next();
    EXPECT_TRUE(has(text, "SIGUSR2 has come to rank")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 0")) << text;
    job.end(1, slot);
}

// Who does not know the job's secret learns nothing.
TEST(WatchSockets, AnswerOnlyTheJob) {
    WatchSockets asked;
    asked.meet({asked.address()}, [](WatchSockets::Question, std::string_view) { return std::string("where it is"); });
    WatchAddress guess = asked.address();
    guess.secret[0] ^= 1U;
    std::atomic<bool> is_answered{false};
    for (const bool knows : {false, true}) {
        WatchSockets asking;
        asking.meet({knows ? asked.address() : guess}, {});
        std::thread serving([&] {
            while (!is_answered) asked.serve();
        });
        const auto answers = asking.ask(std::array{0}, WatchSockets::Question::state, "", std::chrono::seconds(10),
                                        [] { return false; });
        is_answered = true;
        serving.join();
        is_answered = false;
        EXPECT_EQ(answers[0].text, knows ? "where it is" : "");
    }
}

}  // namespace hcoll
