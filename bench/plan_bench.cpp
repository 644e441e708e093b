// SPDX-License-Identifier: BSD-3-Clause
// What plans cost besides running them: building one, and finding it again.
//
//   hcoll-plan-bench [--benchmark_filter=build/allreduce.*/1024]
//
// Nodes of 16 ranks, two sockets each; the plan is that of the rank with the most steps (the root, or a leader).
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "algorithms/catalog.hpp"
#include "progress/engine/plan_cache.hpp"

namespace {

using namespace hcoll;

Placement nodes_of_16(int ranks) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < ranks; ++rank) seats.push_back({rank / 16, rank / 8 % 2, rank % 16});
    return Placement(seats);
}

void build(benchmark::State& state, const Algorithm& algorithm) {
    const int ranks = static_cast<int>(state.range(0));
    const Placement placement = nodes_of_16(ranks);
    const bool is_barrier = algorithm.collective == Collective::barrier;
    const PlanRequest request{.ranks = ranks,
                              .units = is_barrier ? 1U : 4096U,
                              .unit_bytes = is_barrier ? 1U : 8U,
                              .in_place = is_barrier,
                              .placement = &placement};
    std::size_t bytes = 0;
    for (auto _ : state) {
        const Plan plan = algorithm.build(request, algorithm.defaults);
        bytes = plan.memory_bytes();
        benchmark::DoNotOptimize(bytes);
    }
    state.counters["plan_bytes"] = static_cast<double>(bytes);
}

// Calls that take turns at `keys` sizes.
void look_up(benchmark::State& state) {
    const auto keys = static_cast<std::uint64_t>(state.range(0));
    const Algorithm& algorithm = *find_algorithm(Collective::allreduce, "recursive_doubling");
    PlanCache cache(1 << 20);
    std::uint64_t turn = 0;
    for (auto _ : state) {
        const PlanKey key{.collective = Collective::allreduce, .unit_bytes = 8, .units = 1 + turn++ % keys};
        const auto plan = cache.get(key, [&] {
            return algorithm.build({.ranks = 1024, .units = key.units, .unit_bytes = 8}, algorithm.defaults);
        });
        benchmark::DoNotOptimize(plan.get());
    }
}
BENCHMARK(look_up)->Arg(1)->Arg(2)->Arg(16)->Arg(64);

}  // namespace

int main(int argc, char** argv) {
    for (const Algorithm& algorithm : algorithms())
        benchmark::RegisterBenchmark(
            ("build/" + std::string(name_of(algorithm.collective)) + "/" + std::string(algorithm.name)).c_str(), build,
            algorithm)
            ->Arg(64)
            ->Arg(1024)
            ->Unit(benchmark::kMicrosecond);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
