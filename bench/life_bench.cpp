// SPDX-License-Identifier: BSD-3-Clause
// What the life of communicators costs: run it alone and under the preload, and compare.
//
//   loop     MPI_Comm_dup, some Allreduces of 8 bytes, MPI_Comm_free, again and again
//   dup      MPI_Comm_dup and MPI_Comm_free alone
//   kept     MPI_Comm_dup of one that lives on beside others
//   first    the first Allreduce on a communicator, less what the next ones take: with LIBHCOLL_SETUP_CALLS=1 what its set-up costs, of the
//            first one that is kept, and of those after it
//
// usage: mpiexec -n 2 hcoll-life-bench [--calls N (8)] [--rounds N (2000)] [--keep N (16)]
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void allreduce(MPI_Comm comm) {
    double mine = 1;
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}

double microseconds_since(double start) { return (MPI_Wtime() - start) * 1e6; }

int option(int argc, char** argv, const char* name, int value) {
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], name) == 0) return std::atoi(argv[i + 1]);
    return value;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int calls = option(argc, argv, "--calls", 8);
    const int rounds = option(argc, argv, "--rounds", 2000);
    const int keep = std::max(option(argc, argv, "--keep", 16), 2);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    std::vector<double> loop;
    std::vector<double> dup;
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        double start = MPI_Wtime();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < calls; ++i) allreduce(comm);
        MPI_Comm_free(&comm);
        loop.push_back(microseconds_since(start));
        allreduce(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
        dup.push_back(microseconds_since(start));
    }

    std::vector<MPI_Comm> kept;
    std::vector<double> dup_kept;
    std::vector<double> first;
    for (int i = 0; i < keep; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        MPI_Barrier(MPI_COMM_WORLD);
        const double before = MPI_Wtime();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        dup_kept.push_back(microseconds_since(before));
        kept.push_back(comm);
        std::vector<double> each;
        for (int call = 0; call <= calls; ++call) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double start = MPI_Wtime();
            allreduce(comm);
            each.push_back(microseconds_since(start));
        }
        const double of_first = each.front();
        each.erase(each.begin());
        first.push_back(of_first - median(each));
    }
    if (rank == 0)
        std::printf("loop %.2f us   dup %.2f us   kept %.1f us   first %.1f us, of later ones %.1f us\n", median(loop),
                    median(dup), median(dup_kept), first.front(), median({first.begin() + 1, first.end()}));
    for (MPI_Comm& comm : kept) MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
