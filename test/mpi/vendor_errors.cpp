// SPDX-License-Identifier: BSD-3-Clause
// The MPI library fails in a collective that runs here (test/support/faulty_vendor.cpp): the call returns the error, and from then on
// nothing is written into the application's memory, though the message is sent after all. What the library made for that
// communicator serves no other one.
//
//   --nonblocking   in MPI_Ibcast
//   --agreeing      where the ranks agree on what was made, on one rank: the others do not wait for it in what they have
//   --waiting       while a rank waits in an Allreduce like the one before
//   --creating      where the library makes a duplicate, on one rank: others that share one go on, and calls are the MPI library's where there is none
#include "../support/program.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

using namespace hcoll::test;

namespace {

constexpr int tag = 7;

void tell(int peer) { check(MPI_Send(nullptr, 0, MPI_INT, peer, tag, MPI_COMM_WORLD)); }
void hear(int peer) { check(MPI_Recv(nullptr, 0, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }

struct Failure {
    void (*order)();
    bool is_nonblocking;
};

int bcast(std::vector<int>& message, MPI_Comm comm, bool is_nonblocking) {
    const int count = static_cast<int>(message.size());
    if (!is_nonblocking) return MPI_Bcast(message.data(), count, MPI_INT, 0, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    const int status = MPI_Ibcast(message.data(), count, MPI_INT, 0, comm, &request);
    return status == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : status;
}

// `rounds`: so many that tags are used again, where no message of an earlier communicator must be left.
void use(MPI_Comm comm, int rank, int rounds = 600) {
    for (int round = 0; round < rounds; ++round) {
        const int mine = rank + round;
        int sum = -1;
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        require(sum == 1 + 2 * round, "MPI_Allreduce gave a wrong sum");
        int message = rank == 0 ? round : -1;
        check(MPI_Bcast(&message, 1, MPI_INT, 0, comm));
        require(message == round, "MPI_Bcast gave something else");
        std::vector<int> other(1, message + rank);
        check(bcast(other, comm, true));
        require(other.front() == round, "MPI_Ibcast gave something else");
    }
}

// Rank 1 receives of rank 0, which comes to the call only after rank 1 has left it.
void fail_in_bcast(const Program& program, const Failure& failure, int count) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    // Those of requests that belong to no communicator, as far as the MPI library knows, are MPI_COMM_WORLD's or MPI_COMM_SELF's.
    for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
        check(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN));
    use(comm, program.rank());
    constexpr int sent = 1;
    constexpr int kept = 2;
    std::vector<int> message(static_cast<std::size_t>(count), program.rank() == 0 ? sent : kept);
    if (program.rank() == 1) {
        failure.order();
        require(bcast(message, comm, failure.is_nonblocking) != MPI_SUCCESS, "an error got lost");
        tell(0);
        hear(0);
    } else {
        hear(1);
        check(bcast(message, comm, failure.is_nonblocking));
        tell(1);
    }
    check(MPI_Barrier(MPI_COMM_WORLD));
    require(program.rank() == 0 || std::count(message.begin(), message.end(), kept) == count,
            "a message was written into memory after the call had returned");
    check(MPI_Comm_free(&comm));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, program.rank());
    check(MPI_Comm_free(&comm));
}

// 60 communicators of the same processes, of which each has some calls.
void use_many(const Program& program, std::vector<MPI_Comm>& comms) {
    comms.assign(60, MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) {
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 3; ++i) check(MPI_Barrier(comm));
    }
    for (const MPI_Comm comm : comms) use(comm, program.rank(), 20);
}

void fail_to_create(const Program& program, int (*creates)(int), int (*keys)()) {
    for (int i = 0; i < 3; ++i) check(MPI_Barrier(MPI_COMM_WORLD));
    const int before = creates(program.rank() == 1 ? 1 : 0);
    require(before != 0, "the library makes its duplicates by something else");
    std::vector<MPI_Comm> comms;
    use_many(program, comms);
    // Where MPI_COMM_WORLD's is full, each that comes tries in vain.
    const int in_vain = creates(0) - before;
    require(in_vain > 60 / 4 && in_vain < 60, "duplicates were asked for " + std::to_string(in_vain) + " times");
    // From now on they can be had, by communicators that have not asked before.
    std::vector<MPI_Comm> later;
    use_many(program, later);
    require(creates(0) - before - in_vain < 60 / 4, "duplicates are not shared after one could not be made");
    for (std::vector<MPI_Comm>* each : {&comms, &later})
        for (MPI_Comm& comm : *each) {
            use(comm, program.rank(), 2);
            check(MPI_Comm_free(&comm));
        }
    use(MPI_COMM_WORLD, program.rank(), 20);
    // MPI_Finalize's, and that of 121 communicators.
    require(keys() == 2, "the library has made " + std::to_string(keys()) + " keys of attributes");
}

// Of the second communicator of the same processes: one Allreduce is the application's, one tells what there is, and in the third one it is there.
void fail_to_agree(const Program& program, void (*fail_allreduce)(int)) {
    std::vector<MPI_Comm> comms(2, MPI_COMM_NULL);
    const int mine = program.rank();
    int sum = 0;
    for (MPI_Comm& comm : comms) {
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        constexpr int agreed = 3;
        if (comm == comms.back() && program.rank() == 1) fail_allreduce(agreed);
        check(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    }
    require(sum == 1, "a sum is wrong");
    // Rank 1 has nothing of it, and would call the MPI library.
    if (program.rank() == 0) require(MPI_Barrier(comms.back()) != MPI_SUCCESS, "rank 0 was told nothing");
    use(comms.front(), program.rank(), 20);
}

// Both ranks are in the shortest way there is; what failed there serves nobody else.
void fail_while_waiting(const Program& program, void (*fail_next_look)()) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const double mine = program.rank();
    double sum = -1;
    const auto add = [&] { return MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm); };
    for (int i = 0; i < 20; ++i) check(add());
    if (program.rank() == 0) {
        fail_next_look();
        require(add() != MPI_SUCCESS, "an error got lost");
        tell(1);
    } else {
        hear(0);
        // What the other rank had said before it failed is there.
        require(add() != MPI_SUCCESS || add() != MPI_SUCCESS, "the other rank's error got lost");
    }
    check(MPI_Comm_free(&comm));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, program.rank(), 20);
    check(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "vendor_errors");
    const Failure failure{.order = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "hcoll_test_fail_next")),
                          .is_nonblocking = program.options().flag("--nonblocking")};
    const bool is_creating = program.options().flag("--creating");
    auto* creates = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "hcoll_test_creates"));
    auto* keys = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "hcoll_test_keys"));
    const bool is_agreeing = program.options().flag("--agreeing");
    const bool is_waiting = program.options().flag("--waiting");
    auto* fail_next_look = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "hcoll_test_fail_next_look"));
    auto* fail_allreduce = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "hcoll_test_fail_allreduce"));
    program.options().reject_rest();
    require(program.size() == 2, "2 ranks are needed");
    if (failure.order == nullptr) skip("faulty_vendor is not preloaded");
    if (is_agreeing) {
        fail_to_agree(program, fail_allreduce);
        return program.finish("one rank is not told what the others are");
    }
    if (is_waiting) {
        fail_while_waiting(program, fail_next_look);
        return program.finish("a look for messages fails");
    }
    if (is_creating) {
        fail_to_create(program, creates, keys);
        return program.finish("one rank has no further communicator");
    }
    // None waits for its receiver.
    for (const int count : {1, 64, 512}) fail_in_bcast(program, failure, count);
    return program.finish("errors of the MPI library");
}
