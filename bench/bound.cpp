// SPDX-License-Identifier: BSD-3-Clause
#include "bound.hpp"

#include <algorithm>
#include <cstring>

#include "clock.hpp"

namespace hcoll::bench {

namespace {

constexpr int samples = 15;
constexpr double sample_seconds = 0.001;
constexpr int most_iterations = 10000;

int iterations_for(double seconds_per_call) {
    return static_cast<int>(
        std::clamp(sample_seconds / std::max(seconds_per_call, 1e-9), 1.0, double{most_iterations}));
}

double memcpy_seconds(std::size_t bytes, const Buffers& buffers, int iterations) {
    const double start = now();
    for (int i = 0; i < iterations; ++i) {
        std::memcpy(buffers.output(), buffers.input(), bytes);
        asm volatile("" : : "r"(buffers.output()) : "memory");  // or the compiler would copy only once
    }
    return (now() - start) / iterations;
}

// Half the time of a round trip. The ranks in between only return.
double one_way_seconds(int bytes, const World& world, const Buffers& buffers, int iterations) {
    constexpr int tag = 0;
    const int last = world.ranks - 1;
    const double start = now();
    for (int i = 0; i < iterations; ++i) {
        if (world.rank == 0) {
            check(PMPI_Send(buffers.input(), bytes, MPI_BYTE, last, tag, MPI_COMM_WORLD));
            check(PMPI_Recv(buffers.output(), bytes, MPI_BYTE, last, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else if (world.rank == last) {
            check(PMPI_Recv(buffers.output(), bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            check(PMPI_Send(buffers.input(), bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD));
        }
    }
    return (now() - start) / iterations / 2;
}

// The shortest, not the median: a bound is what the machine can do when nothing disturbs it.
template <class Measure>
double shortest(const Measure& measure, int iterations) {
    double seconds = measure(iterations);
    for (int i = 1; i < samples; ++i) seconds = std::min(seconds, measure(iterations));
    return seconds;
}

}  // namespace

Bound measure_bound(std::size_t bytes, const World& world, const Buffers& buffers) {
    Bound bound;
    if (world.rank == 0) {
        const auto copy = [&](int iterations) { return memcpy_seconds(bytes, buffers, iterations); };
        copy(2);
        bound.memcpy_seconds = shortest(copy, iterations_for(copy(2)));
    }
    if (world.ranks > 1) {
        const auto ping = [&](int iterations) {
            return one_way_seconds(static_cast<int>(bytes), world, buffers, iterations);
        };
        check(PMPI_Barrier(MPI_COMM_WORLD));
        ping(3);
        int iterations = iterations_for(2 * ping(3));
        check(PMPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD));
        bound.one_way_seconds = shortest(ping, iterations);
        check(PMPI_Barrier(MPI_COMM_WORLD));
    }
    return bound;
}

}  // namespace hcoll::bench
