// SPDX-License-Identifier: BSD-3-Clause
// What is traced, read again and explained (LIBHCOLL_TRACE), without MPI.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "../support/random.hpp"
#include "../support/temporary_folder.hpp"
#include "counting_trace.hpp"
#include "info/draw_trace.hpp"
#include "plan_cases.hpp"
#include "trace/arrivals.hpp"
#include "trace/explain_trace.hpp"
#include "trace/trace_text.hpp"
#include "trace/traced_run.hpp"

namespace hcoll {

namespace {

using test::TemporaryFolder;

// A tracer of this process, of so many records, as long as this is.
class Traced {
public:
    explicit Traced(std::uint64_t records = 4096, int rank = 2, const char* folder = nullptr) {
        TraceHeader header;
        header.rank = rank;
        header.ranks = 4;
        header.job = 77;
        header.started = 1000;
        header.origin = Tracer::now();
        problem = Tracer::open({.folder = folder == nullptr ? folder_.path() : folder,
                                .bytes = records * sizeof(TraceRecord),
                                .header = header});
        Tracer::begin();
        if (!problem) {
            communicator = Tracer::get()->know(99, "MPI_COMM_WORLD", rank, 4);
            what = Tracer::get()->text("han:segment=64k");
        }
    }
    ~Traced() { Tracer::give_up(); }
    Traced(const Traced&) = delete;
    Traced& operator=(const Traced&) = delete;

    TraceRecord call(std::uint64_t number) const {
        TraceRecord record;
        record.kind = TraceKind::call;
        record.collective = static_cast<std::uint8_t>(Collective::allreduce);
        record.number = number;
        record.communicator = static_cast<std::uint16_t>(communicator);
        record.bytes = 8;
        record.name = what;
        return record;
    }
    std::string file(const char* ending) const { return folder_.path() + "/rank-000002.000000000000004d." + ending; }
    RankTrace read(const char* ending = "json") const {
        std::string why;
        auto trace = read_trace(trace_text_of_file(file(ending)), why);
        EXPECT_TRUE(trace.has_value()) << why;
        return trace.value_or(RankTrace{});
    }

