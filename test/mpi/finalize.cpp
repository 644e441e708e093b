// SPDX-License-Identifier: BSD-3-Clause
// Start and end of MPI: what goes on in MPI_Finalize, and that the library changes neither the thread level nor how a
// program ends.
//
//   --case attribute     an attribute of MPI_COMM_SELF whose delete callback calls collectives within MPI_Finalize
//   --case unfreed       communicators left behind
//   --case silent        no collective at all
//   --case static        an object of static lifetime calls collectives, and MPI_Finalize, in its destructor
//   --case persistent    a persistent collective is started in such a callback, and waited for by MPI_Waitany
//   --case nonblocking   MPI_Ibcast between blocking calls
//   --thread-level N     0 to 3 (single to multiple): by MPI_Init_thread
//   --expect-thread-level N   what must be provided, and told by MPI_Query_thread
#include "../support/mpi_features.hpp"
#include "../support/program.hpp"
#include "communicator_use.hpp"

using namespace hcoll::test;

namespace {

int callbacks_run = 0;

int collective_in_finalize(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    ++callbacks_run;
    use(MPI_COMM_WORLD, 6, 3);
    return MPI_SUCCESS;
}

void set_finalize_callback(MPI_Comm_delete_attr_function* callback = collective_in_finalize) {
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &keyval, nullptr));
    check(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr));
    check(MPI_Comm_free_keyval(&keyval));
}

#if defined(HCOLL_TEST_PERSISTENT)
int told_in_finalize = -1;
MPI_Request telling = MPI_REQUEST_NULL;

int start_in_finalize(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    ++callbacks_run;
    int index = -1;
    check(MPI_Start(&telling));
    check(MPI_Waitany(1, &telling, &index, MPI_STATUS_IGNORE));
    require(told_in_finalize == 8, "a wrong value by a persistent broadcast within MPI_Finalize");
    check(MPI_Request_free(&telling));
    return MPI_SUCCESS;
}

void start_persistent_in_finalize(int rank) {
    use(MPI_COMM_WORLD, 20, 1);
    told_in_finalize = rank == 0 ? 8 : -1;
    check(HCOLL_TEST_PERSISTENT(Bcast_init)(&told_in_finalize, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &telling));
    set_finalize_callback(start_in_finalize);
}
#else
void start_persistent_in_finalize(int /*rank*/) { skip("this MPI has no persistent collectives"); }
#endif

void leave_communicators() {
    for (int i = 0; i < 20; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, i, i);
    }
}

// Non-blocking and blocking broadcasts on one communicator: they must not take one another's messages.
void mix_in_nonblocking(int rank, int size) {
    for (int round = 0; round < 30; ++round) {
        const int count = 1 + round * 100;
        const int root = round % size;
        std::vector<int> pending(static_cast<std::size_t>(count), rank == root ? round : -1);
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibcast(pending.data(), count, MPI_INT, root, MPI_COMM_WORLD, &request));
        use(MPI_COMM_WORLD, 3, round);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(pending.front() == round && pending.back() == round, "wrong values by MPI_Ibcast");
    }
}

// What many C++ programs have around MPI. When it is destroyed, what the main thread had of its own is gone.
class MpiUser {
public:
    ~MpiUser() {
        if (!is_needed) return;
        use(MPI_COMM_WORLD, 40, 5);
        check(MPI_Finalize());
        if (is_first) std::printf("ok finalize: static\n");
    }
    bool is_needed = false;
    bool is_first = false;
} user;

}  // namespace

int main(int argc, char** argv) {
    Options first_look(argc, argv);
    const auto level = static_cast<int>(first_look.number("--thread-level", -1));
    constexpr std::array<int, 4> levels = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                           MPI_THREAD_MULTIPLE};
    int provided = -1;
    if (level >= 0) {
        check(MPI_Init_thread(&argc, &argv, levels.at(static_cast<std::size_t>(level)), &provided));
    } else {
        check(MPI_Init(&argc, &argv));
    }
    Options options(argc, argv);
    options.number("--thread-level", -1);
    const std::string which = options.text("--case", "silent");
    const auto expected_level = static_cast<int>(options.number("--expect-thread-level", -1));
    options.reject_rest();
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    failure_context() = {"finalize", rank, 0};

    if (which == "attribute") {
        // One below and one above whatever the library sets.
        set_finalize_callback();
        use(MPI_COMM_WORLD, 8, 1);
        set_finalize_callback();
    } else if (which == "unfreed") {
        leave_communicators();
    } else if (which == "persistent") {
        start_persistent_in_finalize(rank);
    } else if (which == "static") {
        use(MPI_COMM_WORLD, 40, 3);
        user.is_needed = true;
        user.is_first = rank == 0;
        return 0;
    } else if (which == "nonblocking") {
        mix_in_nonblocking(rank, size);
    } else {
        require(which == "silent", "unknown --case " + which);
    }

    int told = -1;
    check(MPI_Query_thread(&told));
    if (level >= 0) require(told == provided, "MPI_Query_thread tells another level than MPI_Init_thread");
    if (expected_level >= 0)
        require(
            told == levels.at(static_cast<std::size_t>(expected_level)),
            "MPI_Query_thread: expected level " + std::to_string(expected_level) + ", found " + std::to_string(told));
    check(MPI_Finalize());
    require(callbacks_run == (which == "attribute"    ? 2
                              : which == "persistent" ? 1
                                                      : 0),
            "the delete callbacks of MPI_COMM_SELF ran " + std::to_string(callbacks_run) + " times");
    int finalized = 0;
    check(MPI_Finalized(&finalized));
    require(finalized != 0, "MPI_Finalized tells that MPI is still running");
    if (rank == 0) std::printf("ok finalize: %s, thread level %d\n", which.c_str(), told);
    return 0;
}
