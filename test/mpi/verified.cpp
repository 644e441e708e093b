// A program whose reductions depend on the order of their operands, which MPI does not allow: what the library gives differs from what the MPI library does, as if it were
// wrong. LIBHCOLL_VERIFY has to see that, to give the program the MPI library's result, and to leave such calls to the MPI library from then on.
//
//   --collective allreduce|reduce
//   --in-place
#include "../support/program.hpp"

#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

void subtract(void* left, void* right, int* count, MPI_Datatype*) {
    for (int i = 0; i < *count; ++i)
        static_cast<int*>(right)[i] = static_cast<int*>(left)[i] - static_cast<int*>(right)[i];
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "verified");
    const bool is_reduce = program.options().text("--collective", "allreduce") == "reduce";
    const bool is_in_place = program.options().flag("--in-place");
    program.options().reject_rest();
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
        if (is_in_place && has_result) all = mine;
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
