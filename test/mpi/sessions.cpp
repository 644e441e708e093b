// Collectives on communicators made from MPI sessions: without MPI_Init, twice in a row, and with it beside.
// Skipped where MPI has no sessions (before MPI 4).
//
//   --with-init   MPI_Init before, MPI_Finalize after the sessions
#include "../support/timed_barrier.hpp"

using namespace hcoll::test;

#if MPI_VERSION >= 4
namespace {

void use(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    for (int round = 0; round < 25; ++round) {
        check(timed_barrier(comm));
        std::vector<int> values(static_cast<std::size_t>(1 + round * 97), rank + round);
        std::vector<int> result(values.size(), -1);
        const int count = static_cast<int>(values.size());
        const int root = round % size;
        const int sum = size * (size - 1) / 2 + size * round;
        check(MPI_Allreduce(values.data(), result.data(), count, MPI_INT, MPI_SUM, comm));
        require(result.front() == sum && result.back() == sum, "wrong sum by MPI_Allreduce");
        check(MPI_Reduce(values.data(), result.data(), count, MPI_INT, MPI_MAX, root, comm));
        require(rank != root || (result.front() == size - 1 + round && result.back() == size - 1 + round),
                "wrong maximum by MPI_Reduce");
        check(MPI_Bcast(values.data(), count, MPI_INT, root, comm));
        require(values.front() == root + round && values.back() == root + round, "wrong values by MPI_Bcast");
    }
}

bool mpi_breaks_when_started_again() {
#ifdef MPICH_VERSION
    return std::string_view(MPICH_VERSION).starts_with("4.0");
#else
    return false;
#endif
}

void run_session(const char* set) {
    MPI_Session session = MPI_SESSION_NULL;
    check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    MPI_Group group = MPI_GROUP_NULL;
    check(MPI_Group_from_session_pset(session, set, &group));
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_create_from_group(group, "hcoll-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    check(MPI_Group_free(&group));
    check(MPI_Comm_rank(comm, &failure_context().rank));
    use(comm);
    MPI_Comm duplicate = MPI_COMM_NULL;
    check(MPI_Comm_dup(comm, &duplicate));
    use(duplicate);
    check(MPI_Comm_free(&duplicate));
    check(MPI_Comm_free(&comm));
    check(MPI_Session_finalize(&session));
}

}  // namespace
#endif

int main(int argc, char** argv) {
    failure_context().program = "sessions";
    Options options(argc, argv);
    [[maybe_unused]] const bool with_init = options.flag("--with-init");
    options.reject_rest();
#if MPI_VERSION >= 4
    if (with_init) check(MPI_Init(&argc, &argv));
    // MPICH 4.0 crashes in MPI_Session_init when an earlier session was the last one: there, keep one open throughout.
    MPI_Session keep = MPI_SESSION_NULL;
    if (mpi_breaks_when_started_again()) check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &keep));
    for (int round = 0; round < 2; ++round)
        for (const char* set : {"mpi://WORLD", "mpi://SELF"}) run_session(set);
    if (keep != MPI_SESSION_NULL) check(MPI_Session_finalize(&keep));
    if (with_init) {
        use(MPI_COMM_WORLD);
        check(MPI_Finalize());
    }
    std::printf("ok sessions\n");
    return 0;
#else
    skip("this MPI library has no sessions (MPI " + std::to_string(MPI_VERSION) + ")");
#endif
}