    std::optional<std::string> problem;
    int communicator = Tracer::no_communicator;
    TraceText what = 0;

private:
    TemporaryFolder folder_;
};

TEST(Tracer, WhatThreadsHaveNotedComesBack) {
    constexpr std::uint64_t calls = 100;
    constexpr int threads = 4;
    Traced traced;
    ASSERT_FALSE(traced.problem);
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread)
        running.emplace_back([&traced, thread] {
            for (std::uint64_t i = 0; i < calls; ++i) {
                TraceRecord call = traced.call(static_cast<std::uint64_t>(thread) * calls + i + 1);
                const Tracer::Id id = Tracer::get()->begin(call);
                TracedRun run(call, 8);
                const auto step = run.begin(
                    {.kind = StepKind::recv, .peer = 3, .tag = 5, .step = 6, .segment = 7, .units = 2}, StepTrace::now);
                EXPECT_NE(run.end(step), StepTrace::now);
                Tracer::get()->end(id, call);
            }
        });
    for (std::thread& each : running) each.join();
    EXPECT_FALSE(Tracer::get()->finish());
    const RankTrace trace = traced.read();
    EXPECT_EQ(trace.rank, 2);
    EXPECT_EQ(trace.job, 77U);
    EXPECT_EQ(trace.overwritten, 0U);
    ASSERT_EQ(trace.calls.size(), calls * threads);
    std::vector<std::uint64_t> numbers;
    for (const TracedCollective& call : trace.calls) {
        numbers.push_back(call.number);
        EXPECT_EQ(call.runs, "han:segment=64k");
        EXPECT_EQ(call.communicator, "MPI_COMM_WORLD");
        EXPECT_EQ(call.key, 99U);
        EXPECT_TRUE(call.span.is_over);
        ASSERT_EQ(call.steps.size(), 1U);
        const TracedStepEvent& step = call.steps.front();
        EXPECT_EQ(step.kind, TraceKind::recv);
        EXPECT_EQ(step.peer, 3);
        EXPECT_EQ(step.tag, 5U);
        EXPECT_EQ(step.step, 6U);
        EXPECT_EQ(step.segment, 7U);
        EXPECT_EQ(step.bytes, 16U);
        EXPECT_LE(call.span.begin, step.span.begin);
        EXPECT_LE(step.span.end, call.span.end);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::uint64_t> all(numbers.size());
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(numbers, all);
}

TEST(Tracer, TheOldestGiveWay) {
    Traced traced(64);
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        TraceRecord call = traced.call(i);
        Tracer::get()->end(Tracer::get()->begin(call), call);
    }
    EXPECT_FALSE(Tracer::get()->finish());
    const RankTrace trace = traced.read();
    EXPECT_EQ(trace.overwritten, 1000U - 64U);
    ASSERT_EQ(trace.calls.size(), 64U);
    EXPECT_EQ(trace.calls.front().number, 937U);
    EXPECT_EQ(trace.calls.back().number, 1000U);
}

TEST(Tracer, ACallThatHasGivenWayToItsStepsIsNotLost) {
    Traced traced(64);
    TraceRecord call = traced.call(1);
    const Tracer::Id id = Tracer::get()->begin(call);
    TracedRun run(call, 1);
    std::vector<StepTrace::Id> steps;
    for (int i = 0; i < 200; ++i)
        steps.push_back(run.begin({.kind = StepKind::send, .peer = 1, .tag = 0, .step = 0, .segment = 0, .units = 1},
                                  StepTrace::now));
    // Those that are not there any more end without harm.
    for (const StepTrace::Id step : steps) run.end(step);
    Tracer::get()->set_name(id, traced.what);
    Tracer::get()->end(id, call);
    EXPECT_FALSE(Tracer::get()->finish());
    const RankTrace trace = traced.read();
    ASSERT_EQ(trace.calls.size(), 1U);
    EXPECT_TRUE(trace.calls.front().span.is_over);
    EXPECT_EQ(trace.calls.front().steps.size(), 63U);
}

// As after a SIGKILL: nothing was written at the end.
TEST(Tracer, WhatIsLeftOfAProcessThatWasKilledIsRead) {
    Traced traced;
    TraceRecord first = traced.call(1);
    Tracer::get()->end(Tracer::get()->begin(first), first);
    TraceRecord second = traced.call(2);
    Tracer::get()->begin(second);
    const RankTrace trace = traced.read("events");
    ASSERT_EQ(trace.calls.size(), 2U);
    EXPECT_TRUE(trace.calls[0].span.is_over);
    EXPECT_FALSE(trace.calls[1].span.is_over);
}

TEST(Tracer, NothingIsNotedAfterTheEnd) {
    Traced traced;
    TraceRecord call = traced.call(1);
    const Tracer::Id id = Tracer::get()->begin(call);
    EXPECT_FALSE(Tracer::get()->finish());
    Tracer::get()->end(id, call);
    TraceRecord late = traced.call(2);
    EXPECT_EQ(Tracer::get()->begin(late), Tracer::no_record);
    EXPECT_EQ(Tracer::get()->know(1, "late", 0, 1), Tracer::no_communicator);
    EXPECT_FALSE(Tracer::get()->finish());
    EXPECT_EQ(traced.read().calls.size(), 1U);
    EXPECT_FALSE(std::filesystem::exists(traced.file("events")));
}

TEST(Tracer, AFolderThatCannotBeMadeIsNamed) {
    const Traced traced(64, 0, "/dev/null/here");
    ASSERT_TRUE(traced.problem.has_value());
    EXPECT_NE(traced.problem->find("/dev/null/here"), std::string::npos) << *traced.problem;
    EXPECT_EQ(Tracer::get(), nullptr);
}

// It would be a signal that ends the process.
TEST(Tracer, AFileThatMustNotBeSoLongIsNamed) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low = {.rlim_cur = 100'000, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    {
        const Traced traced;
        EXPECT_NE(traced.problem.value_or("none").find("File too large"), std::string::npos);
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    Traced traced;
    ASSERT_FALSE(traced.problem);
    for (std::uint64_t i = 1; i <= 2000; ++i) {
        TraceRecord call = traced.call(i);
        Tracer::get()->end(Tracer::get()->begin(call), call);
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    const auto problem = Tracer::get()->finish();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_TRUE(problem.has_value()) << "the text is longer";
    EXPECT_EQ(traced.read("events").calls.size(), 2000U) << "what is there stays";
}

TEST(Tracer, TextsThatAreTooManyAreNoneAndNamesLeaveRoomForWhatRuns) {
    const Traced traced;
    for (int i = 0; i < 1000; ++i)
        EXPECT_NE(
            Tracer::get()->know(1000 + static_cast<std::uint64_t>(i), std::string(200, 'n') + std::to_string(i), 0, 1),
            Tracer::no_communicator);
    EXPECT_NE(Tracer::get()->text("an algorithm"), 0);
    std::size_t bytes = 0;
    TraceText text = 0;
    do {
        text = Tracer::get()->text(std::string(500, 'a') + std::to_string(bytes));
        bytes += 500;
    } while (text != 0);
    EXPECT_GT(bytes, TraceHeader::text_bytes / 4);
    EXPECT_EQ(Tracer::get()->text("MPI_COMM_WORLD"), Tracer::get()->text(std::string("MPI_COMM_WORLD")));
}

// Of the last ones all is there; of those before them it is counted that something is not.
TEST(Tracer, VeryManyCommunicatorsGiveWayAsRecordsDo) {
    Traced traced(8192);
    constexpr std::uint64_t communicators = TraceHeader::most_communicators + 100;
    int first = 0;
    for (std::uint64_t i = 1; i <= communicators; ++i) {
        const int known = Tracer::get()->know(i, "number " + std::to_string(i), 0, 1);
        if (i == 1) first = known;
        TraceRecord call = traced.call(1);
        call.communicator = static_cast<std::uint16_t>(known);
        Tracer::get()->end(Tracer::get()->begin(call), call);
        TracedRun run(call, 1);
        run.end(run.begin({.kind = StepKind::send, .peer = 0, .tag = 0, .step = 0, .segment = 0, .units = 1},
                          StepTrace::now));
    }
    EXPECT_FALSE(Tracer::get()->knows(first, 1));
    EXPECT_FALSE(Tracer::get()->finish());
    const RankTrace trace = traced.read();
    ASSERT_EQ(trace.calls.size(), TraceHeader::most_communicators);
    EXPECT_EQ(trace.left_out, communicators - TraceHeader::most_communicators);
    EXPECT_EQ(trace.calls_left_out, communicators - TraceHeader::most_communicators);
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
        const std::uint64_t key = communicators - TraceHeader::most_communicators + 1 + i;
        EXPECT_EQ(trace.calls[i].key, key);
        EXPECT_EQ(trace.calls[i].communicator, "number " + std::to_string(key));
        EXPECT_EQ(trace.calls[i].steps.size(), 1U);
    }
}

TEST(Tracer, JobsInOneFolderDoNotTouchEachOther) {
    const TemporaryFolder folder;
    TraceHeader header;
    header.job = 1;
    ASSERT_FALSE(Tracer::open({.folder = folder.path(), .bytes = 4096, .header = header}));
    Tracer::begin();
    const std::string own = folder.path() + "/rank-000000.0000000000000001";
    const std::string other = folder.path() + "/rank-000000.0000000000000002";
    std::ofstream(other + ".events") << "another job's";
    TraceRecord record;
    record.kind = TraceKind::function;
    record.name = Tracer::get()->text("MPI_Comm_dup");
    Tracer::get()->end(Tracer::get()->begin(record), record);
    // As if the same job had a second such rank.
    EXPECT_TRUE(Tracer::open({.folder = folder.path(), .bytes = 4096, .header = header}).has_value());
    EXPECT_FALSE(Tracer::get()->finish());
    EXPECT_TRUE(std::filesystem::exists(own + ".json"));
    EXPECT_FALSE(std::filesystem::exists(own + ".events"));
    EXPECT_TRUE(std::filesystem::exists(other + ".events"));
    Tracer::give_up();
}

TEST(Tracer, WhatIsLongStaysAsItIs) {
    Traced traced((17U << 20U) / sizeof(TraceRecord));
    TraceRecord call = traced.call(1);
    Tracer::get()->end(Tracer::get()->begin(call), call);
    EXPECT_FALSE(Tracer::get()->finish());
    EXPECT_FALSE(std::filesystem::exists(traced.file("json")));
    EXPECT_EQ(traced.read("events").calls.size(), 1U);
}

TEST(Tracer, ACallThatWasRefusedIsForgotten) {
    Traced traced;
    TraceRecord wrong = traced.call(1);
    Tracer::get()->forget(Tracer::get()->begin(wrong));
    TraceRecord right = traced.call(1);
    Tracer::get()->end(Tracer::get()->begin(right), right);
    EXPECT_FALSE(Tracer::get()->finish());
    ASSERT_EQ(traced.read().calls.size(), 1U);
}

// A persistent collective is made once; its runs go on.
TEST(Tracer, RunsOfACallThatHasGivenWayAreExplained) {
    Traced traced(64);
    TraceRecord made = traced.call(1);
    made.form = static_cast<std::uint8_t>(CallForm::persistent);
    Tracer::get()->end(Tracer::get()->begin(made), made);
    TracedRun run(made, 1);
    for (int i = 0; i < 100; ++i) {
        run.begin_run();
        run.end(run.begin({.kind = StepKind::send, .peer = 1, .tag = 0, .step = 0, .segment = 0, .units = 1},
                          StepTrace::now));
        run.end_run();
    }
    EXPECT_FALSE(Tracer::get()->finish());
    const RankTrace trace = traced.read();
    ASSERT_EQ(trace.calls.size(), 1U);
    EXPECT_EQ(trace.calls[0].form, CallForm::persistent);
    EXPECT_EQ(trace.calls[0].in_background.size(), 32U);
    EXPECT_EQ(trace.calls[0].steps.size(), 32U);
    EXPECT_EQ(trace.calls[0].runs, "han:segment=64k");
}

// ---- the clock ------------------------------------------------------------------------------------------------------------

TEST(TraceView, TimesAreThoseOfTheCommonClock) {
    TraceHeader header;
    header.origin = 1'000'000;
    const auto time = [&](std::uint64_t at) {
        return TraceView{.header = header, .communicators = {}, .texts = {}, .ring = {}}.time(at);
    };
    EXPECT_EQ(time(1'000'500), 500);
    header.clocks.add({.process = 5'000'000, .common = 1'000'000});
    EXPECT_EQ(time(5'000'700), 700);
    // By 100 ns in a millisecond.
    header.clocks.add({.process = 6'000'000, .common = 2'000'100});
    EXPECT_EQ(time(5'000'000), 0);
    EXPECT_EQ(time(5'500'000), 500'050);
    EXPECT_EQ(time(6'000'000), 1'000'100);
}

TEST(TraceText, AnyNameIsATextThatViewersRead) {
    Traced traced;
    const int strange = Tracer::get()->know(5, "a \"name\" \\ with\n\xff\x01", 0, 1);
    TraceRecord call = traced.call(1);
    call.communicator = static_cast<std::uint16_t>(strange);
    Tracer::get()->end(Tracer::get()->begin(call), call);
    EXPECT_FALSE(Tracer::get()->finish());
    const auto document = nlohmann::json::parse(trace_text_of_file(traced.file("json")), nullptr, false);
    ASSERT_TRUE(document.is_object());
    EXPECT_GE(document["traceEvents"].size(), 3U);
}

// ---- who is late ------------------------------------------------------------------------------------------------------------

TEST(LateRanks, WaitingEndsWhereNothingIsMissing) {
    const CallArrivals arrivals{.root = 50, .last = 80};
    const auto waiting = [&](Collective collective, bool is_root, std::int64_t begin, std::int64_t end,
                             bool has_bytes = true) {
        const CallSplit split = split_call(collective, has_bytes, is_root, begin, end, arrivals);
        EXPECT_EQ(split.waiting + split.algorithm, end - begin);
        return split.waiting;
    };
    for (const Collective all : {Collective::allreduce, Collective::allgather, Collective::barrier}) {
        EXPECT_EQ(waiting(all, false, 10, 100), 70);
        EXPECT_EQ(waiting(all, false, 80, 100), 0);
    }
    for (const Collective from_root : {Collective::bcast, Collective::scatter}) {
        EXPECT_EQ(waiting(from_root, false, 10, 100), 40);
        EXPECT_EQ(waiting(from_root, false, 70, 100), 0);
        EXPECT_EQ(waiting(from_root, true, 50, 100), 0);
    }
    for (const Collective to_root : {Collective::reduce, Collective::gather}) {
        EXPECT_EQ(waiting(to_root, true, 50, 100), 30);
        EXPECT_EQ(waiting(to_root, false, 10, 100), 0);
    }
    // Nothing is waited for longer than the call lasts, nor where there are no bytes.
    EXPECT_EQ(waiting(Collective::barrier, false, 10, 60), 50);
    EXPECT_EQ(waiting(Collective::allreduce, false, 10, 100, false), 0);
    EXPECT_EQ(waiting(Collective::barrier, false, 10, 100, false), 70);
}

TEST(Arrivals, WhatIsKeptIsBoundedAndHasTheSameNumbersOnRanksThatMakeMoreCalls) {
    constexpr std::size_t most = 64;
    Arrivals few(most);
    Arrivals many(most);
    for (std::uint64_t number = 1; number <= 10'000; ++number) {
        few.add({.key = 1, .number = number});
        many.add({.key = 1, .number = number});
        for (std::uint64_t other = 2; other < 5; ++other) many.add({.key = other, .number = number});
        ASSERT_LE(few.calls().size(), most);
        ASSERT_LE(many.calls().size(), most);
    }
    EXPECT_GT(few.calls().size(), most / 8);
    // A program that makes six calls in turn has each of them among those that are kept.
    std::array<int, 6> turns{};
    for (const Arrival& each : few.calls()) ++turns[each.number % turns.size()];
    for (const int kept : turns) EXPECT_GT(kept, 0);
    std::size_t in_common = 0;
    for (const Arrival& each : many.calls())
        for (const Arrival& other : few.calls())
            if (each.key == 1 && other.number == each.number) ++in_common;
    EXPECT_GT(in_common, most / 16);
    // Of many communicators with one call each.
    Arrivals once(most);
    for (std::uint64_t key = 1; key < 1000; ++key) once.add({.key = key * 0x123456789abcdefU, .number = 1});
    EXPECT_LE(once.calls().size(), most);
    EXPECT_GT(once.calls().size(), most / 8);
}

// ---- explaining ----------------------------------------------------------------------------------------------------------

constexpr std::int64_t us = 1000;

// A job that nobody ran: nodes of two ranks each.
std::vector<RankTrace> job_of(int ranks) {
    std::vector<RankTrace> job;
    for (int rank = 0; rank < ranks; ++rank)
        job.push_back({.job = 1,
                       .started = 1,
                       .rank = rank,
                       .ranks = ranks,
                       .node = rank / 2,
                       .socket = 0,
                       .clocks = 2,
                       .host = "n" + std::to_string(rank / 2),
                       .mpi_library = {},
                       .overwritten = 0,
                       .left_out = 0,
                       .file = {},
                       .calls = {}});
    return job;
}

TracedCollective& add_call(std::vector<RankTrace>& job, int rank, std::uint64_t number, Collective collective,
                           std::int64_t begin, std::int64_t end, int root = -1) {
    auto& calls = job[static_cast<std::size_t>(rank)].calls;
    calls.push_back({.key = 9,
                     .number = number,
                     .collective = collective,
                     .form = CallForm::blocking,
                     .communicator = "MPI_COMM_WORLD",
                     .rank = rank,
                     .size = static_cast<int>(job.size()),
                     .root = root,
                     .bytes = 1024,
                     .operation = {},
                     .type = {},
                     .runs = "binomial:segment=0",
                     .span = {begin, end, true},
                     .in_background = {},
                     .steps = {}});
    return calls.back();
}

TracedStepEvent step(TraceKind kind, int peer, std::int64_t begin, std::int64_t end, std::uint32_t tag = 0) {
    return {.kind = kind, .span = {begin, end, true}, .peer = peer, .step = 1, .segment = 0, .tag = tag, .bytes = 1024};
}

// 1 tells 0, which combines; 0 came late.
std::vector<RankTrace> reduce_of_two() {
    std::vector<RankTrace> job = job_of(2);
    auto& root = add_call(job, 0, 1, Collective::reduce, 30 * us, 50 * us, 0);
    root.steps = {step(TraceKind::recv, 1, 32 * us, 40 * us), step(TraceKind::reduce, -1, 41 * us, 48 * us)};
    auto& other = add_call(job, 1, 1, Collective::reduce, 10 * us, 39 * us, 0);
    other.steps = {step(TraceKind::send, 0, 12 * us, 38 * us)};
    return job;
}

std::string path_of(const TracedCallOfAll& call) {
    constexpr const char* kinds[] = {"late", "message", "reduce", "copy", "leaders", "wait", "between"};
    std::string text;
    for (const PathPiece& piece : critical_path(call))
        text += kinds[static_cast<std::size_t>(piece.kind)] + std::string(" ") + std::to_string(piece.rank) + " " +
                std::to_string(piece.begin / us) + "-" + std::to_string(piece.end / us) + "; ";
    return text;
}

TEST(CriticalPath, AMessageBeginsWhereTheLaterOfTheTwoHasCome) {
    const std::vector<RankTrace> job = reduce_of_two();
    const auto calls = collectives_of(job);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(path_of(calls[0]),
              "late 0 10-30; between 0 30-32; message 0 32-40; between 0 40-41; reduce 0 41-48; between 0 48-50; ");
}

TEST(CriticalPath, GoesOnAtASenderThatWasWaitedFor) {
    std::vector<RankTrace> job = job_of(4);
    // 0 to 2 over the network, 2 to 3 in the node.
    add_call(job, 0, 1, Collective::bcast, 20 * us, 25 * us, 0).steps = {step(TraceKind::send, 2, 22 * us, 24 * us)};
    add_call(job, 1, 1, Collective::bcast, 0, 1 * us, 0);
    add_call(job, 2, 1, Collective::bcast, 5 * us, 60 * us, 0).steps = {step(TraceKind::recv, 0, 6 * us, 50 * us),
                                                                        step(TraceKind::send, 3, 51 * us, 59 * us)};
    add_call(job, 3, 1, Collective::bcast, 7 * us, 70 * us, 0).steps = {step(TraceKind::recv, 2, 8 * us, 65 * us)};
    const auto calls = collectives_of(job);
    EXPECT_EQ(path_of(calls.at(0)),
              "late 0 0-20; between 0 20-22; message 2 22-50; between 2 50-51; message 3 51-65; between 3 65-70; ");
}

TEST(CriticalPath, WithoutStepsMpisRulesSayWhoWasWaitedFor) {
    std::vector<RankTrace> job = job_of(2);
    add_call(job, 0, 1, Collective::allreduce, 0, 90 * us);
    add_call(job, 1, 1, Collective::allreduce, 70 * us, 80 * us);
    add_call(job, 0, 2, Collective::bcast, 100 * us, 101 * us, 0);
    add_call(job, 1, 2, Collective::bcast, 95 * us, 110 * us, 0);
    const auto calls = collectives_of(job);
    EXPECT_EQ(path_of(calls.at(0)), "late 1 0-70; between 0 70-90; ");
    EXPECT_EQ(path_of(calls.at(1)), "late 0 95-100; between 1 100-110; ");
}

TEST(CriticalPath, AWaitForAFlagIsTheTimeOfWhoRaisesIt) {
    std::vector<RankTrace> job = job_of(2);
    add_call(job, 0, 1, Collective::bcast, 0, 50 * us, 1).steps = {step(TraceKind::wait, 1, 5 * us, 45 * us)};
    add_call(job, 1, 1, Collective::bcast, 10 * us, 40 * us, 1).steps = {step(TraceKind::copy, -1, 12 * us, 38 * us)};
    const auto calls = collectives_of(job);
    EXPECT_EQ(path_of(calls.at(0)), "late 1 0-10; between 1 10-12; copy 1 12-38; between 1 38-45; between 0 45-50; ");
}

// Whatever ranks say: the pieces follow one another, from the first rank's coming to the last one's going.
TEST(CriticalPath, CoversACallWithoutGaps) {
    test::Random random(test::test_seed());
    constexpr TraceKind kinds[] = {TraceKind::send, TraceKind::recv,    TraceKind::reduce,
                                   TraceKind::copy, TraceKind::leaders, TraceKind::wait};
    for (int round = 0; round < 3000; ++round) {
        const int ranks = 1 + static_cast<int>(random.below(5));
        std::vector<RankTrace> job = job_of(ranks);
        const auto collective = static_cast<Collective>(random.below(collective_count));
        const int root = has_root(collective) ? static_cast<int>(random.below(static_cast<std::uint64_t>(ranks))) : -1;
        for (int rank = 0; rank < ranks; ++rank) {
            const std::int64_t begin = random.between(0, 40);
            auto& call = add_call(job, rank, 1, collective, begin, begin + random.between(0, 60), root);
            for (std::uint64_t i = random.below(8); i > 0; --i) {
                const std::int64_t from = random.between(call.span.begin, call.span.end);
                call.steps.push_back(
                    step(kinds[random.below(std::size(kinds))], static_cast<int>(random.between(-2, ranks)), from,
                         random.between(from, call.span.end), static_cast<std::uint32_t>(random.below(2))));
            }
            std::sort(call.steps.begin(), call.steps.end(),
                      [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
        }
        const auto calls = collectives_of(job);
        ASSERT_EQ(calls.size(), 1U);
        std::int64_t at = calls[0].begin();
        for (const PathPiece& piece : critical_path(calls[0])) {
            ASSERT_EQ(piece.begin, at) << "round " << round;
            ASSERT_GE(piece.end, piece.begin) << "round " << round;
            at = piece.end;
        }
        ASSERT_EQ(at, calls[0].end()) << "round " << round;
        (void)call_trace_text(job, calls[0]);
        (void)info::trace_svg(job, calls[0]);
        (void)explanation_text(explain_trace(job));
    }
}

TEST(ExplainTrace, LateRanksAreNamedAndCounted) {
    std::vector<RankTrace> job = job_of(4);
    for (std::uint64_t number = 1; number <= 10; ++number) {
        const auto at = static_cast<std::int64_t>(number) * 1000 * us;
        for (int rank = 0; rank < 4; ++rank)
            add_call(job, rank, number, Collective::allreduce, at + (rank == 2 ? 100 * us : 0), at + 120 * us);
    }
    const TraceExplanation found = explain_trace(job);
    EXPECT_EQ(found.collectives, 10U);
    EXPECT_EQ(found.incomplete, 0U);
    EXPECT_EQ(found.waiting, 10 * 3 * 100 * us);
    EXPECT_EQ(found.time, 10 * (3 * 120 + 20) * us);
    ASSERT_EQ(found.late.size(), 1U);
    EXPECT_EQ(found.late[0].rank, 2);
    EXPECT_EQ(found.late[0].calls, 10U);
    ASSERT_EQ(found.places.size(), 1U);
    EXPECT_EQ(found.places[0].runs, "binomial");
    EXPECT_EQ(found.places[0].path[static_cast<std::size_t>(PathPiece::Kind::late)], 10 * 100 * us);
    const std::string text = explanation_text(found);
    EXPECT_NE(text.find("waiting for late ranks: 79 %"), std::string::npos) << text;
    EXPECT_NE(text.find("100 % of that for rank 2 on n1, in 10 calls"), std::string::npos) << text;
    const auto document = nlohmann::json::parse(explanation_json(found), nullptr, false);
    EXPECT_EQ(document["late_ranks"][0]["rank"], 2);
}

TEST(ExplainTrace, MessagesAreCountedByWhatTheyCross) {
    std::vector<RankTrace> job = job_of(4);
    job[1].socket = 1;
    add_call(job, 0, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::send, 1, 1 * us, 2 * us),
                                                                   step(TraceKind::send, 2, 2 * us, 3 * us)};
    add_call(job, 1, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::recv, 0, 0, 11 * us)};
    add_call(job, 2, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::recv, 0, 0, 22 * us),
                                                                   step(TraceKind::send, 3, 23 * us, 24 * us)};
    add_call(job, 3, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::recv, 2, 25 * us, 28 * us)};
    const TraceExplanation found = explain_trace(job);
    const auto& of = found.levels;
    EXPECT_EQ(of[static_cast<std::size_t>(Link::node)].messages, 1U);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::node)].under_way, 10 * us);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::network)].messages, 1U);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::network)].under_way, 20 * us);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::socket)].messages, 1U);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::socket)].bytes, 1024U);
    EXPECT_EQ(of[static_cast<std::size_t>(Link::socket)].under_way, 3 * us);
}

