// hcoll-node-bench: what collectives over shared memory cost, beside what the machine needs at least.
//
//   hcoll-node-bench [--benchmark_filter=...]
//
// Two threads on two cores are the ranks. `exchange_of_flags` is the bound of short messages: each raises a flag of its own
// and waits for the other's, in bare cache lines. `memcpy` is the bound of long ones, on one core. No MPI takes part: what
// a call costs on top is what hcoll-bench shows.
#include <benchmark/benchmark.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "progress/node_collectives.hpp"
#include "progress/shared_segment.hpp"

namespace {

using namespace hcoll;

constexpr int ranks = 2;
constexpr std::size_t buffer_bytes = 512 << 10;
constexpr std::int64_t most_bytes = 16 << 20;

struct SumOfDoubles : Combine {
    SumOfDoubles() : Combine(sizeof(double)) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        const auto* a = reinterpret_cast<const double*>(left);
        const auto* b = reinterpret_cast<const double*>(right);
        auto* c = reinterpret_cast<double*>(result);
        for (std::size_t i = 0; i < elements; ++i) c[i] = a[i] + b[i];
    }
};

struct Rank {
    SharedSegment segment;
    std::unique_ptr<NodeCollectives> node;
    std::vector<double> input = std::vector<double>(most_bytes / sizeof(double), 1);
    std::vector<double> output = std::vector<double>(most_bytes / sizeof(double), 1);
    alignas(64) std::atomic<std::uint64_t> flag{0};
    std::uint64_t exchanges = 0;
};

std::array<Rank, ranks>& all_ranks() {
    static std::array<Rank, ranks> list;
    static const bool ready = [] {
        SharedSegment& first = list[0].segment;
        if (first.create(NodeCollectives::segment_bytes(ranks, buffer_bytes)) != 0 ||
            list[1].segment.open(first.address()) != 0)
            throw std::runtime_error("no shared memory");
        const Placement placement = Placement::one_node(ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            Rank& self = list[static_cast<std::size_t>(rank)];
            self.node = std::make_unique<NodeCollectives>(self.segment.data(), buffer_bytes, placement, rank,
                                                          Waiting(
                                                              false, [](void*) {}, nullptr));
        }
        return true;
    }();
    (void)ready;
    return list;
}

// The calling thread's rank, on a core of its own.
Rank& self_of(const benchmark::State& state) {
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(static_cast<std::size_t>(state.thread_index()), &core);
    pthread_setaffinity_np(pthread_self(), sizeof core, &core);
    return all_ranks()[static_cast<std::size_t>(state.thread_index())];
}

void exchange_of_flags(benchmark::State& state) {
    Rank& self = self_of(state);
    const Rank& other = all_ranks()[static_cast<std::size_t>(1 - state.thread_index())];
    for (auto iteration : state) {
        self.flag.store(++self.exchanges, std::memory_order_release);
        while (other.flag.load(std::memory_order_acquire) < self.exchanges) continue;
    }
}

void allreduce(benchmark::State& state) {
    Rank& self = self_of(state);
    const SumOfDoubles sum;
    const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    for (auto iteration : state)
        self.node->allreduce(reinterpret_cast<const std::byte*>(self.input.data()),
                             reinterpret_cast<std::byte*>(self.output.data()), elements, sum);
    state.SetBytesProcessed(state.iterations() * state.range(0) / ranks);
}

void reduce(benchmark::State& state) {
    Rank& self = self_of(state);
    const SumOfDoubles sum;
    const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    for (auto iteration : state)
        self.node->reduce(0, reinterpret_cast<const std::byte*>(self.input.data()),
                          reinterpret_cast<std::byte*>(self.output.data()), elements, sum);
    state.SetBytesProcessed(state.iterations() * state.range(0) / ranks);
}

void bcast(benchmark::State& state) {
    Rank& self = self_of(state);
    for (auto iteration : state)
        self.node->bcast(0, reinterpret_cast<std::byte*>(self.output.data()), static_cast<std::size_t>(state.range(0)));
    state.SetBytesProcessed(state.iterations() * state.range(0) / ranks);
}

void copy_of_bytes(benchmark::State& state) {
    Rank& self = self_of(state);
    for (auto iteration : state) {
        std::memcpy(self.output.data(), self.input.data(), static_cast<std::size_t>(state.range(0)));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void triad(benchmark::State& state) {
    Rank& self = self_of(state);
    const SumOfDoubles sum;
    for (auto iteration : state) {
        sum(reinterpret_cast<const std::byte*>(self.input.data()),
            reinterpret_cast<const std::byte*>(self.output.data()), reinterpret_cast<std::byte*>(self.output.data()),
            static_cast<std::size_t>(state.range(0)) / sizeof(double));
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void sizes(benchmark::internal::Benchmark* each) {
    for (const std::int64_t bytes : {8, 48, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20}) each->Arg(bytes);
}

BENCHMARK(exchange_of_flags)->Threads(ranks)->UseRealTime();
BENCHMARK(allreduce)->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(reduce)->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(bcast)->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(copy_of_bytes)->Apply(sizes);
BENCHMARK(triad)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
