// SPDX-License-Identifier: BSD-3-Clause
// A session's communicator while MPI_COMM_WORLD comes and goes, which is nothing to it: ranks use it before MPI_Init and after, and
// some of them before MPI_Finalize what others use after. Skipped where MPI has no sessions.
//
//   --case init      rank 0 makes its first call before MPI_Init, the others after
//   --case finalize  rank 0 begins a collective before MPI_Finalize, the others after; then rank 0 alone makes another session, and
//                    collectives are waited for in every way
//   --case finalize_of_world  the same of a session that was made after MPI_Init
//   --case info      a session that asks for what is no thread level
#include <cstring>
#include <memory>

#include "../support/persistent_call.hpp"

using namespace hcoll::test;

#if HCOLL_TEST_HAS_SESSIONS
#include "../support/session_communicator.hpp"

namespace {

MPI_Session begin_session(MPI_Info info = MPI_INFO_NULL) {
    MPI_Session session = MPI_SESSION_NULL;
    check(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    return session;
}

void initialize() {
    int given = MPI_THREAD_SINGLE;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &given));
}

// Enough blocking calls for the communicator to be set up. Which of them count differs within MPI_COMM_WORLD and beyond.
void use(const NamedCommunicator& on) {
    for (int round = 0; round < 20; ++round) {
        std::vector<int> ranks(static_cast<std::size_t>(on.size), -1);
        check(MPI_Gather(&on.rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, 0, on.comm));
        for (int rank = 0; rank < on.size && on.rank == 0; ++rank)
            require(ranks[static_cast<std::size_t>(rank)] == rank, "wrong numbers by MPI_Gather");
        check(MPI_Barrier(on.comm));
        int value = on.rank == 0 ? round : -1;
        check(MPI_Bcast(&value, 1, MPI_INT, 0, on.comm));
        require(value == round, "a wrong value by MPI_Bcast");
        int sum = 0;
        check(MPI_Allreduce(&on.rank, &sum, 1, MPI_INT, MPI_SUM, on.comm));
        require(sum == on.size * (on.size - 1) / 2, "a wrong sum by MPI_Allreduce");
    }
}

// The root of a short Bcast waits for nobody.
void init_between() {
    MPI_Session session = begin_session();
    const NamedCommunicator on = communicator_of(session, "mpi://WORLD");
    int value = on.rank == 0 ? 7 : 0;
    if (on.rank != 0) initialize();
    check(MPI_Bcast(&value, 1, MPI_INT, 0, on.comm));
    require(value == 7, "a wrong value by the first MPI_Bcast");
    if (on.rank == 0) initialize();
    use(on);
    NamedCommunicator free_after = on;
    check(MPI_Comm_free(&free_after.comm));
    check(MPI_Finalize());
    check(MPI_Session_finalize(&session));
}

void finalize_between(bool comes_world_first) {
    constexpr std::size_t count = 200'000;
    if (comes_world_first) initialize();
    MPI_Session session = begin_session();
    NamedCommunicator on = communicator_of(session, "mpi://WORLD");
    if (!comes_world_first) initialize();
    use(on);
    auto persistent = std::make_unique<Persistent>(Kind::bcast, on, 0, count, false);
    {
        std::unique_ptr<Call> call;
        if (on.rank == 0) call = std::make_unique<Call>(Kind::allreduce, on, 0, count, 1);
        check(MPI_Finalize());
        if (on.rank != 0) call = std::make_unique<Call>(Kind::allreduce, on, 0, count, 1);
        call->wait();
    }
    MPI_Session another = on.rank == 0 ? begin_session() : MPI_SESSION_NULL;
    Random random(5);
    for (int round = 0; round < 12; ++round) {
        std::vector<std::unique_ptr<Call>> calls;
        for (const Kind kind : kinds) calls.push_back(std::make_unique<Call>(kind, on, 0, count / 4, 3));
        complete(calls, random);
    }
    const int last = on.size - 1;
    for (int way = 0; way < 3; ++way) {
        persistent->fill(static_cast<std::uint64_t>(way));
        check(MPI_Start(&persistent->request));
        int number = 0;
        int index = 0;
        if (way == 0) check(MPI_Waitany(1, &persistent->request, &index, MPI_STATUS_IGNORE));
        if (way == 1) check(MPI_Waitsome(1, &persistent->request, &number, &index, MPI_STATUSES_IGNORE));
        // The rank that has begun it waits for another one, which has to be done with it first.
        if (way == 2 && on.rank == 0 && last > 0)
            check(MPI_Recv(&number, 1, MPI_INT, last, 3, on.comm, MPI_STATUS_IGNORE));
        if (way == 2) check(MPI_Wait(&persistent->request, MPI_STATUS_IGNORE));
        if (way == 2 && on.rank == last && last > 0) check(MPI_Send(&number, 1, MPI_INT, 0, 3, on.comm));
        persistent->look();
    }
    persistent.reset();
    check(MPI_Comm_free(&on.comm));
    if (another != MPI_SESSION_NULL) check(MPI_Session_finalize(&another));
    check(MPI_Session_finalize(&session));
}

// What MPI does not know in an info it ignores.
void strange_infos() {
    MPI_Session keep = begin_session();  // MPICH 4.0 crashes where the last one is followed by another
    for (const std::string& level : {std::string("MPI_THREAD_SINGLE (we do not use threads)"), std::string("none"),
                                     std::string(static_cast<std::size_t>(MPI_MAX_INFO_VAL) - 1, 'x')}) {
        MPI_Info info = MPI_INFO_NULL;
        check(MPI_Info_create(&info));
        check(MPI_Info_set(info, "thread_level", level.c_str()));
        MPI_Session session = begin_session(info);
        check(MPI_Info_free(&info));
        NamedCommunicator on = communicator_of(session, "mpi://WORLD");
        use(on);
        check(MPI_Comm_free(&on.comm));
        check(MPI_Session_finalize(&session));
    }
    check(MPI_Session_finalize(&keep));
}

}  // namespace
#endif

int main(int argc, char** argv) {
    failure_context().program = "sessions_and_world";
    Options options(argc, argv);
    [[maybe_unused]] const std::string which = options.text("--case", "");
    options.reject_rest();
#if HCOLL_TEST_HAS_SESSIONS
    if (which == "init") {
        init_between();
    } else if (which == "finalize" || which == "finalize_of_world") {
        finalize_between(which != "finalize");
    } else if (which == "info") {
        strange_infos();
    } else {
        fail("--case is init, finalize, finalize_of_world or info");
    }
    std::printf("ok %s\n", which.c_str());
    return 0;
#else
    skip("this MPI library has no sessions (MPI " + std::to_string(MPI_VERSION) + ")");
#endif
}
