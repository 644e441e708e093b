// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/mpi_laboratory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/compute.hpp"

namespace hcoll {

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <typename Work>
double median_of_some(const Work& work) {
    std::array<double, 9> all{};
    work();
    for (double& one : all) {
        const double begin = seconds();
        work();
        one = seconds() - begin;
    }
    std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
    return all[all.size() / 2];
}

}  // namespace

MessageMemory::MessageMemory(std::size_t bytes) : input_(bytes, std::byte{1}), output_(bytes, std::byte{1}) {}

MpiLaboratory::MpiLaboratory(MPI_Comm communicator, Placement placement, MessageMemory& memory, bool may_share_memory,
                             const MeasuringOptions& options)
    : all_{.communicator = communicator},
      placement_(std::move(placement)),
      memory_(memory),
      may_share_memory_(may_share_memory),
      options_(options) {
    require_mpi(PMPI_Comm_dup(communicator, &meeting_));
    require_mpi(PMPI_Comm_rank(communicator, &rank_));
    if (has_shared_memory()) may_share_memory_ = can_share_memory();
}

bool MpiLaboratory::can_share_memory() {
    const std::string why = why_not_taken(all_.communicator, {.collective = Collective::barrier}, "shared");
    return longest(why.empty() ? 0 : 1) == 0;
}

std::string MpiLaboratory::why_not_taken(MPI_Comm communicator, const TableCall& call,
                                         const std::string& choice) const {
    int ranks = 0;
    require_mpi(PMPI_Comm_size(communicator, &ranks));
    if (ranks == 1) return {};
    std::array<char, MPI_MAX_INFO_VAL + 1> answer{};
    int is_answered = 0;
    MPI_Info info = MPI_INFO_NULL;
    require_mpi(PMPI_Info_create(&info));
    require_mpi(PMPI_Info_set(info, fmt::format("libhcoll_{}", call.name()).c_str(), choice.c_str()));
    require_mpi(PMPI_Info_set(info, HCOLL_INFO_ANSWER, "none"));
    require_mpi(MPI_Comm_set_info(communicator, info));
    require_mpi(PMPI_Info_get(info, HCOLL_INFO_ANSWER, MPI_MAX_INFO_VAL, answer.data(), &is_answered));
    require_mpi(PMPI_Info_free(&info));
    std::string why = is_answered != 0 ? answer.data() : "none";
    if (why == HCOLL_ANSWER_TAKEN) why.clear();
    return why;
}

MpiLaboratory::~MpiLaboratory() {
    for (auto& [level, bench] : levels_)
        if (bench.communicator != MPI_COMM_NULL) MPI_Comm_free(&bench.communicator);
    PMPI_Comm_free(&meeting_);
    MPI_Comm_free(&all_.communicator);
}

int MpiLaboratory::of_first_rank(int value) const {
    require_mpi(PMPI_Bcast(&value, 1, MPI_INT, 0, meeting_));
    return value;
}

// Made when it is first asked for; MPI_COMM_NULL on ranks that have no part in it.
MpiLaboratory::Bench& MpiLaboratory::bench_of(Level level) {
    auto [found, is_new] = levels_.try_emplace(level);
    if (is_new) {
        const int node = placement_.node_of(rank_);
        const bool is_first = placement_.index_on_node(rank_) == 0;
        const int color = level == Level::node ? node : is_first ? 0 : MPI_UNDEFINED;
        require_mpi(MPI_Comm_split(all_.communicator, color, rank_, &found->second.communicator));
    }
    return found->second;
}

double MpiLaboratory::longest(double mine) const {
    double all = 0;
    require_mpi(PMPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, meeting_));
    return all;
}

double MpiLaboratory::now() { return longest(rank_ == 0 ? seconds() : 0); }

