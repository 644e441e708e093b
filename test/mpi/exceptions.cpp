// SPDX-License-Identifier: BSD-3-Clause
// Exceptions of the application, thrown by its own functions that MPI calls (error handlers, operations, attribute functions), and
// threads that are cancelled: they pass through the library as through MPI alone. What they passed through can be used afterwards.
//
//   --case NAME   one of the cases in the table at the end
#include "../support/program.hpp"
#include "communicator_use.hpp"

#include <hcoll/hcoll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <time.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <new>
#include <vector>

using namespace hcoll::test;

namespace {

struct ErrorOfMpi {
    int code;
};

void throw_error(MPI_Comm* /*comm*/, int* code, ...) { throw ErrorOfMpi{*code}; }

struct WrongCall {
    const char* name;
    std::function<void(MPI_Comm)> call;
};

// Calls that this rank alone makes.
std::vector<WrongCall> wrong_calls() {
    static std::array<double, 4> x{};
    static std::array<double, 4> y{};
    return {
        {"MPI_Bcast", [](MPI_Comm comm) { MPI_Bcast(x.data(), 1, MPI_DOUBLE, 1000, comm); }},
        {"MPI_Allreduce",
         [](MPI_Comm comm) { MPI_Allreduce(x.data(), y.data(), 1, MPI_DATATYPE_NULL, MPI_SUM, comm); }},
        {"MPI_Reduce", [](MPI_Comm comm) { MPI_Reduce(x.data(), y.data(), 1, MPI_DOUBLE, MPI_OP_NULL, 0, comm); }},
        {"MPI_Gather",
         [](MPI_Comm comm) { MPI_Gather(x.data(), 1, MPI_DATATYPE_NULL, y.data(), 1, MPI_DOUBLE, 0, comm); }},
        {"MPI_Ibcast",
         [](MPI_Comm comm) {
             MPI_Request request = MPI_REQUEST_NULL;
             MPI_Ibcast(x.data(), 1, MPI_DOUBLE, 1000, comm, &request);
         }},
        {"MPI_Recv", [](MPI_Comm comm) { MPI_Recv(x.data(), 1, MPI_DOUBLE, 1000, 0, comm, MPI_STATUS_IGNORE); }},
        {"MPI_Sendrecv",
         [](MPI_Comm comm) {
             MPI_Sendrecv(x.data(), 1, MPI_DOUBLE, 1000, 0, y.data(), 1, MPI_DOUBLE, 0, 0, comm, MPI_STATUS_IGNORE);
         }},
        {"MPI_Waitall", [](MPI_Comm) { MPI_Waitall(-1, nullptr, nullptr); }},
    };
}

void catch_all(MPI_Comm comm, MPI_Errhandler throwing) {
    for (const WrongCall& wrong : wrong_calls()) {
        for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
            check(MPI_Comm_set_errhandler(each, throwing));
        bool caught = false;
        try {
            wrong.call(comm);
        } catch (const ErrorOfMpi& error) {
            caught = error.code != MPI_SUCCESS;
        }
        for (const MPI_Comm each : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
            check(MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL));
        require(caught, std::string(wrong.name) + ": the error handler's exception did not come back");
    }
}

void error_handlers_throw() {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, 8, 1);
    MPI_Errhandler throwing = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(throw_error, &throwing));
    for (const int level : {HCOLL_PCONTROL_VENDOR, HCOLL_PCONTROL_OWN}) {
        check(MPI_Pcontrol(level));
        catch_all(comm, throwing);
        use(comm, 8, 2);
    }
    check(MPI_Errhandler_free(&throwing));
    check(MPI_Comm_free(&comm));
}

// The same while something is in flight, which the last rank begins when the others have thrown.
void error_handlers_throw_beside_what_is_in_flight() {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    use(MPI_COMM_WORLD, 8, 1);
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Errhandler throwing = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(throw_error, &throwing));
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int round = 0; round < 3; ++round) {
        if (rank == size - 1)
            for (int peer = 0; peer < size - 1; ++peer)
                check(MPI_Recv(nullptr, 0, MPI_INT, peer, 5, comm, MPI_STATUS_IGNORE));
        check(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        if (rank != size - 1) {
            catch_all(comm, throwing);
            check(MPI_Send(nullptr, 0, MPI_INT, size - 1, 5, comm));
        }
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(sum == size * (size - 1) / 2, "a sum that was in flight is wrong");
        use(comm, 8, 2);
    }
    check(MPI_Errhandler_free(&throwing));
    check(MPI_Comm_free(&comm));
}

