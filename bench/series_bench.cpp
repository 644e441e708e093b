// SPDX-License-Identifier: BSD-3-Clause
// One collective again and again: how long calls take by and by. What a change of conditions in mid-run does to a program whose places learn.
//
// usage: mpiexec -n N hcoll-series-bench [--collective allreduce|bcast|reduce] [--bytes N (64k)] [--calls N (2000)] [--window N (20)]
//                                        [--halt FILE]
//
// After each window of calls all ranks meet, and rank 0 prints how many calls were made and the microseconds of a call, on average over the window.
// --halt: in the middle rank 0 makes FILE and waits until somebody has taken it away.
#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::string collective = "allreduce";
    std::uint64_t bytes = 64 << 10;
    long calls = 2000;
    long window = 20;
    std::string halt;
    CLI::App app("One collective again and again: how long calls take by and by.");
    app.add_option("--collective", collective)->check(CLI::IsMember({"allreduce", "bcast", "reduce"}));
    app.add_option("--bytes", bytes, "of a message, such as 8, 64k or 1M")->transform(CLI::AsSizeValue(false));
    app.add_option("--calls", calls)->check(CLI::PositiveNumber);
    app.add_option("--window", window, "calls between two meetings of all ranks")->check(CLI::PositiveNumber);
    app.add_option("--halt", halt, "in the middle, make this file and wait until it is gone");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        if (rank == 0) (void)app.exit(problem);
        MPI_Finalize();
        return problem.get_exit_code() == 0 ? 0 : 2;
    }
    const auto count = static_cast<int>(bytes / sizeof(int));
    std::vector<int> mine(static_cast<std::size_t>(count), rank);
    std::vector<int> all(mine.size());
    const bool is_bcast = collective == "bcast";
    MPI_Barrier(MPI_COMM_WORLD);
    for (long made = 0; made < calls;) {
        const double begin = MPI_Wtime();
        for (long i = 0; i < window; ++i) {
            if (is_bcast)
                MPI_Bcast(mine.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
            else if (collective == "reduce")
                MPI_Reduce(mine.data(), all.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
            else
                MPI_Allreduce(mine.data(), all.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            std::printf("%ld %.3f\n", made + window, 1e6 * (MPI_Wtime() - begin) / static_cast<double>(window));
        if (!halt.empty() && made < calls / 2 && made + window >= calls / 2) {
            if (rank == 0) {
                std::fflush(stdout);
                if (std::FILE* file = std::fopen(halt.c_str(), "w")) std::fclose(file);
                while (access(halt.c_str(), F_OK) == 0) usleep(20000);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
        made += window;
    }
    MPI_Finalize();
    return 0;
}
