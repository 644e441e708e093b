// SPDX-License-Identifier: BSD-3-Clause
// Invalid arguments: the user must get the MPI library's own error, through the user's own error handler. Each wrong
// call is made twice, with own algorithms switched on and off, and must fail alike.
#pragma once

#include "../support/mpi_library.hpp"
#include "communicator_use.hpp"

#include <hcoll/hcoll.h>
#include <functional>
#include <vector>

namespace hcoll::test {

struct WrongCall {
    const char* name;
    std::function<int(MPI_Comm)> call;
};

inline std::vector<WrongCall> wrong_calls(MPI_Datatype uncommitted) {
    static std::array<double, 8> a{};
    static std::array<double, 8> b{};
    void* const x = a.data();
    void* const y = b.data();
    std::vector<WrongCall> calls{
        {"MPI_Bcast, root too large", [=](MPI_Comm comm) { return MPI_Bcast(x, 1, MPI_DOUBLE, 1000, comm); }},
        {"MPI_Bcast, root negative", [=](MPI_Comm comm) { return MPI_Bcast(x, 1, MPI_DOUBLE, -7, comm); }},
        {"MPI_Bcast, count negative", [=](MPI_Comm comm) { return MPI_Bcast(x, -1, MPI_DOUBLE, 0, comm); }},
        {"MPI_Bcast, null type", [=](MPI_Comm comm) { return MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, comm); }},
        {"MPI_Bcast, uncommitted type", [=](MPI_Comm comm) { return MPI_Bcast(x, 1, uncommitted, 0, comm); }},
        {"MPI_Bcast, null communicator", [=](MPI_Comm) { return MPI_Bcast(x, 1, MPI_DOUBLE, 0, MPI_COMM_NULL); }},
        {"MPI_Reduce, root too large",
         [=](MPI_Comm comm) { return MPI_Reduce(x, y, 1, MPI_DOUBLE, MPI_SUM, 1000, comm); }},
        {"MPI_Reduce, null type",
         [=](MPI_Comm comm) { return MPI_Reduce(x, y, 1, MPI_DATATYPE_NULL, MPI_SUM, 0, comm); }},
        {"MPI_Reduce, null op", [=](MPI_Comm comm) { return MPI_Reduce(x, y, 1, MPI_DOUBLE, MPI_OP_NULL, 0, comm); }},
        {"MPI_Reduce, op not for the type",
         [=](MPI_Comm comm) { return MPI_Reduce(x, y, 1, MPI_DOUBLE, MPI_BAND, 0, comm); }},
        {"MPI_Allreduce, null type",
         [=](MPI_Comm comm) { return MPI_Allreduce(x, y, 1, MPI_DATATYPE_NULL, MPI_SUM, comm); }},
        {"MPI_Allreduce, op not for the type",
         [=](MPI_Comm comm) { return MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_MAXLOC, comm); }},
        {"MPI_Allreduce, null op",
         [=](MPI_Comm comm) { return MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_OP_NULL, comm); }},
        {"MPI_Allreduce, aliased buffers",
         [=](MPI_Comm comm) { return MPI_Allreduce(x, x, 1, MPI_DOUBLE, MPI_SUM, comm); }},
        {"MPI_Allreduce, receive buffer MPI_IN_PLACE",
         [=](MPI_Comm comm) { return MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_DOUBLE, MPI_SUM, comm); }},
        {"MPI_Barrier, null communicator", [](MPI_Comm) { return MPI_Barrier(MPI_COMM_NULL); }},
        {"MPI_Allreduce, null communicator",
         [=](MPI_Comm) { return MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_NULL); }},
    };
    if (!is_mpich()) {  // which aborts on them
        calls.push_back({"MPI_Reduce, count negative",
                         [=](MPI_Comm comm) { return MPI_Reduce(x, y, -1, MPI_DOUBLE, MPI_SUM, 0, comm); }});
        calls.push_back({"MPI_Allreduce, count negative",
                         [=](MPI_Comm comm) { return MPI_Allreduce(x, y, -1, MPI_DOUBLE, MPI_SUM, comm); }});
    }
    return calls;
}

// What a wrong call did: its error class, and what the user's error handler saw.
struct Outcome {
    int error_class = MPI_SUCCESS;
    int handler_calls = 0;
    bool handler_saw_comm = false;

    bool operator==(const Outcome&) const = default;
};

inline Outcome& current_outcome() {
    static Outcome outcome;
    return outcome;
}

inline MPI_Comm& comm_of_wrong_call() {
    static MPI_Comm comm = MPI_COMM_NULL;
    return comm;
}

inline void note_error(MPI_Comm* comm, int* /*code*/, ...) {
    ++current_outcome().handler_calls;
    current_outcome().handler_saw_comm = *comm == comm_of_wrong_call();
}

inline Outcome outcome_of(const WrongCall& wrong, MPI_Comm comm, int pcontrol_level) {
    check(MPI_Pcontrol(pcontrol_level));
    current_outcome() = {};
    comm_of_wrong_call() = comm;
    if (std::getenv("HCOLL_TEST_TRACE") != nullptr)
        std::fprintf(stderr, "rank %d: %s\n", failure_context().rank, wrong.name);
    const int code = wrong.call(comm);
    Outcome outcome = current_outcome();
    check(MPI_Error_class(code, &outcome.error_class));
    check(MPI_Pcontrol(HCOLL_PCONTROL_OWN));
    return outcome;
}

inline std::string describe(const Outcome& outcome) {
    return "error class " + std::to_string(outcome.error_class) + ", error handler called " +
           std::to_string(outcome.handler_calls) +
           " times, with the call's communicator: " + (outcome.handler_saw_comm ? "yes" : "no");
}

inline void compare_errors(int calls) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, calls, 1);
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(2, MPI_DOUBLE, &uncommitted));
    MPI_Errhandler noting = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(note_error, &noting));
    for (const MPI_Errhandler handler : {MPI_ERRORS_RETURN, noting}) {
        for (const MPI_Comm holder : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
            check(MPI_Comm_set_errhandler(holder, handler));
        for (const WrongCall& wrong : wrong_calls(uncommitted)) {
            const Outcome vendor = outcome_of(wrong, comm, HCOLL_PCONTROL_VENDOR);
            const Outcome own = outcome_of(wrong, comm, HCOLL_PCONTROL_OWN);
            if (own != vendor)
                fail(std::string(wrong.name) + ": expected, as the MPI library does, " + describe(vendor) + "; found " +
                     describe(own));
        }
    }
    for (const MPI_Comm holder : {comm, MPI_COMM_WORLD, MPI_COMM_SELF})
        check(MPI_Comm_set_errhandler(holder, MPI_ERRORS_ARE_FATAL));
    check(MPI_Errhandler_free(&noting));
    check(MPI_Type_free(&uncommitted));
    use(comm, calls, 2);
    check(MPI_Comm_free(&comm));
}

}  // namespace hcoll::test
