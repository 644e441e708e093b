// SPDX-License-Identifier: BSD-3-Clause
// What ranks say of themselves while MPI hangs, and what is made of it (LIBHCOLL_WATCHDOG). Processes are threads here, each with sockets of its own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
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
    state.communicators[0].members = {{0, ranks, 1}};
    state.calls.push_back({.communicator = 0,
                           .number = number,
                           .kind = call_kind(allreduce()),
                           .text = call_text(allreduce()),
                           .runs = std::move(runs),
                           .seconds = 10.0 + rank / 10.0,
                           .wait = wait,
                           .waits_on = {},
                           .serial = number});
    return state;
}

// In no call, after its `number`th collective.
RankState outside(int rank, int ranks, std::uint64_t number) {
    RankState state{.rank = rank, .process = 100 + rank, .host = "n2", .outside = 11};
    state.communicators.push_back(world(ranks, number));
    state.past.push_back({{.communicator = 0,
                           .number = number,
                           .kind = "MPI_Bcast, root 0",
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
    EXPECT_TRUE(has(explained({outside(0, 2, 5), outside(1, 2, 5)}), "No rank is in a call that is watched"));
}

// A rank waits for a request of a collective that the other one has not begun.
TEST(ExplainHang, KnowsWhatRequestsAreOf) {
    RankState waits = in_collective(0, 2, 6);
    waits.calls = {
        {.kind = "MPI_Wait", .text = "MPI_Wait", .seconds = 10, .waits_on = {{0, 6, "MPI_Ibcast, root 0, 8 bytes"}}}};
    std::string text = explained({waits, outside(1, 2, 5)});
    EXPECT_TRUE(has(text,
                    "rank 0: in MPI_Wait for MPI_Ibcast, root 0, 8 bytes, the 6th collective on MPI_COMM_WORLD, for 10 "
                    "s; rank 1 has not come to it"))
        << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 1")) << text;
    // One of a message says nothing of who is waited for.
    waits.calls[0].waits_on.clear();
    text = explained({waits, outside(1, 2, 5)});
    EXPECT_FALSE(has(text, "What is waited for")) << text;
}

// Their numbers are the same, their calls are not.
TEST(ExplainHang, NamesDifferentCalls) {
    RankState other = in_collective(2, 3, 5);
    other.calls[0].kind = "MPI_Barrier";
    other.calls[0].text = "MPI_Barrier";
    const std::string text = explained({in_collective(0, 3, 5), in_collective(1, 3, 5), other});
    EXPECT_TRUE(has(text,
                    "Not all ranks make the same call in the 5th collective on MPI_COMM_WORLD: ranks 0-1: "
                    "MPI_Allreduce of MPI_SUM; rank 2: MPI_Barrier"))
        << text;
    EXPECT_FALSE(has(text, "have come to them")) << text;
}

// A job that runs well is asked at any moment: rank 1 has not come to a call of rank 0's, nor rank 0 to the next one of rank 1's.
TEST(ExplainHang, AccusesNobodyWhoGoesOn) {
    std::vector<RankAnswer> answers(2);
    answers[0] = {.rank = 0, .state = in_collective(0, 2, 812), .before = in_collective(0, 2, 700)};
    answers[1] = {.rank = 1, .state = in_collective(1, 2, 811), .before = in_collective(1, 2, 701)};
    std::string text = explain_hang(answers, "why");
    EXPECT_TRUE(has(text, "(it goes on)")) << text;
    EXPECT_TRUE(has(text, "No rank waits")) << text;
    EXPECT_FALSE(has(text, "What is waited for")) << text;
    answers[0].before = answers[0].state;
    text = explain_hang(answers, "why");
    EXPECT_TRUE(has(text, "What is waited for: rank 1")) << text;
    // Of calls that look the same the later one may have lasted longer.
    RankState waits = in_collective(0, 2, 812);
    waits.calls = {
        {.kind = "MPI_Wait", .text = "MPI_Wait", .seconds = 1, .waits_on = {{0, 812, "MPI_Iallreduce"}}, .serial = 2}};
    RankState waited = waits;
    waited.calls[0].seconds = 0.5;
    waited.calls[0].serial = 1;
    waited.calls[0].waits_on[0].number = 811;
    answers[0] = {.rank = 0, .state = waits, .before = waited};
    text = explain_hang(answers, "why");
    EXPECT_FALSE(has(text, "What is waited for")) << text;
    waited.calls[0].serial = 2;
    answers[0].before = waited;
    text = explain_hang(answers, "why");
    EXPECT_TRUE(has(text, "What is waited for: rank 1")) << text;
}

// What a rank has forgotten is not held against it.
TEST(ExplainHang, BlamesNobodyForWhatIsFreed) {
    RankState freed = outside(0, 3, 5);
    freed.communicators[0].members.clear();
    EXPECT_TRUE(has(explained({freed, in_collective(1, 3, 5), outside(2, 3, 4)}), "What is waited for: rank 2"));
    freed.communicators.clear();
    EXPECT_TRUE(has(explained({freed, in_collective(1, 3, 5), outside(2, 3, 4)}), "What is waited for: ranks 0, 2"));
    freed.knows_all = false;
    EXPECT_TRUE(has(explained({freed, in_collective(1, 3, 5), outside(2, 3, 4)}), "What is waited for: rank 2"));
    const std::string text = explained({freed, in_collective(1, 3, 5), in_collective(2, 3, 5)});
    EXPECT_TRUE(has(text, "Of rank 0 it is not known whether all have come")) << text;
    EXPECT_FALSE(has(text, "have come to them")) << text;
}

TEST(ExplainHang, OwnsUpToWhatIsNotKnown) {
    std::vector<RankState> states = {in_collective(0, 2, 5), in_collective(1, 2, 5)};
    states[0].communicators[0].has_all_members = false;
    EXPECT_TRUE(has(explained(states), "Who is missing is not known"));
    std::vector<RankAnswer> answers(2);
    answers[0] = {.rank = 0, .state = in_collective(0, 2, 5)};
    answers[1] = {.rank = 1, .silence = "could not be asked", .is_unknown = true};
    EXPECT_FALSE(has(explain_hang(answers, "why"), "What is waited for: rank 1"));
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
    state.calls[0].waits_on = {{0, 3, "MPI_Ibcast"}};
    state.knows_all = false;
    state.communicators[0].name = "\xff\"name\n";
    state.communicators[0].members = ranges_of({4, 0, 2, 4, 6, 7, 8, 3, 2, 1});
    const auto back = RankState::of(state.to_text());
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->to_text(), state.to_text());
    EXPECT_EQ(back->communicators[0].members, state.communicators[0].members);
    for (int index = 0; const int rank : {4, 0, 2, 4, 6, 7, 8, 3, 2, 1, -1})
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
    RankState wrong = in_collective(3, 8, 4);
    wrong.calls[0].communicator = 1;
    EXPECT_FALSE(RankState::of(wrong.to_text()).has_value());
    for (const RankRange range :
         {RankRange{0, -1, 1}, RankRange{0, 1 << 30, 1}, RankRange{-5, 2, 1}, RankRange{0, 100, 1 << 30}}) {
        wrong = in_collective(3, 8, 4);
        wrong.communicators[0].members = {range};
        EXPECT_FALSE(RankState::of(wrong.to_text()).has_value()) << range.first << " " << range.count;
    }
}

TEST(WatchRecord, KnowsCallsCommunicatorsAndWaits) {
    WatchRecord record(2, "n1", std::chrono::milliseconds(0));
    const int first = record.know("A", {1, 2, 5}, 0);
    const int second = record.know("B", {1, 2, 5}, 0);
    record.end(record.begin(first, allreduce(), 1));
    const int inside = record.begin(second, allreduce(), 1);
    record.decide(inside, "ring");
    record.note(inside)->set({WaitNote::What::receive, 2, 4});
    RankState state = record.state(false);
    ASSERT_EQ(state.calls.size(), 1U);
    EXPECT_EQ(state.calls[0].runs, "ring");
    EXPECT_EQ(state.calls[0].wait, (WaitNote::Wait{WaitNote::What::receive, 5, 4})) << "in the world's ranks";
    const RankState::Communicator& on = state.communicators[static_cast<std::size_t>(state.calls[0].communicator)];
    EXPECT_EQ(on.name, "B");
    EXPECT_EQ(on.members, ranges_of({1, 2, 5}));
    ASSERT_EQ(state.past.size(), 1U);
    ASSERT_EQ(state.communicators.size(), 2U);
    EXPECT_NE(state.communicators[0].key, state.communicators[1].key);
    record.end(inside);
    // Where they were made tells communicators apart, whatever is used first.
    const std::uint64_t born = record.key(record.know("C", {1, 2, 5}, 17));
    EXPECT_NE(born, record.key(first));
    EXPECT_NE(born, record.key(record.know("D", {1, 2, 5}, 18)));
    WatchRecord other(5, "n1", std::chrono::milliseconds(0));
    EXPECT_EQ(born, other.key(other.know("C", {1, 2, 5}, 17))) << "the same on all its ranks";
}

TEST(WatchRecord, ForgetsWhatIsFreedAndVoid) {
    WatchRecord record(2, "n1", std::chrono::milliseconds(0));
    const int kept = record.know("A", {0, 1, 2}, 0);
    const int freed = record.know("B", {0, 2}, 0);
    const std::uint64_t key = record.key(freed);
    record.end(record.begin(freed, allreduce(), 1));
    record.end(record.begin(kept, allreduce(), 1));
    record.end(record.begin(kept, allreduce(), 2), true);
    record.forget(freed);
    RankState state = record.state(false);
    EXPECT_TRUE(state.knows_all);
    ASSERT_EQ(state.communicators.size(), 2U);
    EXPECT_EQ(state.communicators[0].entered, 1U) << "the second one was an error";
    EXPECT_EQ(state.communicators[1].key, key);
    EXPECT_EQ(state.communicators[1].entered, 1U);
    for (int i = 0; i < 20; ++i) record.end(record.begin(kept, allreduce(), 3));
    EXPECT_EQ(record.state(false).past.size(), 6U);
    for (int i = 0; i < 100; ++i) record.forget(record.know("C", {0, 2}, 0));
    state = record.state(false);
    EXPECT_FALSE(state.knows_all);
    EXPECT_LT(state.communicators.size(), 100U);
    // More threads than it has room for are not seen, and do no harm.
    std::vector<int> slots;
    for (int i = 0; i < 20; ++i) slots.push_back(record.begin(kept, allreduce(), 4));
    EXPECT_EQ(slots.back(), WatchRecord::no_slot);
    EXPECT_EQ(record.note(slots.back()), nullptr);
    for (const int slot : slots) record.end(slot);
    EXPECT_TRUE(record.state(false).calls.empty());
}

TEST(WatchRecord, KnowsRequestsOfCollectives) {
    WatchRecord record(0, "n1", std::chrono::milliseconds(1));
    const int world = record.know("A", {0, 1}, 0);
    CallDescription begun = allreduce();
    begun.form = CallForm::nonblocking;
    const int slot = record.begin(world, begun, 1);
    record.add_request(slot, 4711);
    record.end(slot);
    const std::vector<std::uint64_t> messages = {1, 2};
    const std::vector<std::uint64_t> both = {1, 4711};
    const auto late = WatchRecord::Clock::now() + std::chrono::hours(1);
    // A message's alone does not count.
    int wait = record.begin_wait("MPI_Waitall", messages);
    EXPECT_FALSE(record.due(late).has_value());
    EXPECT_TRUE(record.state(false).calls[0].waits_on.empty());
    record.end(wait);
    wait = record.begin_wait("MPI_Waitall", both);
    ASSERT_TRUE(record.due(late).has_value());
    EXPECT_EQ(record.due(late)->text, "MPI_Waitall");
    const RankState state = record.state(false);
    ASSERT_EQ(state.calls[0].waits_on.size(), 1U);
    EXPECT_EQ(state.calls[0].waits_on[0].number, 1U);
    EXPECT_EQ(state.communicators[static_cast<std::size_t>(state.calls[0].waits_on[0].communicator)].members,
              ranges_of({0, 1}));
    record.end(wait);
    record.remove_request(4711);
    EXPECT_FALSE(record.has_requests());
    wait = record.begin_wait("MPI_Waitall", both);
    EXPECT_FALSE(record.due(late).has_value());
    record.end(wait);
}

// However many others there are.
TEST(WatchRecord, TellsWhatACallIsOn) {
    WatchRecord record(0, "n1", std::chrono::milliseconds(0));
    std::vector<int> communicators;
    for (int i = 0; i < 600; ++i)
        communicators.push_back(record.know("A", {0, 1}, 100 + static_cast<std::uint64_t>(i)));
    for (const int each : communicators) record.end(record.begin(each, allreduce(), 7));
    const int inside = record.begin(communicators[0], allreduce(), 8);
    for (const int each : communicators)
        if (each != communicators[0]) record.end(record.begin(each, allreduce(), 8));
    RankState state = record.state(false);
    EXPECT_EQ(state.communicators.size(), 512U);
    EXPECT_FALSE(state.knows_all);
    ASSERT_EQ(state.calls.size(), 1U);
    const RankState::Communicator& on = state.communicators.at(static_cast<std::size_t>(state.calls[0].communicator));
    EXPECT_EQ(on.key, record.key(communicators[0]));
    EXPECT_EQ(on.name, "A");
    EXPECT_EQ(on.entered, 8U);
    EXPECT_EQ(on.members, ranges_of({0, 1}));
    record.end(inside);
    for (int i = 500; i < 600; ++i) record.forget(communicators[static_cast<std::size_t>(i)]);
    state = record.state(false);
    EXPECT_EQ(std::count_if(state.communicators.begin(), state.communicators.end(),
                            [](const RankState::Communicator& each) { return !each.name.empty(); }),
              64);
}

// The last one on each communicator; where a request comes again, the one before it is over.
TEST(WatchRecord, KnowsTheLastOfManyRequests) {
    WatchRecord record(0, "n1", std::chrono::milliseconds(0));
    const int world = record.know("A", {0, 1}, 0);
    const int other = record.know("B", {0, 1}, 0);
    std::vector<std::uint64_t> requests;
    for (std::uint64_t i = 1; i <= 300; ++i) {
        const int slot = record.begin(i % 2 == 0 ? world : other, allreduce(), (i + 1) / 2);
        record.add_request(slot, i);
        record.end(slot);
        requests.push_back(i);
    }
    std::array<std::uint64_t, WatchRecord::most_requests> known{};
    ASSERT_EQ(record.find_requests(known), WatchRecord::most_requests);
    EXPECT_TRUE(std::is_sorted(known.begin(), known.end()));
    EXPECT_EQ(known.back(), WatchRecord::most_requests);
    int wait = record.begin_wait("MPI_Waitall", requests);
    RankState state = record.state(false);
    ASSERT_EQ(state.calls[0].waits_on.size(), 2U);
    for (const RankState::Begun& begun : state.calls[0].waits_on) EXPECT_EQ(begun.number, 128U);
    record.end(wait);
    const int slot = record.begin(world, allreduce(), 200);
    record.add_request(slot, 2);
    record.end(slot);
    EXPECT_EQ(record.find_requests(known), WatchRecord::most_requests);
    wait = record.begin_wait("MPI_Wait", std::array<std::uint64_t, 1>{2});
    state = record.state(false);
    ASSERT_EQ(state.calls[0].waits_on.size(), 1U);
    EXPECT_EQ(state.calls[0].waits_on[0].number, 200U);
    record.end(wait);
}

// What was told of is due again when it has lasted ten times as long; what was young then is due in its own time, and named.
TEST(WatchRecord, EachCallIsDueInItsOwnTime) {
    WatchRecord record(0, "n1", std::chrono::hours(1));
    const int world = record.know("A", {0, 1}, 0);
    record.begin(world, allreduce(), 1);
    const auto now = WatchRecord::Clock::now();
    EXPECT_FALSE(record.due(now).has_value());
    EXPECT_TRUE(record.due(now + std::chrono::hours(2)).has_value());
    record.state(true);
    EXPECT_TRUE(record.due(now + std::chrono::hours(2)).has_value()) << "it was young when it was told of";
    WatchRecord quick(0, "n1", std::chrono::milliseconds(1));
    const int on = quick.know("A", {0, 1}, 0);
    const int slow = quick.begin(on, allreduce(), 1);
    while (!quick.due(WatchRecord::Clock::now())) std::this_thread::yield();
    quick.state(true);
    EXPECT_FALSE(quick.due(WatchRecord::Clock::now()).has_value());
    const int next = quick.begin("MPI_Comm_dup", true);
    ASSERT_TRUE(quick.due(WatchRecord::Clock::now() + std::chrono::milliseconds(1)).has_value());
    EXPECT_EQ(quick.due(WatchRecord::Clock::now() + std::chrono::milliseconds(1))->text, "MPI_Comm_dup");
    quick.end(next);
    quick.end(slow);
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
        std::vector<WatchAddress> all;
        for (int rank = 0; rank < ranks; ++rank) {
            sockets_.push_back(std::make_unique<WatchSockets>());
            all.push_back(sockets_.back()->address());
            records_.push_back(std::make_unique<WatchRecord>(rank, "here", limit));
        }
        std::vector<int> members(static_cast<std::size_t>(ranks));
        std::iota(members.begin(), members.end(), 0);
        for (int rank = 0; rank < ranks; ++rank) {
            const auto index = static_cast<std::size_t>(rank);
            sockets_[index]->meet(all, rank);
            world_.push_back(records_[index]->know("MPI_COMM_WORLD", members, 0));
            if (std::find(deaf.begin(), deaf.end(), rank) != deaf.end()) continue;
            watchers_.push_back(
                std::make_unique<Watcher>(Watcher::Options{.rank = rank,
                                                           .limit = limit,
                                                           .say = Texts::say,
                                                           .patience = patience,
                                                           .between_texts = std::chrono::milliseconds(50)},
                                          *records_[index], *sockets_[index]));
        }
    }
    int begin(int rank, std::uint64_t number) {
        const auto index = static_cast<std::size_t>(rank);
        return records_[index]->begin(world_[index], allreduce(), number);
    }
    void end(int rank, int slot) { records_[static_cast<std::size_t>(rank)]->end(slot); }

private:
    std::vector<std::unique_ptr<WatchRecord>> records_;
    std::vector<int> world_;
    std::vector<std::unique_ptr<WatchSockets>> sockets_;
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
    Job job(4, std::chrono::milliseconds(200), {0}, std::chrono::milliseconds(200));
    for (int rank = 1; rank < 4; ++rank) job.begin(rank, 1);
    const std::string text = Texts::next();
    EXPECT_TRUE(has(text, "rank 0: does not answer")) << text;
    EXPECT_TRUE(has(text, "What is waited for: rank 0")) << text;
}

namespace {

std::vector<int> descriptors_of_pipes() {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        if (std::filesystem::read_symlink(entry.path(), error).string().starts_with("pipe:"))
            found.push_back(std::stoi(entry.path().filename()));
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace

// A program that becomes a daemon closes all descriptors that it does not know, and opens others: here a pipe that has something to be read, and would wait for more.
TEST(Watcher, LeavesAFileAloneThatHasTheNumberOfItsOwn) {
    const std::vector<int> before = descriptors_of_pipes();
    auto job = std::make_unique<Job>(1, std::chrono::milliseconds(0));
    std::vector<int> made;
    const std::vector<int> after = descriptors_of_pipes();
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(made));
    ASSERT_EQ(made.size(), 2U);
    std::array<int, 2> somebodys{};
    ASSERT_EQ(pipe(somebodys.data()), 0);
    ASSERT_EQ(write(somebodys[1], "four", 4), 4);
    for (const int each : made) ASSERT_EQ(dup2(somebodys[each == made.front() ? 0 : 1], each), each);
    ASSERT_EQ(std::raise(SIGUSR2), 0);
    job.reset();
    int bytes = 0;
    ASSERT_EQ(ioctl(somebodys[0], FIONREAD, &bytes), 0);
    EXPECT_EQ(bytes, 4) << "somebody has read or written";
    for (const int each : {made[0], made[1], somebodys[0], somebodys[1]}) EXPECT_EQ(close(each), 0);
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

// A second hang, of ranks whose calls had begun before the first one was told of.
TEST(Watcher, TellsOfEachHang) {
    Job job(4, std::chrono::milliseconds(300));
    const int slot = job.begin(0, 1);
    EXPECT_TRUE(has(Texts::next(), "What is waited for: ranks 1-3"));
    job.begin(2, 1);
    const std::string text = Texts::next();
    EXPECT_TRUE(has(text, "rank 2 has been in MPI_Allreduce for 0.")) << text;
    EXPECT_TRUE(has(text, "What is waited for: ranks 1, 3")) << text;
    job.end(0, slot);
}

namespace {

// What `listens` answers where `asks` wants to know something of `rank`; "" for nothing.
std::string said_to(WatchSockets& asks, WatchSockets& listens, int rank) {
    std::atomic<bool> is_over{false};
    std::thread serving([&] {
        while (!is_over) listens.serve();
    });
    const auto answers =
        asks.ask(std::array{rank}, WatchSockets::Question::state, "", std::chrono::minutes(1), [] { return false; });
    is_over = true;
    serving.join();
    return answers[0].text;
}

// What one process, which is asked for `rank`, says to one that knows `secret` of it.
std::string asked(const WatchAddress& address, int rank) {
    WatchSockets listens;
    WatchSockets asks;
    WatchAddress told = address;
    told.port = listens.address().port;
    told.addresses = listens.address().addresses;
    told.host = listens.address().host;
    listens.meet({address, address}, 0);
    listens.answer_by([](WatchSockets::Question, std::string_view) { return std::string("where it is"); });
    std::vector<WatchAddress> all = {told, told};
    asks.meet(all, 1);
    return said_to(asks, listens, rank);
}

}  // namespace

// Who does not know the job's secret learns nothing, nor who takes this process for another one.
TEST(WatchSockets, AnswerOnlyTheJobAndForThemselves) {
    const WatchAddress job = WatchSockets().address();
    EXPECT_EQ(asked(job, 0), "where it is");
    EXPECT_EQ(asked(job, 1), "");
}

// A process whose first address leads nowhere has others.
TEST(WatchSockets, TryAllAddresses) {
    WatchSockets listens;
    WatchSockets asks;
    WatchAddress address = listens.address();
    address.host ^= 1U;                               // as if on another one
    const std::uint32_t nowhere = htonl(0xf0000001);  // 240.0.0.1: no route to it
    address.addresses = {nowhere, htonl(INADDR_LOOPBACK), 0, 0};
    address.is_six = 0;
    listens.meet({address}, 0);
    listens.answer_by([](WatchSockets::Question, std::string_view) { return std::string("here"); });
    asks.meet({address}, 1);
    EXPECT_EQ(said_to(asks, listens, 0), "here");
}

// A process is gone where its host refuses: not where it has no address that leads there, nor where another host may have answered, as with the bridge to
// containers that hosts have under one address.
TEST(WatchSockets, TakeNobodyForGoneWhoMayLive) {
    using Outcome = WatchSockets::Answer::Outcome;
    WatchSockets asks;
    const WatchAddress own = asks.address();
    const WatchAddress gone = WatchSockets().address();
    const auto on_host = [&](std::uint64_t host, std::initializer_list<std::uint32_t> addresses) {
        WatchAddress address = gone;
        address.host = own.host + host;
        address.addresses = {};
        address.is_six = 0;
        std::copy(addresses.begin(), addresses.end(), address.addresses.begin());
        return address;
    };
    const std::uint32_t here = htonl(INADDR_LOOPBACK);
    const auto outcome = [&](const std::vector<WatchAddress>& others,
                             std::chrono::milliseconds patience = std::chrono::minutes(1)) {
        std::vector<WatchAddress> all = {own};
        all.insert(all.end(), others.begin(), others.end());
        asks.meet(all, 0);
        return asks.ask(std::array{1}, WatchSockets::Question::state, "", patience, [] { return false; })[0].outcome;
    };
    EXPECT_EQ(outcome({on_host(0, {})}), Outcome::refused) << "on this host";
    EXPECT_EQ(outcome({on_host(1, {})}), Outcome::silent) << "on another one, without an address";
    EXPECT_EQ(outcome({on_host(1, {here})}), Outcome::refused);
    EXPECT_EQ(outcome({on_host(1, {here}), on_host(2, {here})}), Outcome::silent);
    EXPECT_EQ(outcome({on_host(1, {here, htonl(INADDR_LOOPBACK + 1)}), on_host(2, {here})}), Outcome::refused)
        << "by the address that it has alone";
    const std::uint32_t nowhere = htonl(0xf0000001);  // 240.0.0.1: no route to it
    EXPECT_EQ(outcome({on_host(1, {here, nowhere})}, std::chrono::milliseconds(200)), Outcome::silent)
        << "the other address may be the one";
}

// Strangers who connect and say nothing hold nobody up.
TEST(WatchSockets, AnswerBesideThoseWhoSayNothing) {
    WatchSockets listens;
    const WatchAddress address = listens.address();
    listens.meet({address}, 0);
    listens.answer_by([](WatchSockets::Question, std::string_view) { return std::string("here"); });
    std::vector<int> strangers;
    for (int i = 0; i < 100; ++i) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(address.port);
        strangers.push_back(socket(AF_INET, SOCK_STREAM, 0));
        ASSERT_EQ(connect(strangers.back(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    }
    std::vector<pollfd> polled;
    listens.add_polled(polled);
    ASSERT_EQ(polled.size(), 1U);
    listens.serve();
    polled.clear();
    listens.add_polled(polled);
    EXPECT_EQ(polled.size(), 64U) << "no more of them, and not the listener, which would be ready all the time";
    EXPECT_EQ(poll(polled.data(), polled.size(), 0), 0);
    for (const int each : strangers) close(each);
    WatchSockets asks;
    asks.meet({address}, 1);
    EXPECT_EQ(said_to(asks, listens, 0), "here");
}

}  // namespace hcoll