TEST(ExplainTrace, WhatIsNotCompleteIsCountedAndLeftOut) {
    std::vector<RankTrace> job = job_of(2);
    add_call(job, 0, 1, Collective::barrier, 0, 10);
    add_call(job, 0, 2, Collective::barrier, 20, 30).span.is_over = false;
    add_call(job, 1, 2, Collective::barrier, 20, 30);
    job[1].overwritten = 5;
    const TraceExplanation found = explain_trace(job);
    EXPECT_EQ(found.collectives, 2U);
    EXPECT_EQ(found.incomplete, 1U);
    EXPECT_EQ(found.unfinished, 1U);
    EXPECT_EQ(found.overwritten, 5U);
    EXPECT_TRUE(found.places.empty());
    job.pop_back();
    EXPECT_NE(explanation_text(explain_trace(job)).find("of 1 ranks there is no trace"), std::string::npos);
}

TEST(ExplainTrace, WhoWasLateInACallThatIsNotCompleteIsNotSaid) {
    std::vector<RankTrace> job = job_of(3);
    add_call(job, 1, 1, Collective::bcast, 10 * us, 90 * us, 0);
    add_call(job, 2, 1, Collective::bcast, 60 * us, 90 * us, 0);
    const auto calls = collectives_of(job);
    EXPECT_EQ(path_of(calls.at(0)), "between 1 10-90; ");
    const std::string text = call_trace_text(job, calls[0]);
    EXPECT_NE(text.find("who was late cannot be told"), std::string::npos) << text;
    EXPECT_EQ(text.find("has not come"), std::string::npos) << text;
}