jmp_buf where_errors_go;

void jump_away(MPI_Comm* /*comm*/, int* code, ...) { longjmp(where_errors_go, *code == MPI_SUCCESS ? 1 : *code); }

// Behind a call that was left, where ranks that are out of step get something else.
void sum_behind(MPI_Comm comm, int round) {
    int size = 0;
    int all = 0;
    check(MPI_Comm_size(comm, &size));
    check(MPI_Allreduce(&round, &all, 1, MPI_INT, MPI_SUM, comm));
    require(all == size * round, "a sum behind a call that was left is wrong");
}

// Calls Bcast with a buffer that is too short on this rank alone. False where no error came back.
bool is_caught_in_truncated_bcast(MPI_Comm comm, bool by_jump) {
    static std::array<int, 100> message{};
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank));
    const int count = rank == 1 ? 10 : 100;
    if (by_jump) {
        if (setjmp(where_errors_go) != 0) return true;
        MPI_Bcast(message.data(), count, MPI_INT, 0, comm);
        return false;
    }
    try {
        MPI_Bcast(message.data(), count, MPI_INT, 0, comm);
    } catch (const ErrorOfMpi&) {
        return true;
    }
    return false;
}

// Of the first calls, one fails where all ranks have made it: they are counted alike all the same, and set up in the same call.
void error_handlers_leave_one_of_the_first_calls() {
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_Errhandler throwing = MPI_ERRHANDLER_NULL;
    MPI_Errhandler jumping = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(throw_error, &throwing));
    check(MPI_Comm_create_errhandler(jump_away, &jumping));
    for (const bool by_jump : {false, true})
        for (const int calls_before : {0, 1, 2, 3}) {
            MPI_Comm comm = MPI_COMM_NULL;
            check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            check(MPI_Comm_set_errhandler(comm, by_jump ? jumping : throwing));
            for (int round = 0; round < calls_before; ++round) sum_behind(comm, round);
            const bool is_caught = is_caught_in_truncated_bcast(comm, by_jump);
            require(is_caught == (rank == 1), "the message is too long for one rank alone");
            for (int round = 0; round < 100; ++round) sum_behind(comm, round);
            check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
            use(comm, 8, 2);
            check(MPI_Comm_free(&comm));
        }
    check(MPI_Errhandler_free(&throwing));
    check(MPI_Errhandler_free(&jumping));
}

enum class Throwing { nothing, error, bad_alloc };
Throwing operation_throws = Throwing::nothing;

void add_or_throw(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
    if (operation_throws == Throwing::error) throw ErrorOfMpi{1};
    if (operation_throws == Throwing::bad_alloc) throw std::bad_alloc();
    for (int i = 0; i < *count; ++i) static_cast<int*>(right)[i] += static_cast<int*>(left)[i];
}

// On all ranks: each of two combines what the other one sent.
void operations_throw() {
    int size = 0;
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    MPI_Op add = MPI_OP_NULL;
    check(MPI_Op_create(add_or_throw, 1, &add));
    for (const Throwing throwing : {Throwing::error, Throwing::bad_alloc}) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, 8, 1);
        const auto sum = [&] {
            std::vector<int> ones(1000, 1);
            std::vector<int> sums(1000, 0);
            check(MPI_Allreduce(ones.data(), sums.data(), 1000, MPI_INT, add, comm));
            require(sums.front() == size && sums.back() == size, "a sum by an operation of the application is wrong");
        };
        sum();
        operation_throws = throwing;
        bool caught = false;
        try {
            sum();
        } catch (const ErrorOfMpi&) {
            caught = throwing == Throwing::error;
        } catch (const std::bad_alloc&) {
            caught = throwing == Throwing::bad_alloc;
        }
        require(caught, "the operation's exception did not come back");
        operation_throws = Throwing::nothing;
        check(MPI_Barrier(MPI_COMM_WORLD));
        sum();
        use(comm, 8, 2);
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Op_free(&add));
}

