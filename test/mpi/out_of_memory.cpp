// SPDX-License-Identifier: BSD-3-Clause
// A rank that has no memory while a communicator is set up: nobody notices but by speed. Which allocation of the library's fails is
// tried out one after another, until there are no more of them (test/support/no_memory.cpp, which is preloaded).
//
//   --at call     communicators are set up in an Allreduce
//   --at birth    where they are made
//   --at info     in MPI_Comm_set_info, which asks for algorithms
//   --lasting     all that follow fail, too, until the call is over
//   --known       another communicator of the same processes is in use
#include "../support/program.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

using namespace hcoll::test;

namespace {

// What the shim offers.
struct Shim {
    void (*fail)(std::uint64_t first, std::uint64_t count);
    std::uint64_t (*end)();
};

template <typename Function>
Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int rank_in(MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank));
    return rank;
}

void sum_on(MPI_Comm comm, int ranks, int count) {
    std::vector<int> mine(static_cast<std::size_t>(count), rank_in(comm) + count);
    std::vector<int> sum(mine.size(), -1);
    check(MPI_Allreduce(mine.data(), sum.data(), count, MPI_INT, MPI_SUM, comm));
    const int expected = ranks * (ranks - 1) / 2 + ranks * count;
    require(std::all_of(sum.begin(), sum.end(), [&](int one) { return one == expected; }),
            "MPI_Allreduce gave a wrong sum");
}

// All that may run here, in calls whose ranks hang or see wrong results if they do not all run it alike.
void use(MPI_Comm comm, int ranks) {
    const int rank = rank_in(comm);
    for (const int count : {1, 3000}) {
        sum_on(comm, ranks, count);
        for (const int root : {0, ranks - 1}) {
            std::vector<int> message(static_cast<std::size_t>(count), rank == root ? root + count : -1);
            check(MPI_Bcast(message.data(), count, MPI_INT, root, comm));
            require(message.front() == root + count && message.back() == root + count, "MPI_Bcast gave something else");
            int sum = 0;
            check(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, comm));
            require(rank != root || sum == ranks * (ranks - 1) / 2, "MPI_Reduce gave a wrong sum");
        }
        int largest = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Iallreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, comm, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(largest == ranks - 1, "MPI_Iallreduce gave something else");
        check(MPI_Barrier(comm));
    }
}

void ask(MPI_Comm comm) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info));
    check(MPI_Info_set(info, "libhcoll_bcast", "chain:segment=1k"));
    check(MPI_Info_set(info, "libhcoll_allreduce", "ring"));
    check(MPI_Comm_set_info(comm, info));
    check(MPI_Info_free(&info));
}

struct Case {
    bool is_at_birth;
    bool is_at_info;
    bool is_lasting;
    bool is_known;
    Shim shim;
};

// A communicator of all, in this order, while the allocation number `first` of one rank fails. Returns how many the library made in
// the call that sets it up.
std::uint64_t set_up_with_failure(const Program& program, const Case& how, int victim, const std::vector<int>& order,
                                  std::uint64_t first) {
    const std::uint64_t count = how.is_lasting ? std::numeric_limits<std::uint64_t>::max() : 1;
    const bool is_victim = program.rank() == victim;
    const auto arm = [&] {
        if (is_victim) how.shim.fail(first, count);
    };
    const int key = order[static_cast<std::size_t>(program.rank())];
    MPI_Comm other = MPI_COMM_NULL;
    if (how.is_known) {
        check(MPI_Comm_split(MPI_COMM_WORLD, 0, key, &other));
        use(other, program.size());
    }
    MPI_Comm comm = MPI_COMM_NULL;
    if (how.is_at_birth) arm();
    check(MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm));
    if (how.is_at_info) {
        use(comm, program.size());
        arm();
        ask(comm);
    } else if (!how.is_at_birth) {
        arm();
        sum_on(comm, program.size(), 1);
    }
    std::uint64_t seen = is_victim ? how.shim.end() : 0;
    use(comm, program.size());
    check(MPI_Bcast(&seen, 1, MPI_UINT64_T, order[static_cast<std::size_t>(victim)], comm));
    check(MPI_Comm_free(&comm));
    if (other != MPI_COMM_NULL) check(MPI_Comm_free(&other));
    return seen;
}

// The processes are new to the library in each order of ranks; it remembers those that it has set up.
int fail_one_after_another(const Program& program, const Case& how, int victim, std::vector<int>& order) {
    int failures = 0;
    for (std::uint64_t first = 0;; ++first) {
        const std::uint64_t seen = set_up_with_failure(program, how, victim, order, first);
        require(std::next_permutation(order.begin(), order.end()), "there are more allocations than orders of ranks");
        if (seen <= first) return failures;
        ++failures;
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "out_of_memory");
    const std::string at = program.options().text("--at", "call");
    const Case how{.is_at_birth = at == "birth",
                   .is_at_info = at == "info",
                   .is_lasting = program.options().flag("--lasting"),
                   .is_known = program.options().flag("--known"),
                   .shim = {.fail = find<void(std::uint64_t, std::uint64_t)>("hcoll_test_fail_allocations"),
                            .end = find<std::uint64_t()>("hcoll_test_end_failing")}};
    program.options().reject_rest();
    if (how.shim.fail == nullptr || how.shim.end == nullptr) skip("no_memory is not preloaded");
    std::vector<int> order(static_cast<std::size_t>(program.size()));
    std::iota(order.begin(), order.end(), 0);
    std::string done = "allocations that failed:";
    for (const int victim : {0, program.size() - 1}) {
        const int failures = fail_one_after_another(program, how, victim, order);
        require(failures > 0, "the library has allocated nothing");
        done += " " + std::to_string(failures) + " of rank " + std::to_string(victim);
    }
    return program.finish(done);
}
