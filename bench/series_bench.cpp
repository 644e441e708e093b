// One collective again and again: how long calls take by and by. What a change of conditions in mid-run does to a program whose places learn.
//
// usage: mpiexec -n N hcoll-series-bench [--collective allreduce|bcast|reduce] [--bytes N (64k)] [--calls N (2000)] [--window N (20)]
//                                        [--halt FILE]
//
// After each window of calls all ranks meet, and rank 0 prints how many calls were made and the microseconds of a call, on average over the window.
// --halt: in the middle rank 0 makes FILE and waits until somebody has taken it away.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::string option(int argc, char** argv, const char* name, const char* value) {
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
    return value;
}

long number(int argc, char** argv, const char* name, long value) {
    const std::string text = option(argc, argv, name, "");
    if (text.empty()) return value;
    char* end = nullptr;
    long found = std::strtol(text.c_str(), &end, 10);
    if (*end == 'k' || *end == 'M') found <<= *end++ == 'k' ? 10 : 20;
    if (*end == 0 && found > 0) return found;
    std::fprintf(stderr, "hcoll-series-bench: %s takes a number such as 8, 64k or 1M, not '%s'\n", name, text.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::string collective = option(argc, argv, "--collective", "allreduce");
    const auto count = static_cast<int>(number(argc, argv, "--bytes", 64 << 10) / static_cast<long>(sizeof(int)));
    const long calls = number(argc, argv, "--calls", 2000);
    const long window = number(argc, argv, "--window", 20);
    const std::string halt = option(argc, argv, "--halt", "");
    std::vector<int> mine(static_cast<std::size_t>(count), rank);
    std::vector<int> all(mine.size());
    const bool is_bcast = collective == "bcast";
    if (!is_bcast && collective != "reduce" && collective != "allreduce") {
        if (rank == 0) std::fprintf(stderr, "hcoll-series-bench: there is no --collective %s\n", collective.c_str());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
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