TEST(ExplainTrace, CallsThatContradictOneAnotherAreNoPair) {
    std::vector<RankTrace> job = job_of(2);
    add_call(job, 0, 1, Collective::bcast, 0, 10 * us, 0);
    add_call(job, 1, 1, Collective::barrier, 0, 10 * us);
    add_call(job, 0, 2, Collective::bcast, 20 * us, 30 * us, 0);
    add_call(job, 1, 2, Collective::bcast, 20 * us, 30 * us, 1);
    EXPECT_EQ(explain_trace(job).incomplete, 2U);
}

TEST(ExplainTrace, CallsThatDoNotBlockAreNotSplit) {
    std::vector<RankTrace> job = job_of(2);
    for (int rank = 0; rank < 2; ++rank) {
        auto& call = add_call(job, rank, 1, Collective::allreduce, rank * 50 * us, (rank * 50 + 1) * us);
        call.form = CallForm::nonblocking;
        call.in_background = {{rank * 50 * us, 80 * us, true}};
    }
    const TraceExplanation found = explain_trace(job);
    EXPECT_EQ(found.waiting, 0);
    EXPECT_EQ(found.places.at(0).time, (80 + 30) * us);
    const auto calls = collectives_of(job);
    EXPECT_EQ(calls.at(0).end(), 80 * us);
    const std::string text = call_trace_text(job, calls[0]);
    EXPECT_NE(text.find("rank 1 runs it from 50.000 to 80.000 us"), std::string::npos) << text;
}

