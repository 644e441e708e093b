// SPDX-License-Identifier: BSD-3-Clause
// A program whose reductions depend on the order of their operands, which MPI does not allow: what the library gives differs from what the MPI library does, as if it were
// wrong. LIBHCOLL_VERIFY has to see that, to give the program the MPI library's result, and to leave such calls to the MPI library from then on.
//
//   --collective allreduce|reduce   as said
//                gather|scatter     of an MPI library whose results are others
//                errors             one rank alone makes wrong calls
//                sides              all ranks receive more than is sent
//                nans               results that depend on the order
//   --in-place
#include "../support/program.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

void subtract(void* left, void* right, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i)
        static_cast<int*>(right)[i] = static_cast<int*>(left)[i] - static_cast<int*>(right)[i];
}

// The MPI library is another one (support/other_sum.cpp). What is not significant on a rank is wrong there.
void move_blocks(const Program& program, bool is_gather) {
    constexpr int root = 1;
    const bool is_root = program.rank() == root;
    const std::vector<char> some(4, static_cast<char>(program.rank()));
    for (int round = 0; round < 2; ++round) {
        std::vector<char> all(4 * static_cast<std::size_t>(program.size()), 1);
        std::vector<char> block(4, 1);
        if (is_gather)
            check(MPI_Gather(some.data(), 4, MPI_CHAR, is_root ? all.data() : nullptr, is_root ? 4 : -3,
                             is_root ? MPI_CHAR : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
        else
            check(MPI_Scatter(is_root ? all.data() : nullptr, is_root ? 4 : -3, is_root ? MPI_CHAR : MPI_DATATYPE_NULL,
                              is_root ? MPI_IN_PLACE : block.data(), is_root ? -3 : 4,
                              is_root ? MPI_DATATYPE_NULL : MPI_CHAR, root, MPI_COMM_WORLD));
        // The second time it is the MPI library's, of characters.
        const char first = round == 0 ? 77 : static_cast<char>(is_gather ? 0 : 1);
        if (is_gather && is_root) require(all.front() == first, "it is not the MPI library's result");
        if (!is_gather && !is_root) require(block.front() == first, "it is not the MPI library's block");
    }
}

// One rank alone makes calls that are wrong, and goes on. Whatever number its later calls have on it, they are those of the others.
void make_wrong_calls_alone(const Program& program) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(3, MPI_INT, &uncommitted));
    int value[3] = {1, 2, 3};
    double real = 1;
    double sum = 0;
    for (int round = 0; round < 6; ++round) {
        check(MPI_Allreduce(&real, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
        check(MPI_Bcast(value, 3, MPI_INT, round % program.size(), comm));
        if (program.rank() != 1) continue;
        require(MPI_Allreduce(&real, &sum, 1, MPI_DOUBLE, MPI_BAND, comm) != MPI_SUCCESS, "bits of a double");
        require(MPI_Bcast(value, 1, uncommitted, 0, comm) != MPI_SUCCESS, "a type that is not committed");
        require(MPI_Bcast(value, -1, MPI_INT, 0, comm) != MPI_SUCCESS, "a negative count");
        require(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, value, 1, MPI_INT, 1, comm) != MPI_SUCCESS,
                "a root's blocks in place");
        require(MPI_Scatter(nullptr, 0, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm) != MPI_SUCCESS,
                "another one's in place");
        require(MPI_Gather(value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 1, comm) != MPI_SUCCESS,
                "a root's result in place");
        require(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS,
                "another one's block in place");
        require(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm) != MPI_SUCCESS,
                "both in place");
    }
    check(MPI_Type_free(&uncommitted));
    check(MPI_Comm_free(&comm));
}

// Receives more than is sent, on all ranks alike: wrong, but MPI libraries take it, and so does this one.
void receive_more_than_is_sent(const Program& program) {
    constexpr int sent = 4;
    for (int i = 0; i < 20; ++i) check(MPI_Barrier(MPI_COMM_WORLD));
    for (const int received : {8, 100000}) {
        const std::vector<int> mine(sent, program.rank() + 1);
        std::vector<int> all(static_cast<std::size_t>(received) * static_cast<std::size_t>(program.size()), -1);
        check(MPI_Allgather(mine.data(), sent, MPI_INT, all.data(), received, MPI_INT, MPI_COMM_WORLD));
        for (int rank = 0; rank < program.size(); ++rank)
            require(all[static_cast<std::size_t>(rank) * static_cast<std::size_t>(received)] == rank + 1,
                    "a block is not there");
        // Nobody sends anything, and the root does not know.
        check(MPI_Gather(mine.data(), 0, MPI_INT, all.data(), program.rank() == 0 ? received : 0, MPI_INT, 0,
                         MPI_COMM_WORLD));
    }
}

// Which number is left where one is a NaN depends on the order, and no order is wrong.
void meet_nans(const Program& program) {
    struct Pair {
        double value;
        int index;
    };
    for (int round = 0; round < 3; ++round) {
        const double nan = std::nan("");
        const double mine = program.rank() % 3 == 1 ? nan : program.rank();
        double least = 0;
        check(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
        check(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        const Pair own = {mine, program.rank()};
        Pair lowest{};
        check(MPI_Allreduce(&own, &lowest, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "verified");
    const std::string which = program.options().text("--collective", "allreduce");
    const bool is_reduce = which == "reduce";
    const bool is_in_place = program.options().flag("--in-place");
    program.options().reject_rest();
    if (which == "gather" || which == "scatter" || which == "errors" || which == "nans" || which == "sides") {
        int one = 1;
        for (int i = 0; i < 4; ++i) check(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        if (which == "errors")
            make_wrong_calls_alone(program);
        else if (which == "nans")
            meet_nans(program);
        else if (which == "sides")
            receive_more_than_is_sent(program);
        else
            move_blocks(program, which == "gather");
        return program.finish(which);
    }
    constexpr int count = 50;
    constexpr int root = 1;
    MPI_Op op = MPI_OP_NULL;
    check(MPI_Op_create(subtract, 0, &op));
    std::vector<int> values(4, 1);
    for (int i = 0; i < 4; ++i) check(MPI_Allreduce(MPI_IN_PLACE, values.data(), 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    std::vector<std::vector<int>> results;
    for (int round = 0; round < 3; ++round) {
        std::vector<int> mine(count);
        std::vector<int> all(count, -1);
        for (int i = 0; i < count; ++i) mine[static_cast<std::size_t>(i)] = i + 10 * program.rank();
        const bool has_result = !is_reduce || program.rank() == root;
        if (is_in_place && has_result) all.swap(mine);
        const void* send = is_in_place && has_result ? MPI_IN_PLACE : static_cast<const void*>(mine.data());
        if (is_reduce)
            check(MPI_Reduce(send, all.data(), count, MPI_INT, op, root, MPI_COMM_WORLD));
        else
            check(MPI_Allreduce(send, all.data(), count, MPI_INT, op, MPI_COMM_WORLD));
        if (has_result) results.push_back(all);
    }
    for (const auto& each : results)
        require(each == results.front(), "the MPI library's result is not the same in each call");
    check(MPI_Op_free(&op));
    return program.finish("alike in each call");
}
