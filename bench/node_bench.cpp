// SPDX-License-Identifier: BSD-3-Clause
// hcoll-node-bench: what collectives over shared memory cost, beside what the machine needs at least.
//
//   hcoll-node-bench [--benchmark_filter=...]
//
// Two threads on two cores are the ranks; no MPI takes part: what a call costs on top is what hcoll-bench shows. Collectives
// go through blocks, those with `_single_copy` by process_vm_readv. Bounds, in the same run:
//
//   exchange_of_flags     of short messages: each raises a flag of its own and waits for the other's, in bare cache lines
//   copy_from_other_core  of a long bcast: rank 1 copies what lies in rank 0's memory and caches, at once; time against time
//   copy_of_bytes         the same on one core
//   triad                 of a long reduction: a = b + 3 c on one core; GB/s against GB/s, where a reduction's are the bytes that
//                         it has to move: m for each operand that is read and for each result that is written, 3 m for a Reduce
//                         of two ranks, 4 m for an Allreduce
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

#include "algorithms/kernels/kernels.hpp"
#include "base/shared_copy.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/shared_segment.hpp"

namespace {

using namespace hcoll;

constexpr int ranks = 2;
constexpr std::size_t buffer_bytes = 512 << 10;
constexpr std::int64_t most_bytes = 16 << 20;

// As the library sums them.
struct SumOfDoubles : Combine {
    SumOfDoubles() : Combine(sizeof(double), find_kernel(Operation::sum, Element::float64)) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        kernel(left, right, result, elements);
    }
};

struct Rank {
    SharedSegment segment;
    std::unique_ptr<NodeCollectives> node;
    std::vector<double> input = std::vector<double>(most_bytes / sizeof(double), 1);
    std::vector<double> output = std::vector<double>(most_bytes / sizeof(double), 1);
    std::vector<double> third = std::vector<double>(most_bytes / sizeof(double), 1);
    bool is_proven = false;
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
                                                              false, [](void*) { return 0; }, nullptr));
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

std::byte* bytes_of(std::vector<double>& numbers) { return reinterpret_cast<std::byte*>(numbers.data()); }

// Of all ranks together.
void count_moved(benchmark::State& state, std::int64_t bytes) {
    state.counters["GB/s"] = benchmark::Counter(static_cast<double>(bytes * state.iterations()) / state.threads(),
                                                benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

// Where single copies are asked for, and the system lets them.
std::size_t single_copy_from(benchmark::State& state, Rank& self, bool is_single) {
    if (!is_single) return NodeCollectives::never;
    if (!self.is_proven) self.is_proven = self.node->use_single_copy(make_cma_memory(ranks));
    if (!self.is_proven) state.SkipWithError("the system refuses process_vm_readv");
    return 1;
}

template <bool is_single>
void allreduce(benchmark::State& state) {
    Rank& self = self_of(state);
    const SumOfDoubles sum;
    const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    const std::size_t from = single_copy_from(state, self, is_single);
    for (auto iteration : state) self.node->allreduce(bytes_of(self.input), bytes_of(self.output), elements, sum, from);
    count_moved(state, 4 * state.range(0));
}

template <bool is_single>
void reduce(benchmark::State& state) {
    Rank& self = self_of(state);
    const SumOfDoubles sum;
    const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    const std::size_t from = single_copy_from(state, self, is_single);
    for (auto iteration : state) self.node->reduce(0, bytes_of(self.input), bytes_of(self.output), elements, sum, from);
    count_moved(state, 3 * state.range(0));
}

template <bool is_single>
void bcast(benchmark::State& state) {
    Rank& self = self_of(state);
    const std::size_t from = single_copy_from(state, self, is_single);
    for (auto iteration : state)
        self.node->bcast(0, bytes_of(self.output), static_cast<std::size_t>(state.range(0)), from);
    count_moved(state, 2 * state.range(0));
}

void copy_from_other_core(benchmark::State& state) {
    Rank& self = self_of(state);
    Rank& other = all_ranks()[static_cast<std::size_t>(1 - state.thread_index())];
    for (auto iteration : state) {
        if (state.thread_index() == 1)
            copy_shared(bytes_of(self.output), bytes_of(other.output), static_cast<std::size_t>(state.range(0)));
        self.flag.store(++self.exchanges, std::memory_order_release);
        while (other.flag.load(std::memory_order_acquire) < self.exchanges) continue;
    }
    count_moved(state, 2 * state.range(0));
}

void copy_of_bytes(benchmark::State& state) {
    Rank& self = self_of(state);
    for (auto iteration : state) {
        std::memcpy(self.output.data(), self.input.data(), static_cast<std::size_t>(state.range(0)));
        benchmark::ClobberMemory();
    }
    count_moved(state, 2 * state.range(0));
}

void triad(benchmark::State& state) {
    Rank& self = self_of(state);
    const auto elements = static_cast<std::size_t>(state.range(0)) / sizeof(double);
    const double* b = self.input.data();
    const double* c = self.output.data();
    double* a = self.third.data();
    for (auto iteration : state) {
        for (std::size_t i = 0; i < elements; ++i) a[i] = b[i] + 3 * c[i];
        benchmark::ClobberMemory();
    }
    count_moved(state, 3 * state.range(0));
}

void sizes(benchmark::internal::Benchmark* each) {
    for (const std::int64_t bytes : {8, 48, 64, 1 << 10, 8 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20})
        each->Arg(bytes);
}
void long_sizes(benchmark::internal::Benchmark* each) {
    for (const std::int64_t bytes : {16 << 10, 64 << 10, 512 << 10, 4 << 20, 16 << 20}) each->Arg(bytes);
}

BENCHMARK(exchange_of_flags)->Threads(ranks)->UseRealTime();
BENCHMARK(allreduce<false>)->Name("allreduce")->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(reduce<false>)->Name("reduce")->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(bcast<false>)->Name("bcast")->Apply(sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(allreduce<true>)->Name("allreduce_single_copy")->Apply(long_sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(reduce<true>)->Name("reduce_single_copy")->Apply(long_sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(bcast<true>)->Name("bcast_single_copy")->Apply(long_sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(copy_from_other_core)->Apply(long_sizes)->Threads(ranks)->UseRealTime();
BENCHMARK(copy_of_bytes)->Apply(sizes);
BENCHMARK(triad)->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
