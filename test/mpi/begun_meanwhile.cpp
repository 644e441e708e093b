// SPDX-License-Identifier: BSD-3-Clause
// A thread waits in a short collective when another one of its process begins a non-blocking one, which others wait for first: whoever
// waits must move it (LIBHCOLL_PROGRESS).
#include "../support/program.hpp"

#include <sched.h>
#include <atomic>
#include <thread>
#include <vector>

using namespace hcoll::test;

int main(int argc, char** argv) {
    Program program(argc, argv, "begun_meanwhile", MPI_THREAD_MULTIPLE);
    program.options().reject_rest();
    if (program.thread_level() < MPI_THREAD_MULTIPLE) skip("this MPI library does not give MPI_THREAD_MULTIPLE");
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    MPI_Comm of_sums = MPI_COMM_NULL;
    MPI_Comm of_broadcasts = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &of_sums));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &of_broadcasts));
    int sum = 0;
    for (int i = 0; i < 4; ++i)
        for (MPI_Comm comm : {of_sums, of_broadcasts}) check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    for (int round = 0; round < 20; ++round) {
        std::vector<int> values(1000, rank == 0 ? round : -1);
        MPI_Request request = MPI_REQUEST_NULL;
        const auto broadcast = [&] {
            check(MPI_Ibcast(values.data(), static_cast<int>(values.size()), MPI_INT, 0, of_broadcasts, &request));
        };
        const auto add = [&] { check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, of_sums)); };
        if (rank == 1) {
            // It passes the broadcast on.
            std::atomic<bool> is_adding{false};
            std::thread adding([&] {
                is_adding = true;
                add();
            });
            while (!is_adding) sched_yield();
            // The further the other thread has come, the better: any order is right.
            for (int i = 0; i < 200 * round; ++i) sched_yield();
            broadcast();
            adding.join();
            check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            broadcast();
            check(MPI_Wait(&request, MPI_STATUS_IGNORE));
            add();
        }
        require(values.back() == round, "a broadcast is wrong");
        require(sum == size * (size - 1) / 2, "a sum is wrong");
        check(MPI_Barrier(MPI_COMM_WORLD));
    }
    check(MPI_Comm_free(&of_sums));
    check(MPI_Comm_free(&of_broadcasts));
    return program.finish("begun_meanwhile");
}
