// SPDX-License-Identifier: BSD-3-Clause
// A million small broadcasts, one rank being slow: the root, which needs nobody, must not fill the others' memory with
// messages that they have not come to yet. Memory of every rank must stay what it was after a part of them.
//
//   --calls N   broadcasts (default a million)
//   --slow R    the slow rank (default the last)
#include <cstdint>

#include "../support/memory_of_process.hpp"
#include "../support/timed_barrier.hpp"

using namespace hcoll::test;

namespace {

// Work that takes longer than a broadcast.
std::uint64_t work(std::uint64_t value) {
    for (int i = 0; i < 2000; ++i) value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    return value;
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "run_ahead");
    const long calls = program.options().number("--calls", 1'000'000);
    const long slow = program.options().number("--slow", program.size() - 1);
    program.options().reject_rest();

    constexpr long most_growth = 6 << 10;  // kB
    std::uint64_t value = 0;
    long before = 0;
    long most = 0;
    check(MPI_Barrier(MPI_COMM_WORLD));  // where the library takes the communicator over
    for (long call = 0; call < calls; ++call) {
        std::uint64_t message[8] = {program.rank() == 0 ? static_cast<std::uint64_t>(call) : 0};
        check(MPI_Bcast(message, 8, MPI_UINT64_T, 0, MPI_COMM_WORLD));
        require(message[0] == static_cast<std::uint64_t>(call), "MPI_Bcast: a wrong message");
        if (program.rank() == slow) value = work(value);
        if (call == calls / 20) before = resident_kilobytes();
        if (call > calls / 20 && call % 1000 == 0) most = std::max(most, resident_kilobytes());
    }
    // The root has to wait for all that it ran ahead of.
    check(timed_barrier(MPI_COMM_WORLD, static_cast<int>(slow)));
    require(value != 1, "cannot be");  // keeps the work
    const long growth = most - before;
    require(growth < most_growth, "rank " + std::to_string(program.rank()) + " needs " + std::to_string(growth) +
                                      " kB more than after a twentieth of the broadcasts");
    return program.finish("memory stays");
}