TEST(ExplainTrace, ClocksThatCannotBeRightAreSaid) {
    std::vector<RankTrace> job = job_of(2);
    add_call(job, 0, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::send, 1, 40 * us, 41 * us)};
    add_call(job, 1, 1, Collective::bcast, 0, 50 * us, 0).steps = {step(TraceKind::recv, 0, 10 * us, 33 * us)};
    job[1].clocks = 1;
    const TraceExplanation found = explain_trace(job);
    EXPECT_EQ(found.clock_error, 7 * us);
    EXPECT_EQ(found.compared_once, 1);
    EXPECT_NE(explanation_text(found).find("clocks are off by 7.000 us or more"), std::string::npos);
}

TEST(ReadTraceFolder, TheLastJobCounts) {
    const TemporaryFolder folder;
    const auto write = [&](int rank, const char* job, int started) {
        std::ofstream file(folder.path() + "/rank-00000" + std::to_string(rank) + ".json");
        file << R"({"otherData":{"libhcoll_trace":1,"job":")" << job << R"(","started":)" << started << R"(,"rank":)"
             << rank << R"(,"ranks":3},"traceEvents":[]})";
    };
    write(0, "ab", 20);
    write(1, "ab", 20);
    write(2, "cd", 10);
    std::ofstream(folder.path() + "/rank-000009.json") << "{";
    std::ofstream(folder.path() + "/rank-000008.events") << "hcolltr1";
    std::filesystem::create_directory(folder.path() + "/rank-000007.json");
    std::ofstream(folder.path() + "/notes.txt") << "of no rank";
    const TraceFolder found = read_trace_folder(folder.path());
    ASSERT_EQ(found.ranks.size(), 2U);
    EXPECT_EQ(found.ranks[0].rank, 0);
    EXPECT_EQ(found.ranks[1].rank, 1);
    EXPECT_EQ(found.problems.size(), 4U);
    EXPECT_EQ(read_trace_folder(folder.path(), 0xcd).ranks.at(0).rank, 2);
    EXPECT_THROW(read_trace_folder(folder.path() + "/nowhere"), std::runtime_error);
}