bool MpiLaboratory::choose(Bench& bench, const TableCall& call, const std::string& choice) {
    std::string wanted = fmt::format("{}={}", call.name(), choice);
    if (wanted == bench.chosen) return false;
    // The ranks of a bench may be a part of the laboratory, which all have to leave.
    if (bench.why_not.empty() && bench.communicator != MPI_COMM_NULL)
        bench.why_not = why_not_taken(bench.communicator, call, choice);
    bench.chosen = std::move(wanted);
    if (longest(bench.why_not.empty() ? 0 : 1) != 0)
        throw ChoiceNotTaken(fmt::format("{} does not run here: {}", bench.chosen,
                                         bench.why_not.empty() ? "other ranks cannot" : bench.why_not.c_str()));
    return true;
}

// Bytes for what moves bytes, doubles for reductions: rules go by bytes.
struct MpiLaboratory::Operands {
    int count;
    int elements;
    MPI_Datatype type;
    void* input;
    void* output;
};

MpiLaboratory::Operands MpiLaboratory::operands_of(std::uint64_t bytes) {
    const auto count = static_cast<int>(bytes);
    const bool is_whole = bytes % sizeof(double) == 0;
    return {.count = count,
            .elements = is_whole ? count / static_cast<int>(sizeof(double)) : count,
            .type = is_whole ? MPI_DOUBLE : MPI_SIGNED_CHAR,
            .input = memory_.input(),
            .output = memory_.output()};
}

MPI_Request MpiLaboratory::begin(MPI_Comm communicator, const TableCall& call, std::uint64_t bytes) {
    auto [count, elements, type, input, output] = operands_of(bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    switch (call.collective) {
        case Collective::bcast: require_mpi(MPI_Ibcast(output, count, MPI_BYTE, 0, communicator, &request)); break;
        case Collective::reduce:
            require_mpi(MPI_Ireduce(input, output, elements, type, MPI_SUM, 0, communicator, &request));
            break;
        default: require_mpi(MPI_Iallreduce(input, output, elements, type, MPI_SUM, communicator, &request)); break;
    }
    return request;
}

void MpiLaboratory::run(MPI_Comm communicator, const TableCall& call, std::uint64_t bytes, std::uint64_t computing) {
    auto [count, elements, type, input, output] = operands_of(bytes);
    if (call.is_nonblocking) {
        MPI_Request request = begin(communicator, call, bytes);
        compute(computing);
        require_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
        return;
    }
    switch (call.collective) {
        case Collective::bcast: require_mpi(MPI_Bcast(output, count, MPI_BYTE, 0, communicator)); break;
        case Collective::reduce:
            require_mpi(MPI_Reduce(input, output, elements, type, MPI_SUM, 0, communicator));
            break;
        case Collective::allreduce:
            require_mpi(MPI_Allreduce(input, output, elements, type, MPI_SUM, communicator));
            break;
        case Collective::barrier: require_mpi(MPI_Barrier(communicator)); break;
        case Collective::gather:
            require_mpi(MPI_Gather(input, count, MPI_BYTE, output, count, MPI_BYTE, 0, communicator));
            break;
        case Collective::scatter:
            require_mpi(MPI_Scatter(input, count, MPI_BYTE, output, count, MPI_BYTE, 0, communicator));
            break;
        case Collective::allgather:
            require_mpi(MPI_Allgather(input, count, MPI_BYTE, output, count, MPI_BYTE, communicator));
            break;
    }
}

double MpiLaboratory::row(const TableCall& call, std::uint64_t bytes, int calls, std::uint64_t computing) {
    require_mpi(PMPI_Barrier(meeting_));
    const double begin = seconds();
    for (int i = 0; i < calls; ++i) run(all_.communicator, call, bytes, computing);
    return longest(seconds() - begin) / calls;
}

// Steps of computing, the same on all ranks.
std::uint64_t MpiLaboratory::steps_in(double wanted) {
    if (seconds_of_step_ == 0) {
        constexpr std::uint64_t some = 10'000;
        constexpr int times = 20;
        double fastest = 1;
        for (int i = 0; i < times; ++i) {
            const double begin = seconds();
            compute(some);
            fastest = std::min(fastest, seconds() - begin);
        }
        seconds_of_step_ = longest(fastest) / static_cast<double>(some);
    }
    return static_cast<std::uint64_t>(wanted / seconds_of_step_);
}

// As long as the vendor's call takes alone.
std::uint64_t MpiLaboratory::computing_beside(const TableCall& call, std::uint64_t bytes) {
    if (!call.is_nonblocking) return 0;
    const auto [known, is_new] = computing_.try_emplace(fmt::format("{} {}", call.name(), bytes), 0);
    if (is_new) {
        choose(all_, call, "vendor");
        known->second = steps_in(longest(single_call(all_, call, bytes)));
    }
    return known->second;
}

double MpiLaboratory::sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    const std::uint64_t computing = computing_beside(call, bytes);
    const bool is_other = choose(all_, call, choice);
    auto [known, is_new] = rows_.try_emplace(fmt::format("{} {}", all_.chosen, bytes));
    Row& of_row = known->second;
    if (is_new) {
        // The first call makes the plan, and how many are a row depends on how long one takes.
        double one = row(call, bytes, 1, computing);
        // It may have opened connections, too, or been disturbed.
        if (one > options_.long_call) one = std::min(one, row(call, bytes, 1, computing));
        of_row.is_long = one > options_.long_call;
        if (!of_row.is_long) one = std::max(row(call, bytes, 1, computing), 1e-9);
        of_row.calls = calls_of_a_row(options_, one);
        if (of_row.calls == 1) return one;
    } else if (is_other && !of_row.is_long) {
        row(call, bytes, 1, 0);  // plans were forgotten when another choice took the call
    }
    return row(call, bytes, of_row.calls, computing);
}