// At the root of a Reduce that is counted alone: the other rank has made its call, too.
void operation_leaves_one_of_the_first_calls(MPI_Errhandler handler) {
    int rank = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MPI_Op add = MPI_OP_NULL;
    check(MPI_Op_create(add_or_throw, 1, &add));
    for (int calls_before = 0; calls_before < 4; ++calls_before) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        check(MPI_Comm_set_errhandler(comm, handler));
        for (int round = 0; round < calls_before; ++round) sum_behind(comm, round);
        int mine = 1;
        int all = 0;
        bool is_caught = false;
        operation_throws = rank == 0 ? Throwing::error : Throwing::nothing;
        try {
            check(MPI_Reduce(&mine, &all, 1, MPI_INT, add, 0, comm));
        } catch (const ErrorOfMpi&) {
            is_caught = true;
        }
        operation_throws = Throwing::nothing;
        require(is_caught == (rank == 0), "the operation's exception did not come back");
        for (int round = 0; round < 100; ++round) sum_behind(comm, round);
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Op_free(&add));
}

void operations_leave_first_calls() { operation_leaves_one_of_the_first_calls(MPI_ERRORS_ARE_FATAL); }
void operations_leave_first_calls_whose_errors_return() { operation_leaves_one_of_the_first_calls(MPI_ERRORS_RETURN); }

bool attributes_throw = false;

int copy_or_throw(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 1;
    if (attributes_throw) throw ErrorOfMpi{2};
    return MPI_SUCCESS;
}

int delete_or_throw(MPI_Comm, int, void*, void*) {
    if (attributes_throw) throw ErrorOfMpi{3};
    return MPI_SUCCESS;
}

void attribute_functions_throw() {
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(copy_or_throw, delete_or_throw, &keyval, nullptr));
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, 8, 1);
    check(MPI_Comm_set_attr(comm, keyval, nullptr));
    const auto comes_back = [&](const std::function<void()>& call) {
        attributes_throw = true;
        bool caught = false;
        try {
            call();
        } catch (const ErrorOfMpi&) {
            caught = true;
        }
        attributes_throw = false;
        return caught;
    };
    MPI_Comm copy = MPI_COMM_NULL;
    require(comes_back([&] { MPI_Comm_dup(comm, &copy); }), "a copy function's exception did not come back");
    use(comm, 8, 2);
    MPI_Comm freed = comm;
    require(comes_back([&] { MPI_Comm_free(&freed); }), "a delete function's exception did not come back");
    // What became of that communicator is the MPI library's business; others go on.
    use(MPI_COMM_WORLD, 8, 3);
}

int refuse_to_be_deleted(MPI_Comm, int, void*, void*) { return attributes_throw ? MPI_ERR_OTHER : MPI_SUCCESS; }

bool is_left_by_a_jump(MPI_Comm comm) {
    if (setjmp(where_errors_go) != 0) return true;
    MPI_Comm freed = comm;
    MPI_Comm_free(&freed);
    return false;
}

// A delete function refuses, and the error handler jumps out of MPI_Comm_free: what comes after is as ever.
void error_handlers_leave_free() {
    MPI_Errhandler jumping = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(jump_away, &jumping));
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_to_be_deleted, &keyval, nullptr));
    for (int round = 0; round < 3; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        // The first attribute: MPICH tells what the delete function of the first one says, whatever others have said before.
        check(MPI_Comm_set_attr(comm, keyval, nullptr));
        use(comm, 8, 1);
        check(MPI_Comm_set_errhandler(comm, jumping));
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, jumping));
        attributes_throw = true;
        require(is_left_by_a_jump(comm), "nothing has refused to be deleted");
        attributes_throw = false;
        check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
        // Where the frame was that was left, there is something else now.
        std::array<volatile unsigned char, 4096> stack{};
        for (auto& byte : stack) byte = 0x5a;
        MPI_Comm next = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &next));
        use(next, 8, 2);
        check(MPI_Comm_free(&next));
    }
    check(MPI_Errhandler_free(&jumping));
}

std::atomic<bool> is_waiting{false};
std::atomic<bool> was_unwound{false};

struct NoteUnwinding {
    ~NoteUnwinding() { was_unwound = true; }
};

