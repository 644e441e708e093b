// SPDX-License-Identifier: BSD-3-Clause
// A program whose calls teach (LIBHCOLL_TUNE): results are right whatever is tried, on several communicators at a time, with ranks that come
// late; and without LIBHCOLL_BITS=free, floating-point sums have the same bits in every run (the last line tells a hash of them).
//
//   learning [--calls N] [--skew]
//   learning --run-ahead   the root of many broadcasts is through with them before the others begin, as MPI libraries let it
//   learning --in-place    the root alone passes MPI_IN_PLACE, in every other call: what one rank may let go by, another looks at
//   learning --lives       a communicator that has learned is freed; when the next one is set up must not depend on what
#include "../support/program.hpp"
#include "../support/random.hpp"

#include <array>
#include <cstring>
#include <numeric>

using namespace hcoll::test;

namespace {

constexpr std::array<int, 4> counts = {1, 40, 3000, 40000};

struct Member {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;
};

Member member_of(MPI_Comm comm) {
    Member made{.comm = comm};
    check(MPI_Comm_rank(comm, &made.rank));
    check(MPI_Comm_size(comm, &made.size));
    return made;
}

void use(const Member& at, int number, std::uint64_t& hash) {
    const int count = counts[static_cast<std::size_t>(number) % counts.size()];
    const int root = number % at.size;
    const auto length = static_cast<std::size_t>(count);
    std::vector<int> values(length);
    std::iota(values.begin(), values.end(), at.rank == root ? number : -number);
    check(MPI_Bcast(values.data(), count, MPI_INT, root, at.comm));
    require(values.front() == number && values.back() == number + count - 1, "a broadcast is wrong");
    std::vector<int> results(length, -1);
    values.assign(length, at.rank + number);
    check(MPI_Allreduce(values.data(), results.data(), count, MPI_INT, MPI_SUM, at.comm));
    const int sum = at.size * number + at.size * (at.size - 1) / 2;
    require(results.front() == sum && results.back() == sum, "a sum is wrong");
    check(MPI_Reduce(values.data(), results.data(), count, MPI_INT, MPI_MAX, root, at.comm));
    const int most = number + at.size - 1;
    require(at.rank != root || (results.front() == most && results.back() == most), "a maximum is wrong");
    // Operands whose sum depends on the order that they are added in.
    std::vector<double> terms(length);
    std::vector<double> sums(length);
    for (std::size_t i = 0; i < length; ++i)
        terms[i] = 1.0 / (1 + at.rank * 7 + static_cast<int>(i % 97)) + 1e10 * (at.rank % 2);
    check(MPI_Allreduce(terms.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, at.comm));
    std::uint64_t bits = 0;
    for (const double each : sums) {
        std::memcpy(&bits, &each, sizeof bits);
        hash = mix({hash, bits});
    }
    if (number % 4 == 0) check(MPI_Barrier(at.comm));
    if (number % 2 == 0) return;
    std::vector<int> all(static_cast<std::size_t>(at.size) * 10, -1);
    std::vector<int> mine(10, at.rank + number);
    check(MPI_Allgather(mine.data(), 10, MPI_INT, all.data(), 10, MPI_INT, at.comm));
    for (int rank = 0; rank < at.size; ++rank)
        require(all[static_cast<std::size_t>(rank) * 10 + 9] == rank + number, "an allgather is wrong");
    check(MPI_Gather(mine.data(), 10, MPI_INT, all.data(), 10, MPI_INT, root, at.comm));
    check(MPI_Scatter(all.data(), 10, MPI_INT, mine.data(), 10, MPI_INT, root, at.comm));
    require(mine.front() == at.rank + number, "a scatter is wrong");
}

// Until what is learned of Bcast is known, and beyond.
void run_ahead(const Member& world) {
    int token = 0;
    int sum = 0;
    for (int i = 0; i < 60; ++i) check(MPI_Allreduce(&world.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int round = 0; round < 20; ++round) {
        if (world.rank != 0) check(MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        for (int i = 0; i < 100; ++i) {
            int value = world.rank == 0 ? i : -1;
            check(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
            require(value == i, "a broadcast is wrong");
        }
        for (int rank = 1; world.rank == 0 && rank < world.size; ++rank)
            check(MPI_Send(&token, 1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    }
}

void reduce_in_place(const Member& world, int calls) {
    std::array<int, 16> values{};
    std::array<int, 16> results{};
    for (int number = 0; number < calls; ++number) {
        values.fill(world.rank + number);
        results.fill(world.rank + number);
        const bool in_place = world.rank == 0 && number % 2 == 0;
        check(MPI_Reduce(in_place ? MPI_IN_PLACE : values.data(), results.data(), 16, MPI_INT, MPI_SUM, 0,
                         MPI_COMM_WORLD));
        require(world.rank != 0 || results.back() == world.size * number + world.size * (world.size - 1) / 2,
                "a sum is wrong");
        check(MPI_Barrier(MPI_COMM_WORLD));
    }
}

std::uint64_t live_and_die(const Member& world) {
    std::vector<int> values(1024, 1);
    std::vector<int> results(1024);
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 300; ++i) check(MPI_Allreduce(values.data(), results.data(), 1024, MPI_INT, MPI_SUM, comm));
    check(MPI_Comm_free(&comm));
    check(MPI_Comm_split(MPI_COMM_WORLD, world.rank == world.size - 1 ? 1 : 0, world.rank, &comm));
    std::uint64_t hash = 0;
    for (int i = 0; i < 200; ++i) {
        const double term = 1.0 / (3 + world.rank) + 1e10 * (world.rank % 2);
        double sum = 0;
        check(MPI_Allreduce(&term, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
        std::uint64_t bits = 0;
        std::memcpy(&bits, &sum, sizeof bits);
        hash = mix({hash, bits});
    }
    check(MPI_Comm_free(&comm));
    return hash;
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "learning");
    const int calls = static_cast<int>(program.options().number("--calls", 400));
    const bool skews = program.options().flag("--skew");
    const bool runs_ahead = program.options().flag("--run-ahead");
    const bool in_place = program.options().flag("--in-place");
    const bool lives = program.options().flag("--lives");
    program.options().reject_rest();
    const Member world = member_of(MPI_COMM_WORLD);
    if (runs_ahead) run_ahead(world);
    if (in_place) reduce_in_place(world, calls);
    if (runs_ahead || in_place) return program.finish("learning");
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    check(MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &part));
    const std::array<Member, 3> members = {world, member_of(duplicate), member_of(part)};
    Random random(mix({1, static_cast<std::uint64_t>(world.rank)}));
    std::uint64_t hash = 0;
    for (int number = 0; number < calls && !lives; ++number) {
        if (skews && random.chance(3)) usleep(static_cast<useconds_t>(random.below(300)));
        use(members[static_cast<std::size_t>(number) % members.size()], number / 3, hash);
    }
    check(MPI_Comm_free(&duplicate));
    check(MPI_Comm_free(&part));
    if (lives) hash = live_and_die(world);
    hash = mix({hash, static_cast<std::uint64_t>(world.rank)});
    std::uint64_t all = 0;
    check(PMPI_Reduce(&hash, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD));
    if (world.rank == 0) std::printf("bits %016llx\n", static_cast<unsigned long long>(all));
    return program.finish("learning");
}
