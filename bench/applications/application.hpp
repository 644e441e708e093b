// SPDX-License-Identifier: BSD-3-Clause
// What both applications share: an ordinary program of MPI's, that knows nothing of the library.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace application {

// Errors of MPI are fatal inside MPI (MPI_ERRORS_ARE_FATAL, the default); no code is dropped nevertheless.
inline void require(int code) {
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, code);
}

inline double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The largest of all ranks.
inline double longest(double mine) {
    double all = 0;
    require(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return all;
}

// Well mixed bits of a number (splitmix64): the same data in every run and on every rank, without keeping them.
inline std::uint64_t mixed(std::uint64_t number) {
    number += 0x9e3779b97f4a7c15ULL;
    number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    number = (number ^ (number >> 27U)) * 0x94d049bb133111ebULL;
    return number ^ (number >> 31U);
}

// A stopwatch that is started and stopped many times.
class Watch {
public:
    template <typename Work>
    void time(const Work& work) {
        const double begin = now();
        work();
        seconds_ += now() - begin;
    }
    double seconds() const { return seconds_; }

private:
    double seconds_ = 0;
};

// A line for people and programs, by rank 0: the slowest rank's seconds.
inline void report(int rank, const char* what, int ranks, double total, double communication) {
    total = longest(total);
    communication = longest(communication);
    if (rank == 0)
        std::printf("%s on %d ranks: %.6f s, communication %.6f s (%.1f %%)\n", what, ranks, total, communication,
                    100 * communication / total);
}

// The program: `run` gets its arguments, its rank and the number of ranks, and gives its exit status, the same on all.
template <typename Run>
int run_program(int argc, char** argv, const Run& run) {
    require(MPI_Init(&argc, &argv));
    int rank = 0;
    int ranks = 1;
    require(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    require(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    const int status = run(argc, argv, rank, ranks);
    require(MPI_Finalize());
    return status;
}

}  // namespace application
