// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: several threads of each process, each on a communicator of its own, all in collective calls at
// once, and all making and freeing further communicators meanwhile. Skipped where the level is not provided.
//
//   --threads N (default 3)   --rounds N (default 60)
#include "../support/random.hpp"
#include "../support/timed_barrier.hpp"

#include <memory>
#include <thread>

using namespace hcoll::test;

namespace {

// Value of element i that a rank contributes in a round.
std::int64_t value_at(int thread, int round, int rank, std::size_t i) {
    return static_cast<std::int64_t>(Random(mix({static_cast<std::uint64_t>(thread), static_cast<std::uint64_t>(round),
                                                 static_cast<std::uint64_t>(rank), i}))
                                         .below(1'000'000));
}

class Worker {
public:
    Worker(int thread, MPI_Comm comm) : thread_(thread), comm_(comm) {
        check(MPI_Comm_rank(comm, &rank_));
        check(MPI_Comm_size(comm, &size_));
    }

    void run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            use(comm_, round);
            if (round % 5 != thread_ % 5) continue;
            MPI_Comm inner = MPI_COMM_NULL;
            check(MPI_Comm_dup(comm_, &inner));
            for (int again = 0; again < 4; ++again) use(inner, round + again);
            check(MPI_Comm_free(&inner));
        }
    }

private:
    void use(MPI_Comm comm, int round) {
        const std::size_t count = 1 + Random(mix({static_cast<std::uint64_t>(thread_ * 1000 + round)})).below(4000);
        const int root = round % size_;
        std::vector<std::int64_t> own(count);
        std::vector<std::int64_t> sum(count);
        std::vector<std::int64_t> roots(count);
        for (std::size_t i = 0; i < count; ++i) {
            own[i] = value_at(thread_, round, rank_, i);
            roots[i] = value_at(thread_, round, root, i);
            for (int rank = 0; rank < size_; ++rank) sum[i] += value_at(thread_, round, rank, i);
        }
        const int n = static_cast<int>(count);
        std::vector<std::int64_t> result(count);
        check(MPI_Allreduce(own.data(), result.data(), n, MPI_INT64_T, MPI_SUM, comm));
        expect("MPI_Allreduce", round, result, sum);
        result.assign(count, -1);
        check(MPI_Reduce(own.data(), result.data(), n, MPI_INT64_T, MPI_SUM, root, comm));
        if (rank_ == root) expect("MPI_Reduce", round, result, sum);
        result = own;
        check(MPI_Bcast(result.data(), n, MPI_INT64_T, root, comm));
        expect("MPI_Bcast", round, result, roots);
        check(timed_barrier(comm, root));
    }

    void expect(const char* what, int round, const std::vector<std::int64_t>& found,
                const std::vector<std::int64_t>& expected) const {
        for (std::size_t i = 0; i < found.size(); ++i)
            if (found[i] != expected[i])
                fail(std::string(what) + " in thread " + std::to_string(thread_) + ", round " + std::to_string(round) +
                     ": element " + std::to_string(i) + " of " + std::to_string(found.size()) + ": expected " +
                     std::to_string(expected[i]) + ", found " + std::to_string(found[i]));
    }

    int thread_;
    MPI_Comm comm_;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "threads", MPI_THREAD_MULTIPLE);
    const auto threads = static_cast<int>(program.options().number("--threads", 3));
    const auto rounds = static_cast<int>(program.options().number("--rounds", 60));
    program.options().reject_rest();
    if (program.thread_level() < MPI_THREAD_MULTIPLE) skip("the MPI library does not provide MPI_THREAD_MULTIPLE");

    std::vector<MPI_Comm> comms(static_cast<std::size_t>(threads), MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    {
        std::vector<std::jthread> running;
        for (int thread = 0; thread < threads; ++thread)
            running.emplace_back(
                [thread, rounds, comm = comms[static_cast<std::size_t>(thread)]] { Worker(thread, comm).run(rounds); });
    }
    for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
    return program.finish(std::to_string(threads) + " threads, " + std::to_string(rounds) + " rounds");
}
