// SPDX-License-Identifier: BSD-3-Clause
// Life and death of communicators: many made, used and freed; many alive at once; attributes, intercommunicators,
// error handlers. Each communicator gets enough calls for the library to take it over (--setup-calls or
// LIBHCOLL_SETUP_CALLS, plus two).
//
//   --count N   communicators made and freed one after the other (default 2000)
//   --hold N    communicators alive at once (default 300)
//   --only loop|hold|order|attributes|disconnect|intercomm|errors
#include "../support/memory_of_process.hpp"
#include "../support/program.hpp"
#include "communicator_errors.hpp"
#include "communicator_use.hpp"

#include <cctype>

using namespace hcoll::test;

namespace {

// A leak of a few hundred bytes per communicator shows: the allowance is per run, not per communicator.
void loop(int count, int calls) {
    constexpr std::int64_t allowed_growth = 2048;
    const int warm_up = count / 4;
    std::int64_t before = 0;
    for (int i = 0; i < count; ++i) {
        if (i == warm_up) before = resident_kilobytes();
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, calls, i);
        check(MPI_Comm_free(&comm));
        require(comm == MPI_COMM_NULL, "MPI_Comm_free did not set the handle to MPI_COMM_NULL");
    }
    const std::int64_t growth = resident_kilobytes() - before;
    if (growth > allowed_growth)
        fail("resident memory grew by " + std::to_string(growth) + " KB while " + std::to_string(count - warm_up) +
             " communicators were made and freed (" + std::to_string(allowed_growth) + " KB allowed)");
}

// The library's duplicates must not take away the contexts that the program could have had.
void hold(int count, int calls) {
    std::vector<MPI_Comm> comms;
    for (int i = 0; i < count; ++i) {
        comms.push_back(MPI_COMM_NULL);
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comms.back()));
        use(comms.back(), calls, i);
    }
    for (MPI_Comm comm : comms) use(comm, 1, 5);
    for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
}

// Freed first to last, last to first, and from the middle; parents before children.
void order(int calls) {
    for (int how = 0; how < 3; ++how) {
        std::vector<MPI_Comm> comms{MPI_COMM_WORLD};
        for (int i = 0; i < 9; ++i) {
            MPI_Comm child = MPI_COMM_NULL;
            check(MPI_Comm_dup(comms.back(), &child));
            use(child, calls, i);
            comms.push_back(child);
        }
        comms.erase(comms.begin());
        while (!comms.empty()) {
            const std::size_t at = how == 0 ? 0 : how == 1 ? comms.size() - 1 : comms.size() / 2;
            use(comms[at], 1, 3);
            check(MPI_Comm_free(&comms[at]));
            comms.erase(comms.begin() + static_cast<std::ptrdiff_t>(at));
        }
    }
}

int copies = 0;
int deletions = 0;

int count_copy(MPI_Comm /*comm*/, int /*keyval*/, void* /*extra*/, void* value, void* copied, int* flag) {
    ++copies;
    *static_cast<void**>(copied) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int count_deletion(MPI_Comm /*comm*/, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    ++deletions;
    return MPI_SUCCESS;
}

// The user's attribute callbacks are called for the user's own calls and for nothing else.
void attributes(int calls) {
    copies = 0;
    deletions = 0;
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(count_copy, count_deletion, &keyval, nullptr));
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_attr(comm, keyval, &copies));
    use(comm, calls, 1);
    require(copies == 0, "a collective called the user's attribute copy callback");
    MPI_Comm duplicate = MPI_COMM_NULL;
    check(MPI_Comm_dup(comm, &duplicate));
    require(copies == 1, "MPI_Comm_dup called the copy callback " + std::to_string(copies) + " times");
    void* value = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(duplicate, keyval, &value, &found));
    require(found != 0 && value == &copies, "the attribute was not copied by MPI_Comm_dup");
    use(duplicate, calls, 2);
    require(copies == 1 && deletions == 0, "a collective called the user's attribute callbacks");
    check(MPI_Comm_free(&duplicate));
    require(deletions == 1, "MPI_Comm_free called the delete callback " + std::to_string(deletions) + " times");
    use(comm, calls, 3);
    check(MPI_Comm_free(&comm));
    require(deletions == 2 && copies == 1, "attribute callbacks were called too often");
    check(MPI_Comm_free_keyval(&keyval));
}

void disconnect(int calls) {
    for (int i = 0; i < 20; ++i) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, calls, i);
        check(MPI_Comm_disconnect(&comm));
        require(comm == MPI_COMM_NULL, "MPI_Comm_disconnect did not set the handle to MPI_COMM_NULL");
    }
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "communicators");
    const char* setting = std::getenv("LIBHCOLL_SETUP_CALLS");
    const bool is_number = setting != nullptr && std::isdigit(static_cast<unsigned char>(*setting)) != 0;
    const auto setup = program.options().number("--setup-calls", is_number ? std::stoll(setting) : 32);
    const auto count = static_cast<int>(program.options().number("--count", 2000));
    const auto held = static_cast<int>(program.options().number("--hold", 300));
    const std::string only = program.options().text("--only", "");
    program.options().reject_rest();
    const int calls = static_cast<int>(setup) + 2;

    const auto wanted = [&only](const char* name) { return only.empty() || only == name; };
    if (wanted("loop")) loop(count, calls);
    if (wanted("hold")) hold(held, calls);
    if (wanted("order")) order(calls);
    if (wanted("attributes")) attributes(calls);
    if (wanted("disconnect")) disconnect(calls);
    if (wanted("intercomm") && program.size() > 1) use_intercommunicator(calls);
    if (wanted("errors")) compare_errors(calls);
    return program.finish(only.empty() ? "all" : only);
}
