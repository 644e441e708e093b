// SPDX-License-Identifier: BSD-3-Clause
// Programs that hang until somebody lets them go on, for watch.py: ranks make calls to which one does not come.
//
//   --case late|ahead|request|message|circle|order|mismatch|freed|split|child
//   --until FILE   the rank that others wait for goes on when that exists
#include "../support/program.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

void wait_for(const std::string& file) {
    constexpr timespec between{.tv_sec = 0, .tv_nsec = 5'000'000};
    while (access(file.c_str(), F_OK) != 0) nanosleep(&between, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "hanging");
    const std::string which = program.options().text("--case", "");
    const std::string file = program.options().text("--until", "");
    program.options().reject_rest();
    const bool is_last = program.rank() == program.size() - 1;
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    std::printf("rank %d is process %d\n", program.rank(), static_cast<int>(getpid()));
    std::fflush(stdout);
    std::vector<int> values(1000, 1);
    std::vector<int> sums(1000, 0);
    // Some that match come first, so that the communicator is set up.
    for (int i = 0; i < 4; ++i) check(MPI_Allreduce(values.data(), sums.data(), 1000, MPI_INT, MPI_SUM, comm));
    if (which == "late") {
        if (is_last) wait_for(file);
        check(MPI_Allreduce(values.data(), sums.data(), 1000, MPI_INT, MPI_SUM, comm));
    } else if (which == "ahead") {
        // Its Bcast is over for the root, which is missing in what follows.
        check(MPI_Bcast(values.data(), 10, MPI_INT, program.size() - 1, comm));
        if (is_last) wait_for(file);
        check(MPI_Reduce(values.data(), sums.data(), 1000, MPI_INT, MPI_SUM, 0, comm));
        check(MPI_Barrier(comm));
    } else if (which == "request") {
        MPI_Request request = MPI_REQUEST_NULL;
        if (is_last) wait_for(file);
        check(MPI_Iallreduce(values.data(), sums.data(), 1000, MPI_INT, MPI_SUM, comm, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (which == "message") {
        // The last rank waits for a message that rank 0 sends when it is let go; the others wait for the last one.
        if (program.rank() == 0) wait_for(file);
        if (program.rank() == 0) check(MPI_Send(values.data(), 1, MPI_INT, program.size() - 1, 7, comm));
        if (is_last) check(MPI_Recv(values.data(), 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
        check(MPI_Barrier(comm));
    } else if (which == "circle") {
        // A wrong program: ranks take two communicators in different orders.
        check(MPI_Barrier(is_last ? MPI_COMM_WORLD : comm));
        check(MPI_Barrier(is_last ? comm : MPI_COMM_WORLD));
    } else if (which == "order") {
        MPI_Comm other = MPI_COMM_NULL;
        MPI_Comm third = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        check(MPI_Comm_dup(MPI_COMM_WORLD, &third));
        check(MPI_Barrier(is_last ? third : other));
        check(MPI_Barrier(is_last ? other : third));
    } else if (which == "mismatch") {
        if (is_last)
            check(MPI_Barrier(comm));
        else
            check(MPI_Bcast(values.data(), 1000, MPI_INT, program.size() - 1, comm));
    } else if (which == "freed") {
        // The others may leave before the last rank comes.
        MPI_Comm other = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        if (is_last) wait_for(file);
        check(MPI_Bcast(values.data(), 10, MPI_INT, 0, other));
        check(MPI_Comm_free(&other));
        check(MPI_Barrier(comm));
    } else if (which == "split") {
        if (is_last) wait_for(file);
        MPI_Comm part = MPI_COMM_NULL;
        check(MPI_Comm_split(comm, program.rank() % 2, 0, &part));
        check(MPI_Comm_free(&part));
    } else if (which == "child") {
        const pid_t child = fork();
        require(child >= 0, "fork");
        if (child == 0) {
            for (;;) pause();
        }
        require(kill(child, SIGUSR2) == 0, "the child is there");
        int status = 0;
        require(waitpid(child, &status, 0) == child, "waitpid");
        require(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2, "the child has ended by the signal");
    } else {
        fail("there is no case " + which);
    }
    check(MPI_Comm_free(&comm));
    return program.finish("went on");
}
