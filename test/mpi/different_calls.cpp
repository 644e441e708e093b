// SPDX-License-Identifier: BSD-3-Clause
// Wrong programs: ranks whose collectives do not match. LIBHCOLL_CHECK names the calls before anything hangs; each case is one such program, and
// the last rank makes the other call.
//
//   --case collective|root|bytes|sides|operation|type|in_place|number|form|nonblocking
//   --goes-on   all go on after it (LIBHCOLL_CHECK=warn): the calls match as far as MPI libraries look
#include "../support/program.hpp"

#include <string>
#include <vector>

using namespace hcoll::test;

namespace {

void make(const std::string& which, MPI_Comm comm, bool is_other) {
    std::vector<int> mine(100, 1);
    std::vector<int> all(400, 0);
    std::vector<float> reals(100, 0);
    MPI_Request request = MPI_REQUEST_NULL;
    if (which == "collective") {
        if (is_other)
            check(MPI_Reduce(mine.data(), all.data(), 100, MPI_INT, MPI_MAX, 0, comm));
        else
            check(MPI_Bcast(mine.data(), 100, MPI_INT, 0, comm));
    } else if (which == "root") {
        check(MPI_Bcast(mine.data(), 100, MPI_INT, is_other ? 1 : 0, comm));
    } else if (which == "bytes") {
        check(MPI_Allgather(mine.data(), is_other ? 50 : 100, MPI_INT, all.data(), is_other ? 50 : 100, MPI_INT, comm));
    } else if (which == "sides") {
        // The same on all ranks. MPI libraries take it.
        (void)is_other;
        check(MPI_Allgather(mine.data(), 50, MPI_INT, all.data(), 100, MPI_INT, comm));
    } else if (which == "operation") {
        check(MPI_Allreduce(mine.data(), all.data(), 100, MPI_INT, is_other ? MPI_MAX : MPI_SUM, comm));
    } else if (which == "type") {
        check(MPI_Allreduce(mine.data(), all.data(), 100, is_other ? MPI_FLOAT : MPI_INT, MPI_SUM, comm));
    } else if (which == "in_place") {
        const void* send = is_other ? MPI_IN_PLACE : mine.data();
        check(MPI_Allreduce(send, all.data(), 100, MPI_INT, MPI_SUM, comm));
    } else if (which == "number") {
        // It has left one out.
        if (!is_other) check(MPI_Reduce(mine.data(), all.data(), 100, MPI_INT, MPI_SUM, 0, comm));
        check(MPI_Barrier(comm));
    } else if (which == "form") {
        if (is_other)
            check(MPI_Ibcast(mine.data(), 100, MPI_INT, 0, comm, &request));
        else
            check(MPI_Bcast(mine.data(), 100, MPI_INT, 0, comm));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (which == "nonblocking") {
        check(MPI_Iallreduce(mine.data(), all.data(), is_other ? 10 : 100, MPI_INT, MPI_SUM, comm, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        fail("there is no case " + which);
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "different_calls");
    const std::string which = program.options().text("--case", "");
    const bool goes_on = program.options().flag("--goes-on");
    program.options().reject_rest();
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    // Some that match come first, so that the communicator is set up.
    std::vector<int> values(10, 1);
    for (int i = 0; i < 4; ++i) check(MPI_Allreduce(MPI_IN_PLACE, values.data(), 10, MPI_INT, MPI_MAX, comm));
    make(which, comm, program.rank() == program.size() - 1);
    // Calls that do not block are compared while others wait.
    if (!goes_on) check(MPI_Barrier(comm));
    require(goes_on, "calls that do not match went through");
    make(which, comm, false);
    check(MPI_Comm_free(&comm));
    return program.finish("went on");
}