void receive_nothing() {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

MPI_Comm nobody_else_comes_to = MPI_COMM_NULL;

void wait_for_the_others() { MPI_Barrier(nobody_else_comes_to); }

void add_with_the_others() {
    int value = 1;
    int sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, nobody_else_comes_to);
}

struct Wait {
    void (*call)();
    int cancel_type;
};

void* wait_for_ever(void* argument) {
    const NoteUnwinding note;
    const Wait& wait = *static_cast<Wait*>(argument);
    pthread_setcanceltype(wait.cancel_type, nullptr);
    is_waiting = true;
    wait.call();
    return nullptr;
}

// What a thread has computed, in seconds.
double seconds_of(pthread_t thread) {
    clockid_t clock{};
    timespec time{};
    require(pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &time) == 0, "a thread has a clock");
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Whether MPI can be used when a thread was cancelled in it is the MPI library's business: so nothing more is called. A thread that may
// be cancelled at any instruction must be where it waits, and not on its way there: nobody who writes C++ could do anything for it.
void cancel_who_is_in(Wait wait) {
    pthread_t thread{};
    require(pthread_create(&thread, nullptr, wait_for_ever, &wait) == 0, "there is no thread");
    while (!is_waiting) sched_yield();
    constexpr double longer_than_the_way = 2e-3;
    const double begin = seconds_of(thread);
    while (seconds_of(thread) < begin + longer_than_the_way) sched_yield();
    require(pthread_cancel(thread) == 0, "the thread cannot be cancelled");
    void* result = nullptr;
    require(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "the thread was not cancelled");
    require(was_unwound, "the thread was not unwound");
    std::printf("the process lives\n");
    std::fflush(stdout);
    _exit(0);
}

void a_thread_that_receives_is_cancelled() {
    use(MPI_COMM_WORLD, 8, 1);
    // The MPI library's waiting may be no point at which a thread is cancelled.
    cancel_who_is_in({receive_nothing, PTHREAD_CANCEL_ASYNCHRONOUS});
}

// Each rank waits on a communicator of its own.
void cancel_who_waits_for_all(void (*wait)(), int cancel_type) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (int waiting = 0; waiting < size; ++waiting) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, 8, 1);
        if (waiting == rank) nobody_else_comes_to = comm;
    }
    cancel_who_is_in({wait, cancel_type});
}

void a_thread_that_waits_for_all_is_cancelled() {
    cancel_who_waits_for_all(wait_for_the_others, PTHREAD_CANCEL_DEFERRED);
}

// In a short call, whose messages are the MPI library's own calls that wait.
void a_thread_that_adds_is_cancelled() { cancel_who_waits_for_all(add_with_the_others, PTHREAD_CANCEL_ASYNCHRONOUS); }

struct Case {
    const char* name;
    void (*run)();
    int thread_level = MPI_THREAD_SINGLE;
};

constexpr Case cases[] = {{"handler", error_handlers_throw},
                          {"first_calls", error_handlers_leave_one_of_the_first_calls},
                          {"first_operations", operations_leave_first_calls},
                          {"first_operations_return", operations_leave_first_calls_whose_errors_return},
                          {"leave_free", error_handlers_leave_free},
                          {"operation", operations_throw},
                          {"attribute", attribute_functions_throw},
                          {"in_flight", error_handlers_throw_beside_what_is_in_flight},
                          {"cancel_receive", a_thread_that_receives_is_cancelled, MPI_THREAD_MULTIPLE},
                          {"cancel_barrier", a_thread_that_waits_for_all_is_cancelled, MPI_THREAD_MULTIPLE},
                          {"cancel_allreduce", a_thread_that_adds_is_cancelled, MPI_THREAD_MULTIPLE}};

}  // namespace

int main(int argc, char** argv) {
    const std::string_view wanted = argc == 3 ? argv[2] : "";
    const Case* const chosen =
        std::find_if(std::begin(cases), std::end(cases), [&](const Case& known) { return wanted == known.name; });
    Program program(argc, argv, "exceptions", chosen == std::end(cases) ? MPI_THREAD_SINGLE : chosen->thread_level);
    const std::string name = program.options().text("--case", "");
    program.options().reject_rest();
    require(chosen != std::end(cases), "there is no case '" + name + "'");
    if (program.thread_level() < chosen->thread_level) skip("this MPI library does not give that thread level");
    chosen->run();
    return program.finish(name);
}
