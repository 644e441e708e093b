// SPDX-License-Identifier: BSD-3-Clause
// Collectives on communicators made from MPI sessions: without MPI_Init, twice in a row, and with it beside.
// Skipped where MPI has no sessions.
//
//   --with-init    MPI_Init before, MPI_Finalize after the sessions
//   --level NAME   the thread level that sessions ask for
//   --told NAME    the one that they are to be told
//   --many N       instead, so many communicators, one after another, of which nothing may be left
#include "../support/memory_of_process.hpp"
#include "../support/persistent_call.hpp"
#include "../support/timed_barrier.hpp"

#include <cstdint>
#include <string>

using namespace hcoll::test;

#if HCOLL_TEST_HAS_SESSIONS
#include "../support/session_communicator.hpp"

namespace {

// In the background, beside one another, completed in every way.
void use_nonblocking(const NamedCommunicator& on) {
    Random random(11);
    std::vector<std::unique_ptr<Call>> calls;
    for (int round = 0; round < 12; ++round) {
        for (const Kind kind : kinds)
            calls.push_back(std::make_unique<Call>(kind, on, round % on.size, 1 + 997 * static_cast<std::size_t>(round),
                                                   static_cast<std::uint64_t>(round)));
        complete(calls, random);
    }
    for (const Kind kind : kinds) {
        Persistent persistent(kind, on, on.size - 1, 3000, false);
        for (std::uint64_t seed = 0; seed < 3; ++seed) {
            persistent.fill(seed);
            check(MPI_Start(&persistent.request));
            check(MPI_Wait(&persistent.request, MPI_STATUS_IGNORE));
            persistent.look();
        }
    }
    // Who has begun a collective may wait for something else, which another rank does only when the collective is over there.
    const int last = on.size - 1;
    for (int round = 0; round < 5 && last > 0; ++round) {
        Call call(Kind::bcast, on, 0, 40'000, static_cast<std::uint64_t>(round));
        int token = 0;
        if (on.rank == last) call.wait();
        for (int rank = 0; rank < last; ++rank)
            if (on.rank == last) check(MPI_Send(&token, 1, MPI_INT, rank, 5, on.comm));
        if (on.rank != last) {
            check(MPI_Recv(&token, 1, MPI_INT, last, 5, on.comm, MPI_STATUS_IGNORE));
            call.wait();
        }
    }
}

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
    use_nonblocking({"a communicator of a session", comm, rank, size});
}

struct Levels {
    std::string asked;
    std::string told;
};

MPI_Session begin_session(const Levels& levels) {
    MPI_Info info = MPI_INFO_NULL;
    if (!levels.asked.empty()) {
        check(MPI_Info_create(&info));
        check(MPI_Info_set(info, "thread_level", levels.asked.c_str()));
    }
    MPI_Session session = MPI_SESSION_NULL;
    check(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
    if (info != MPI_INFO_NULL) check(MPI_Info_free(&info));
    if (!levels.told.empty()) {
        char level[64] = "";
        int length = sizeof level;
        int is_there = 0;
        check(MPI_Session_get_info(session, &info));
        check(MPI_Info_get_string(info, "thread_level", &length, level, &is_there));
        check(MPI_Info_free(&info));
        require(is_there != 0 && levels.told == level, "the session is told the thread level " + std::string(level));
    }
    return session;
}

void run_session(const char* set, const Levels& levels) {
    MPI_Session session = begin_session(levels);
    NamedCommunicator on = communicator_of(session, set);
    use(on.comm);
    MPI_Comm duplicate = MPI_COMM_NULL;
    check(MPI_Comm_dup(on.comm, &duplicate));
    use(duplicate);
    check(MPI_Comm_free(&duplicate));
    // Freed while a collective on it is under way.
    Call call(Kind::allreduce, on, 0, 30'000, 1);
    check(MPI_Comm_free(&on.comm));
    call.wait();
    check(MPI_Session_finalize(&session));
}

// Nothing tells the processes of a session's communicator from others: what is found out about them serves that one alone. The first ones may keep what
// was made for them until the session ends, as many as LIBHCOLL_COMMUNICATORS says.
void make_many(int communicators) {
    constexpr std::int64_t most_kb_each = 1;
    MPI_Session session = begin_session({});
    std::int64_t before = 0;
    for (int i = 0; i < communicators; ++i) {
        NamedCommunicator on = communicator_of(session, "mpi://WORLD");
        for (int call = 0; call < 50; ++call) {
            int sum = 0;
            check(MPI_Allreduce(&on.size, &sum, 1, MPI_INT, MPI_SUM, on.comm));
            require(sum == on.size * on.size, "a wrong sum");
        }
        check(MPI_Comm_free(&on.comm));
        if (i == communicators / 4) before = resident_kilobytes();
    }
    const std::int64_t more = resident_kilobytes() - before;
    require(more <= most_kb_each * communicators * 3 / 4, std::to_string(communicators * 3 / 4) +
                                                              " communicators that were freed have left " +
                                                              std::to_string(more) + " KB");
    check(MPI_Session_finalize(&session));
}

}  // namespace
#endif

int main(int argc, char** argv) {
    failure_context().program = "sessions";
    Options options(argc, argv);
    [[maybe_unused]] const bool with_init = options.flag("--with-init");
    [[maybe_unused]] const std::string asked = options.text("--level", "");
    [[maybe_unused]] const std::string told = options.text("--told", "");
    [[maybe_unused]] const auto many = static_cast<int>(options.number("--many", 0));
    options.reject_rest();
#if HCOLL_TEST_HAS_SESSIONS
    if (many != 0) {
        make_many(many);
        std::printf("ok sessions: %d communicators\n", many);
        return 0;
    }
    if (with_init) check(MPI_Init(&argc, &argv));
    // MPICH 4.0 crashes in MPI_Session_init when an earlier session was the last one: there, one is kept open throughout.
    const Levels levels{asked, told};
    MPI_Session keep = MPI_SESSION_NULL;
    if (mpi_breaks_when_started_again()) keep = begin_session(levels);
    for (int round = 0; round < 2; ++round)
        for (const char* set : {"mpi://WORLD", "mpi://SELF"}) run_session(set, levels);
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
