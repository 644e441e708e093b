// SPDX-License-Identifier: BSD-3-Clause
// Collectives on communicators of every origin, whose placements the library logs (test/intercept/test_topology.py reads
// them there).
//
//   --case world    MPI_COMM_WORLD alone
//   --case dup      and a duplicate of it
//   --case split    and even and odd ranks apart, both in reverse order
//   --case merge    and two halves, merged with the second half first
//   --case spawn    MPI_COMM_WORLD of 2 ranks, and 2 processes that it starts, merged; skipped where MPI cannot
#include "communicator_use.hpp"

#include "../support/spawn.hpp"

using namespace hcoll::test;

namespace {

constexpr int calls = 8;
constexpr int children = 2;

void split(int rank) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm));
    use(comm, calls, 2);
    check(MPI_Comm_free(&comm));
}

void merge(int rank, int size) {
    const int side = rank < size / 2 ? 0 : 1;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm merged = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half));
    check(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side == 0 ? size / 2 : 0, 17, &inter));
    check(MPI_Intercomm_merge(inter, side == 0 ? 1 : 0, &merged));
    use(merged, calls, 3);
    for (MPI_Comm* comm : {&merged, &inter, &half}) check(MPI_Comm_free(comm));
}

void use_merged(MPI_Comm inter, int high) {
    MPI_Comm merged = MPI_COMM_NULL;
    check(MPI_Intercomm_merge(inter, high, &merged));
    int size = 0;
    check(MPI_Comm_size(merged, &size));
    require(size == 2 * children, "parents and children are not all there");
    use(merged, calls, 4);
    check(MPI_Comm_free(&merged));
    check(MPI_Comm_disconnect(&inter));
}

void spawn() {
    MPI_Comm inter = MPI_COMM_NULL;
    const int status = start_children(children, environment_for_children(), {"--case", "child"}, inter);
    if (status != MPI_SUCCESS) skip("this MPI's launcher starts no processes: " + error_text(status));
    use_merged(inter, 0);
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "topology");
    const std::string which = program.options().text("--case", "world");
    program.options().reject_rest();
    if (which == "child") {
        MPI_Comm parent = MPI_COMM_NULL;
        check(MPI_Comm_get_parent(&parent));
        use_merged(parent, 1);
        return program.finish("child");
    }
    use(MPI_COMM_WORLD, calls, 0);
    if (which == "dup") {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, calls, 1);
        check(MPI_Comm_free(&comm));
    } else if (which == "split") {
        split(program.rank());
    } else if (which == "merge") {
        merge(program.rank(), program.size());
    } else if (which == "spawn") {
        spawn();
    } else {
        require(which == "world", "there is no case " + which);
    }
    return program.finish(which);
}