// All ranks of the laboratory begin at the same time; median of some, on this rank. The first call makes the plan.
double MpiLaboratory::single_call(const Bench& bench, const TableCall& call, std::uint64_t bytes) {
    const auto one = [&] {
        require_mpi(PMPI_Barrier(meeting_));
        const double begin = seconds();
        if (bench.communicator != MPI_COMM_NULL) run(bench.communicator, call, bytes);
        return seconds() - begin;
    };
    // Of all ranks, and of this one.
    const auto look = [&] {
        const double mine = one();
        return std::pair(longest(mine), mine);
    };
    auto [of_all, first] = look();
    if (of_all > options_.long_call) std::tie(of_all, first) = std::min(std::pair(of_all, first), look());
    const int calls = single_calls_of(options_, std::max(of_all, 1e-9));
    if (calls == 0) return first;
    std::vector<double> mine(static_cast<std::size_t>(calls));
    for (double& seconds_of_one : mine) seconds_of_one = one();
    std::nth_element(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(mine.size() / 2), mine.end());
    return mine[mine.size() / 2];
}

std::vector<double> MpiLaboratory::sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    choose(all_, call, choice);
    const double median = single_call(all_, call, bytes);
    std::vector<double> all(static_cast<std::size_t>(placement_.ranks()));
    require_mpi(PMPI_Allgather(&median, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, meeting_));
    return all;
}

double MpiLaboratory::sample_level(Level level, const TableCall& call, const std::string& choice, std::uint64_t bytes) {
    Bench& bench = bench_of(level);
    choose(bench, call, choice);
    return longest(single_call(bench, call, bytes));
}

double MpiLaboratory::exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) {
    constexpr int rounds = 15;
    const std::uint64_t steps = pause > 0 ? steps_in(pause) : 0;
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
        require_mpi(PMPI_Barrier(meeting_));
        const double slowest = longest(exchange_once(pairs, bytes, messages, steps));
        if (round != 0) all.push_back(slowest);
    }
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

