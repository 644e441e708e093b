// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent reductions under an MPI library whose sums are maxima (support/other_sum.cpp): to LIBHCOLL_VERIFY those of the library are wrong. The program has to get
// the MPI library's, and once a blocking collective has been verified such calls are the MPI library's.
//
//   --persistent   MPI_Allreduce_init instead of MPI_Iallreduce and MPI_Ireduce
#include "../support/program.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "../support/persistent_call.hpp"

using namespace hcoll::test;

namespace {

constexpr int count = 300;

std::vector<int> operand(int rank) {
    std::vector<int> values(count);
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i + 10 * rank;
    return values;
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "verified_requests", MPI_THREAD_MULTIPLE);
    const bool is_persistent = program.options().flag("--persistent");
    program.options().reject_rest();
#if !defined(HCOLL_TEST_PERSISTENT)
    if (is_persistent) skip("this MPI library has no persistent collectives");
#endif
    std::vector<int> values(4, 1);
    for (int i = 0; i < 4; ++i) check(MPI_Allreduce(MPI_IN_PLACE, values.data(), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    const std::vector<int> largest = operand(program.size() - 1);
    const std::vector<int> mine = operand(program.rank());
    std::vector<int> all(count, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int round = 0; round < 3; ++round) {
        check(MPI_Iallreduce(mine.data(), all.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(all == largest, "it is not the MPI library's result");
        all = mine;
        check(MPI_Iallreduce(MPI_IN_PLACE, all.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(all == largest, "it is not the MPI library's result in place");
        std::fill(all.begin(), all.end(), -1);
        check(MPI_Ireduce(mine.data(), all.data(), count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(program.rank() != 0 || all == largest, "the root's is not the MPI library's result");
#if defined(HCOLL_TEST_PERSISTENT)
        if (is_persistent && round == 0) {
            check(HCOLL_TEST_PERSISTENT(Allreduce_init)(mine.data(), all.data(), count, MPI_INT, MPI_SUM,
                                                        MPI_COMM_WORLD, MPI_INFO_NULL, &request));
            for (int run = 0; run < 3; ++run) {
                std::fill(all.begin(), all.end(), -1);
                check(MPI_Start(&request));
                check(MPI_Wait(&request, MPI_STATUS_IGNORE));
                require(all == largest, "a persistent one's is not the MPI library's result");
            }
            check(MPI_Request_free(&request));
        }
#endif
        // Agrees on what was found.
        check(MPI_Allreduce(MPI_IN_PLACE, values.data(), 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
    return program.finish("the MPI library's results");
}
