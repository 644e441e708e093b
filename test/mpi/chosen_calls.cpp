// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_set_info: one communicator's calls run what it is asked to, and others', and what comes after it, do not.
#include "../support/program.hpp"

#include <hcoll/hcoll.h>
#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

void ask(MPI_Comm comm, const char* key, const char* value) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info));
    check(MPI_Info_set(info, key, value));
    check(MPI_Info_set(info, "somebody_elses", "key"));
    check(MPI_Comm_set_info(comm, info));
    check(MPI_Info_free(&info));
}

// Two keys, in another order on each rank; returns what is answered.
std::string answer_to(MPI_Comm comm, int rank, const char* of_bcast, const char* of_allreduce) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info));
    check(MPI_Info_set(info, HCOLL_INFO_ANSWER, "none"));
    if (rank % 2 == 0) check(MPI_Info_set(info, "libhcoll_bcast", of_bcast));
    check(MPI_Info_set(info, "libhcoll_allreduce", of_allreduce));
    if (rank % 2 != 0) check(MPI_Info_set(info, "libhcoll_bcast", of_bcast));
    check(MPI_Comm_set_info(comm, info));
    std::vector<char> answer(MPI_MAX_INFO_VAL + 1);
    int is_there = 0;
    check(MPI_Info_get(info, HCOLL_INFO_ANSWER, MPI_MAX_INFO_VAL, answer.data(), &is_there));
    check(MPI_Info_free(&info));
    return is_there != 0 ? answer.data() : "";
}

void ask_for_answers(MPI_Comm comm, int rank) {
    const auto expect = [&](const std::string& answer, const std::string& part) {
        require(answer.find(part) != std::string::npos, "the answer is '" + answer + "', which has no '" + part + "'");
    };
    expect(answer_to(comm, rank, "binomial", "ring"), HCOLL_ANSWER_TAKEN);
    expect(answer_to(comm, rank, "chian", "ring"), "'chian' is no algorithm");
    expect(answer_to(comm, rank, rank == 0 ? "binomial" : "chain", "ring"), "do not ask for the same");
    expect(answer_to(MPI_COMM_SELF, rank, "binomial", "ring"), "one rank only");
}

void use(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    for (const int count : {1, 100, 5000})
        for (int root = 0; root < size; ++root) {
            std::vector<int> values(static_cast<std::size_t>(count), rank == root ? root + count : -1);
            check(MPI_Bcast(values.data(), count, MPI_INT, root, comm));
            require(values.front() == root + count && values.back() == root + count, "a broadcast is wrong");
            std::vector<int> sums(static_cast<std::size_t>(count), -1);
            check(MPI_Allreduce(values.data(), sums.data(), count, MPI_INT, MPI_SUM, comm));
            require(sums.front() == size * (root + count) && sums.back() == sums.front(), "a sum is wrong");
            check(MPI_Reduce(values.data(), sums.data(), count, MPI_INT, MPI_MAX, root, comm));
            require(rank != root || sums.back() == root + count, "a maximum is wrong");
        }
    check(MPI_Barrier(comm));
}

// What is asked for sends no message that a program could receive.
void ask_while_receiving(int rank) {
    int received = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) check(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    ask(MPI_COMM_WORLD, "libhcoll_bcast", "chain");
    use(MPI_COMM_WORLD);
    constexpr int sent = 4711;
    if (rank == 1) check(MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    require(rank != 0 || received == sent, "a message of somebody else's was received");
}

// With a key of somebody else's: a rank comes to the call when another one has left it, as some MPI libraries have it.
void come_later(int rank) {
    MPI_Info info = MPI_INFO_NULL;
    check(MPI_Info_create(&info));
    check(MPI_Info_set(info, "mpi_assert_allow_overtaking", "true"));
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (rank == 1) check(MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check(MPI_Comm_set_info(comm, info));
    if (rank == 0) check(MPI_Send(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD));
    use(comm);
    check(MPI_Comm_free(&comm));
    check(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "chosen_calls");
    const bool comes_later = program.options().flag("--later");
    program.options().reject_rest();
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (comes_later) {
        come_later(rank);
        return program.finish("later");
    }
    ask_while_receiving(rank);
    for (int round = 0; round < 3; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (round == 1) use(comm);
        for (const char* choice :
             {"chain:segment=1k", "binomial", "vendor", "shared", "han", "binomial:segment=0", "auto"}) {
            ask(comm, "libhcoll_bcast", choice);
            use(comm);
        }
        for (const char* choice : {"ring", "recursive_doubling", "reduce_bcast", "vendor"}) {
            ask(comm, "libhcoll_allreduce", choice);
            use(comm);
        }
        // What is not said anew stays as it is.
        ask(comm, "libhcoll_bcast", "chain:segment=3k");
        ask(comm, "libhcoll_allreduce", "ring");
        use(comm);
        // Mistakes, which a sentence names, change nothing.
        ask(comm, "libhcoll_bcast", "chian");
        ask(comm, "libhcoll_boadcast", "chain");
        use(comm);
        ask_for_answers(comm, rank);
        use(comm);
        MPI_Comm other = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &other));
        use(other);
        ask(comm, "libhcoll_reduce", "binomial");
        use(comm);
        check(MPI_Comm_free(&comm));
        use(other);
        check(MPI_Comm_free(&other));
    }
    // The ranks do not ask for the same.
    ask(MPI_COMM_WORLD, "libhcoll_bcast", rank == 0 ? "chain" : "binomial");
    use(MPI_COMM_WORLD);
    ask(MPI_COMM_SELF, "libhcoll_bcast", "chain");
    return program.finish("chosen_calls");
}
