// SPDX-License-Identifier: BSD-3-Clause
// A program whose late rank is known, for trace.py: before each round of calls it lets the others go on.
//
//   --rounds N       rounds of calls (default 20)
//   --late RANK      is late in each round (default: the last one; -1: nobody)
//   --late-by MS     by so many milliseconds (default: 30: ranks that wait for a core are late by some, too)
//   --go-to FOLDER   where the program goes after MPI_Init
//   --end finalize|exit|kill|abort    how the first rank ends (default: finalize)
#include "../support/program.hpp"

#include <signal.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace hcoll::test;

namespace {

// `late` comes so much after the others, who have told it that they are about to go on. It leaves its core to them.
void come_late(const Program& program, int late, std::chrono::milliseconds by) {
    if (late < 0) return;
    if (program.rank() != late) return check(MPI_Send(nullptr, 0, MPI_BYTE, late, 0, MPI_COMM_WORLD));
    for (int rank = 1; rank < program.size(); ++rank)
        check(MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    std::this_thread::sleep_for(by);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "traced");
    const int rounds = static_cast<int>(program.options().number("--rounds", 20));
    const int late = static_cast<int>(program.options().number("--late", program.size() - 1));
    const std::chrono::milliseconds late_by(program.options().number("--late-by", 30));
    const std::string folder = program.options().text("--go-to", "");
    const std::string end = program.options().text("--end", "finalize");
    program.options().reject_rest();
    if (!folder.empty()) require(chdir(folder.c_str()) == 0, "the folder is there");
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_name(comm, "the \"traced\" <one>"));
    constexpr int count = 128;
    std::vector<double> values(count, 1);
    std::vector<double> sums(count, 0);
    std::vector<double> blocks(static_cast<std::size_t>(count) * static_cast<std::size_t>(program.size()), 0);
    for (int round = 0; round < rounds; ++round) {
        come_late(program, late, late_by);
        check(MPI_Allreduce(values.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, comm));
        check(MPI_Bcast(values.data(), count, MPI_DOUBLE, program.size() - 1, comm));
        check(MPI_Reduce(values.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, 0, comm));
        check(MPI_Barrier(comm));
        check(MPI_Allgather(values.data(), count, MPI_DOUBLE, blocks.data(), count, MPI_DOUBLE, comm));
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Iallreduce(values.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, comm, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    if (end == "kill") {
        if (program.rank() == 0) kill(getpid(), SIGKILL);
        check(MPI_Barrier(comm));
    }
    if (end == "abort" && program.rank() == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (end == "abort") check(MPI_Barrier(comm));
    if (end == "exit") std::exit(0);
    check(MPI_Comm_free(&comm));
    return program.finish("went on");
}
