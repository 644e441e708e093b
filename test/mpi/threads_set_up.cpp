// SPDX-License-Identifier: BSD-3-Clause
// Several threads set communicators of the same processes up at the same time, in another order on each rank, and again when the first
// ones are freed: none gets what belongs to another one. And what the threads have found out about the processes, by measuring, too, they
// need not have found alike: the next communicator of those processes runs the same on all of them.
//
//   --lives   instead: threads make communicators, use and free them, in times of their own. When one is set up its own calls say, so that sums have the same
//             bits in each run: the log of level debug tells
//   --handlers  instead: threads make, use and free communicators of their process alone; the error handler of MPI_COMM_WORLD is the program's, then
#include "../support/program.hpp"

#include <atomic>
#include <barrier>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

using namespace hcoll::test;

namespace {

constexpr int threads = 4;
constexpr int of_thread = 5;

void use(MPI_Comm comm, int rank, int size, int thread, std::atomic<int>& wrong) {
    for (int i = 0; i < 20; ++i) {
        const int mine = rank + i + 1000 * thread;
        int sum = 0;
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        if (sum != size * (size - 1) / 2 + size * (i + 1000 * thread)) ++wrong;
        std::vector<int> message(i % 2 == 0 ? 1 : 5000, rank == i % size ? 7 * i + thread : -1);
        check(MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_INT, i % size, comm));
        if (message.back() != 7 * i + thread) ++wrong;
    }
}

// In turn, of two processes each: so that nobody knows anything of them.
void set_up_pairs(int rank, int size, std::atomic<int>& wrong) {
    for (int first = 0; first < size; ++first)
        for (int second = 0; second < size; ++second) {
            if (first == second) continue;
            MPI_Comm pair = MPI_COMM_NULL;
            const bool is_in = rank == first || rank == second;
            check(MPI_Comm_split(MPI_COMM_WORLD, is_in ? 1 : MPI_UNDEFINED, rank == first ? 0 : 1, &pair));
            if (!is_in) continue;
            std::vector<MPI_Comm> comms(threads + 1);
            for (MPI_Comm& comm : comms) check(MPI_Comm_dup(pair, &comm));
            std::barrier together(threads);
            std::vector<std::thread> running;
            for (int thread = 0; thread < threads; ++thread)
                running.emplace_back([&, thread] {
                    together.arrive_and_wait();
                    for (int i = 0; i < 3; ++i) check(MPI_Barrier(comms[static_cast<std::size_t>(thread)]));
                });
            for (std::thread& each : running) each.join();
            std::vector<int> message(1 << 17, rank == first ? 5 : -1);
            for (int i = 0; i < 3; ++i) check(MPI_Barrier(comms.back()));
            for (int i = 0; i < 4; ++i)
                check(MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_INT, 0, comms.back()));
            if (message.back() != 5) ++wrong;
            for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
            check(MPI_Comm_free(&pair));
        }
}

void live_and_die(int thread) {
    MPI_Comm mine = MPI_COMM_NULL;
    static std::mutex one_after_another;  // ranks' threads would meet in another order
    static int turn = 0;
    for (;; std::this_thread::yield()) {
        const std::lock_guard lock(one_after_another);
        if (turn != thread) continue;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &mine));
        ++turn;
        break;
    }
    for (int life = 0; life < 12; ++life) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(mine, &comm));
        // Some are freed before they are worth it.
        const int calls = (life + thread) % 3 == 0 ? 15 : 50;
        for (int i = 0; i < calls; ++i) {
            const double one = 0.1 * i;
            double sum = 0;
            check(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
        }
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Comm_free(&mine));
}

void hears_of_an_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { fail("an error where there is none"); }

void keep_handlers() {
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(hears_of_an_error, &mine));
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine));
    constexpr int rounds = 20'000;
    std::vector<MPI_Comm> origins(threads, MPI_COMM_NULL);
    for (MPI_Comm& each : origins) check(MPI_Comm_dup(MPI_COMM_SELF, &each));
    std::vector<std::thread> running;
    for (const MPI_Comm origin : origins)
        running.emplace_back([origin] {
            for (int round = 0; round < rounds; ++round) {
                MPI_Comm comm = MPI_COMM_NULL;
                check(MPI_Comm_dup(origin, &comm));
                int sum = 0;
                check(MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comm));
                check(MPI_Comm_free(&comm));
            }
        });
    for (std::thread& each : running) each.join();
    MPI_Errhandler now = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now));
    require(now == mine, "MPI_COMM_WORLD's error handler is another one");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    for (MPI_Comm& each : origins) check(MPI_Comm_free(&each));
}

}  // namespace

int main(int argc, char** argv) {
    int level = 0;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    if (level != MPI_THREAD_MULTIPLE) skip("this MPI library has no MPI_THREAD_MULTIPLE");
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    const std::string_view instead = argc > 1 ? argv[1] : "";
    if (instead == "--handlers" || instead == "--lives") {
        if (instead == "--handlers") {
            keep_handlers();
        } else {
            std::vector<std::thread> running;
            for (int thread = 0; thread < threads; ++thread) running.emplace_back(live_and_die, thread);
            for (std::thread& each : running) each.join();
        }
        check(MPI_Finalize());
        return 0;
    }
    std::atomic<int> wrong{0};
    for (int round = 0; round < 4; ++round) {
        std::vector<MPI_Comm> comms(threads * of_thread);
        for (MPI_Comm& comm : comms) check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        std::vector<std::thread> running;
        for (int thread = 0; thread < threads; ++thread)
            running.emplace_back([&, thread] {
                for (int i = 0; i < of_thread; ++i)
                    use(comms[static_cast<std::size_t>(thread * of_thread + i)], rank, size, thread, wrong);
            });
        for (std::thread& each : running) each.join();
        for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
    }
    set_up_pairs(rank, size, wrong);
    require(wrong == 0, "a communicator has what belongs to another one: " + std::to_string(wrong) + " wrong results");
    check(MPI_Finalize());
    return 0;
}
