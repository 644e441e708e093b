// SPDX-License-Identifier: BSD-3-Clause
// hcoll-type-bench.<flavour>: MPI_Bcast of types, by libhcoll and by the MPI library underneath in turn, in one process.
//
//   mpiexec -n 2 env LD_PRELOAD=libhcoll.so hcoll-type-bench.mpich [bytes of the signature] [pairs of calls]
//
// Prints, for each type, the median over the pairs of the longest time of any rank.
#include <hcoll/hcoll.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct Subject {
    const char* name;
    MPI_Datatype type;
    long element_bytes;
};

MPI_Datatype make_struct(const std::vector<MPI_Aint>& places, const std::vector<MPI_Datatype>& types, MPI_Aint extent) {
    const std::vector<int> lengths(places.size(), 1);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(static_cast<int>(places.size()), lengths.data(), places.data(), types.data(), &made);
    MPI_Type_create_resized(made, 0, extent, &resized);
    MPI_Type_free(&made);
    return resized;
}

MPI_Datatype make_vector(long count, int stride) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(count), 1, stride, MPI_DOUBLE, &made);
    return made;
}

MPI_Datatype make_subarray(long rows) {
    const std::array<int, 2> sizes = {static_cast<int>(rows), 128};
    const std::array<int, 2> starts = {0, 0};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(2, sizes.data(), sizes.data(), starts.data(), MPI_ORDER_C, MPI_DOUBLE, &made);
    return made;
}

double longest_time(void* buffer, int count, MPI_Datatype type) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Bcast(buffer, count, type, 0, MPI_COMM_WORLD);
    const double here = MPI_Wtime() - begin;
    double longest = 0;
    PMPI_Allreduce(&here, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long bytes = std::max(argc > 1 ? std::atol(argv[1]) : 16L << 20U, 1L << 10U);
    const int pairs = std::max(argc > 2 ? std::atoi(argv[2]) : 21, 1);
    constexpr int warm_up = 8;
    // libhcoll takes a communicator over after some calls, and only in those in which all ranks wait for all.
    for (int i = 0; i < 64; ++i) MPI_Barrier(MPI_COMM_WORLD);
    const std::vector<Subject> subjects = {
        {"double", make_vector(1, 1), 8},
        {"struct {double, int, int}", make_struct({0, 8, 12}, {MPI_DOUBLE, MPI_INT, MPI_INT}, 16), 16},
        {"vector without gaps", make_vector(bytes / 8, 1), bytes / 8 * 8},
        {"subarray of all", make_subarray(bytes / 1024), bytes / 1024 * 1024},
        {"struct {double, int} and a gap", make_struct({0, 8}, {MPI_DOUBLE, MPI_INT}, 16), 12},
        {"every second double", make_vector(bytes / 8, 2), bytes / 8 * 8},
    };
    std::vector<std::byte> buffer(static_cast<std::size_t>(2 * bytes) + 64);
    for (Subject subject : subjects) {
        MPI_Type_commit(&subject.type);
        std::array<std::vector<double>, 2> times;
        for (int call = -warm_up; call < 2 * pairs; ++call) {
            const bool is_own = call % 2 == 0;
            MPI_Pcontrol(is_own ? HCOLL_PCONTROL_OWN : HCOLL_PCONTROL_VENDOR);
            const double time =
                longest_time(buffer.data(), static_cast<int>(bytes / subject.element_bytes), subject.type);
            if (call >= 0) times[is_own ? 0 : 1].push_back(time);
        }
        const double own = median(times[0]);
        const double vendor = median(times[1]);
        if (rank == 0)
            std::printf("%-32s own %9.3f ms, vendor %9.3f ms, vendor/own %.2f\n", subject.name, 1000 * own,
                        1000 * vendor, vendor / own);
        MPI_Type_free(&subject.type);
    }
    MPI_Finalize();
    return 0;
}
