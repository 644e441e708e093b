// SPDX-License-Identifier: BSD-3-Clause
// A non-blocking or persistent collective fails in the background of rank 1 (test/support/faulty_calls.cpp), which first waits for a message of a
// rank that waits for that collective. Where errors are fatal, the job ends; a hang it would be otherwise.
//
//   --persistent   one that is begun again and again
//   --freed        its communicator is freed while it is under way
//   --abort        the communicator's errors end its processes (MPI_ERRORS_ABORT, MPI 4.0)
#include "../support/mpi_library.hpp"
#include "../support/persistent_call.hpp"
#include "../support/program.hpp"

using namespace hcoll::test;

namespace {

MPI_Request start(bool is_persistent, const int& mine, int& sum, MPI_Comm comm) {
    MPI_Request request = MPI_REQUEST_NULL;
#if defined(HCOLL_TEST_PERSISTENT)
    if (is_persistent) {
        check(HCOLL_TEST_PERSISTENT(Allreduce_init)(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
        check(MPI_Start(&request));
        return request;
    }
#endif
    if (is_persistent) skip("this MPI library has no persistent collectives");
    check(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
    return request;
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "background_errors");
    const bool is_persistent = program.options().flag("--persistent");
    const bool is_freed = program.options().flag("--freed");
    const bool may_abort = program.options().flag("--abort");
    program.options().reject_rest();
    require(program.size() == 2, "2 ranks are needed");
    constexpr int tag = 7;
    const int mine = program.rank();
    int sum = -1;
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
#if defined(MPI_ERRORS_ABORT)
    if (may_abort && is_mpich_of("4.0")) skip("MPICH 4.0 ends by an assertion where MPI_ERRORS_ABORT is set");
    if (may_abort) check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ABORT));
#else
    if (may_abort) skip("this MPI library has no MPI_ERRORS_ABORT");
#endif
    MPI_Request request = start(is_persistent, mine, sum, comm);
    if (is_freed) check(MPI_Comm_free(&comm));
    if (program.rank() == 1) check(MPI_Recv(nullptr, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (program.rank() == 0) check(MPI_Send(nullptr, 0, MPI_INT, 1, tag, MPI_COMM_WORLD));
    fail("nothing has failed");
}
