// SPDX-License-Identifier: BSD-3-Clause
// A program with known numbers of calls, for the profiling tool to count (profiler.c): ten of each collective, each
// checked, and MPI_Pcontrol with levels 3 and 7.
#include "../support/program.hpp"
#include "communicator_use.hpp"

using namespace hcoll::test;

int main(int argc, char** argv) {
    check(MPI_Init(&argc, &argv));
    failure_context().program = "profiled";
    check(MPI_Comm_rank(MPI_COMM_WORLD, &failure_context().rank));
    check(MPI_Pcontrol(3));
    use(MPI_COMM_WORLD, 40, 1);
    check(MPI_Pcontrol(7));
    check(MPI_Finalize());
    return 0;
}