// Seconds of a sender; 0 for all others.
double MpiLaboratory::exchange_once(std::span<const RankPair> pairs, std::uint64_t bytes, int messages,
                                    std::uint64_t pause) {
    constexpr int tag = 1;
    const auto count = static_cast<int>(bytes);
    std::vector<MPI_Request> requests;
    std::vector<MPI_Request> answers;
    // What is received at the same time lies side by side.
    auto place = [&, used = std::uint64_t{0}]() mutable { return memory_.output() + bytes * used++; };
    const auto wait = [](std::vector<MPI_Request>& requests_of_all) {
        require_mpi(
            PMPI_Waitall(static_cast<int>(requests_of_all.size()), requests_of_all.data(), MPI_STATUSES_IGNORE));
    };
    double paused = 0;
    const double begin = seconds();
    for (const RankPair& pair : pairs) {
        if (rank_ == pair.from)
            require_mpi(PMPI_Irecv(place(), count, MPI_BYTE, pair.to, tag, meeting_, &answers.emplace_back()));
        for (int i = 0; i < messages; ++i) {
            if (i > 0 && pause > 0 && rank_ == pair.from) {
                const double begin_of_pause = seconds();
                compute(pause);
                paused += seconds() - begin_of_pause;
            }
            if (rank_ == pair.from)
                require_mpi(
                    PMPI_Isend(memory_.input(), count, MPI_BYTE, pair.to, tag, meeting_, &requests.emplace_back()));
            else if (rank_ == pair.to)
                require_mpi(PMPI_Irecv(place(), count, MPI_BYTE, pair.from, tag, meeting_, &requests.emplace_back()));
        }
    }
    wait(requests);
    for (const RankPair& pair : pairs)
        if (rank_ == pair.to) require_mpi(PMPI_Send(memory_.input(), count, MPI_BYTE, pair.from, tag, meeting_));
    wait(answers);
    return answers.empty() ? 0 : seconds() - begin - paused;
}

bool MpiLaboratory::is_sent_at_once(RankPair pair, std::uint64_t bytes) {
    constexpr int tag_of_message = 2;
    constexpr int tag_of_word = 3;
    const auto count = static_cast<int>(bytes);
    int is_over = 0;
    require_mpi(PMPI_Barrier(meeting_));
    if (rank_ == pair.from) {
        MPI_Request request = MPI_REQUEST_NULL;
        require_mpi(PMPI_Isend(memory_.input(), count, MPI_BYTE, pair.to, tag_of_message, meeting_, &request));
        // What waits for its receiver will not be over however often it is looked at.
        constexpr int looks = 100;
        for (int look = 0; look < looks && is_over == 0; ++look)
            require_mpi(PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE));
        require_mpi(PMPI_Send(nullptr, 0, MPI_BYTE, pair.to, tag_of_word, meeting_));
        require_mpi(PMPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (rank_ == pair.to) {
        require_mpi(PMPI_Recv(nullptr, 0, MPI_BYTE, pair.from, tag_of_word, meeting_, MPI_STATUS_IGNORE));
        require_mpi(
            PMPI_Recv(memory_.output(), count, MPI_BYTE, pair.from, tag_of_message, meeting_, MPI_STATUS_IGNORE));
    }
    return longest(is_over) > 0;
}

double MpiLaboratory::copy(std::uint64_t bytes) {
    return longest(rank_ != 0 ? 0 : median_of_some([&] { std::memcpy(memory_.output(), memory_.input(), bytes); }));
}

double MpiLaboratory::reduce(std::uint64_t bytes) {
    const auto elements = static_cast<int>(bytes / sizeof(double));
    return longest(rank_ != 0 ? 0 : median_of_some([&] {
        require_mpi(PMPI_Reduce_local(memory_.input(), memory_.output(), elements, MPI_DOUBLE, MPI_SUM));
    }));
}

std::vector<double> MpiLaboratory::shared_work(std::size_t items, const std::function<double(std::size_t)>& work) {
    std::vector<double> mine(items, 0);
    std::vector<double> all(items, 0);
    const auto ranks = static_cast<std::size_t>(placement_.ranks());
    for (auto i = static_cast<std::size_t>(rank_); i < items; i += ranks) mine[i] = work(i);
    require_mpi(PMPI_Allreduce(mine.data(), all.data(), static_cast<int>(items), MPI_DOUBLE, MPI_MAX, meeting_));
    return all;
}

}  // namespace hcoll