// ---- the engine ------------------------------------------------------------------------------------------------------------

std::size_t steps_of(const Plan& plan) {
    std::size_t count = 0;
    for (const Phase& phase : plan.phases)
        for (std::uint64_t number = 0; number < phase.segments(); ++number)
            for (std::uint32_t index = 0; index < phase.steps; ++index)
                if ((plan.steps[phase.first_step + index].positions & phase.segment(number).position) != 0) ++count;
    return count;
}

TEST(EngineTrace, EachStepBeginsAndEndsOnce) {
    std::mt19937_64 random(test::test_seed());
    for (const Algorithm& algorithm : algorithms())
        for (const int ranks : {1, 2, 5, 8})
            for (const test::Layout& layout : test::layouts_of(ranks)) {
                const test::PlanCase plan_case{
                    .algorithm = &algorithm,
                    .parameters = algorithm.defaults,
                    .ranks = ranks,
                    .units = algorithm.collective == Collective::barrier ? 1 : 1 + random() % 40,
                    .layout = layout};
                std::vector<Plan> plans = build_plans(plan_case);
                std::size_t steps = 0;
                for (const Plan& plan : plans) steps += steps_of(plan);
                test::CountingTrace trace;
                const StepTrace::Scope scope(&trace);
                const auto defect = run_and_compare(plan_case, std::move(plans), random);
                EXPECT_FALSE(defect) << plan_case.name() << ": " << *defect;
                EXPECT_EQ(trace.steps.size(), steps) << plan_case.name();
                EXPECT_TRUE(trace.has_each_ended_once()) << plan_case.name();
            }
}

}  // namespace

}  // namespace hcoll
