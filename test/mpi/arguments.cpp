// SPDX-License-Identifier: BSD-3-Clause
// What one rank alone may see of its arguments: a call that is wrong ends there in an error, before it talks to anybody, whether the
// MPI library checks arguments or not; and one buffer for both, where the MPI library takes it, is as if it were in place. No rank
// goes another way than the others, who would wait for ever.
//
//   --case NAME   one of the cases in the table at the end
#include "../support/program.hpp"
#include "communicator_use.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

using namespace hcoll::test;

namespace {

int rank_in(MPI_Comm comm) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank));
    return rank;
}

int size_of(MPI_Comm comm) {
    int size = 0;
    check(MPI_Comm_size(comm, &size));
    return size;
}

// A message to nobody of fewer than no elements.
bool mpi_checks_arguments(MPI_Comm comm) {
    return MPI_Send(nullptr, -1, MPI_BYTE, MPI_PROC_NULL, 0, comm) != MPI_SUCCESS;
}

int handled = 0;
void note_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++handled; }

struct WrongCall {
    const char* name;
    std::function<int(MPI_Comm, int rank, int other)> call;
};

std::vector<WrongCall> wrong_calls(MPI_Datatype uncommitted) {
    static std::array<double, 64> a{};
    static std::array<double, 64> b{};
    static MPI_Request request = MPI_REQUEST_NULL;
    double* const x = a.data();
    double* const y = b.data();
    void* const in_place = MPI_IN_PLACE;
    const MPI_Datatype type = MPI_DOUBLE;
    const MPI_Op op = MPI_SUM;
    return {
        {"Bcast in place", [=](MPI_Comm c, int me, int) { return MPI_Bcast(in_place, 1, type, me, c); }},
        {"Bcast of nothing", [=](MPI_Comm c, int me, int) { return MPI_Bcast(nullptr, 1, type, me, c); }},
        {"Bcast into nothing", [=](MPI_Comm c, int, int other) { return MPI_Bcast(nullptr, 1, type, other, c); }},
        {"Bcast from nobody", [=](MPI_Comm c, int, int) { return MPI_Bcast(x, 1, type, 1000, c); }},
        {"Bcast of an uncommitted type", [=](MPI_Comm c, int me, int) { return MPI_Bcast(x, 1, uncommitted, me, c); }},
        {"Bcast of fewer than none", [=](MPI_Comm c, int me, int) { return MPI_Bcast(x, -1, type, me, c); }},
        {"Reduce in place away from the root",
         [=](MPI_Comm c, int, int other) { return MPI_Reduce(in_place, y, 1, type, op, other, c); }},
        {"Reduce of nothing", [=](MPI_Comm c, int me, int) { return MPI_Reduce(nullptr, y, 1, type, op, me, c); }},
        {"Reduce of nothing away from the root",
         [=](MPI_Comm c, int, int other) { return MPI_Reduce(nullptr, y, 1, type, op, other, c); }},
        {"Reduce into nothing", [=](MPI_Comm c, int me, int) { return MPI_Reduce(x, nullptr, 1, type, op, me, c); }},
        {"Reduce into MPI_IN_PLACE",
         [=](MPI_Comm c, int me, int) { return MPI_Reduce(x, in_place, 1, type, op, me, c); }},
        {"Reduce by no operation",
         [=](MPI_Comm c, int me, int) { return MPI_Reduce(x, y, 1, type, MPI_OP_NULL, me, c); }},
        {"Allreduce of nothing", [=](MPI_Comm c, int, int) { return MPI_Allreduce(nullptr, y, 1, type, op, c); }},
        {"Allreduce into nothing", [=](MPI_Comm c, int, int) { return MPI_Allreduce(x, nullptr, 1, type, op, c); }},
        {"Allreduce into MPI_IN_PLACE",
         [=](MPI_Comm c, int, int) { return MPI_Allreduce(x, in_place, 1, type, op, c); }},
        {"Gather of nothing",
         [=](MPI_Comm c, int, int other) { return MPI_Gather(nullptr, 1, type, y, 1, type, other, c); }},
        {"Gather into nothing",
         [=](MPI_Comm c, int me, int) { return MPI_Gather(x, 1, type, nullptr, 1, type, me, c); }},
        {"Gather in place away from the root",
         [=](MPI_Comm c, int, int other) { return MPI_Gather(in_place, 1, type, y, 1, type, other, c); }},
        {"Gather into an uncommitted type",
         [=](MPI_Comm c, int me, int) { return MPI_Gather(x, 1, type, y, 1, uncommitted, me, c); }},
        {"Scatter of nothing",
         [=](MPI_Comm c, int me, int) { return MPI_Scatter(nullptr, 1, type, y, 1, type, me, c); }},
        {"Scatter into nothing",
         [=](MPI_Comm c, int, int other) { return MPI_Scatter(x, 1, type, nullptr, 1, type, other, c); }},
        {"Scatter in place away from the root",
         [=](MPI_Comm c, int, int other) { return MPI_Scatter(x, 1, type, in_place, 1, type, other, c); }},
        {"Scatter into an uncommitted type",
         [=](MPI_Comm c, int, int other) { return MPI_Scatter(x, 1, type, y, 1, uncommitted, other, c); }},
        {"Allgather of nothing", [=](MPI_Comm c, int, int) { return MPI_Allgather(nullptr, 1, type, y, 1, type, c); }},
        {"Allgather into nothing",
         [=](MPI_Comm c, int, int) { return MPI_Allgather(x, 1, type, nullptr, 1, type, c); }},
        {"Allgather into MPI_IN_PLACE",
         [=](MPI_Comm c, int, int) { return MPI_Allgather(x, 1, type, in_place, 1, type, c); }},
        {"Ibcast of nothing", [=](MPI_Comm c, int me, int) { return MPI_Ibcast(nullptr, 1, type, me, c, &request); }},
        {"Ireduce of nothing",
         [=](MPI_Comm c, int, int other) { return MPI_Ireduce(nullptr, y, 1, type, op, other, c, &request); }},
        {"Iallreduce into nothing",
         [=](MPI_Comm c, int, int) { return MPI_Iallreduce(x, nullptr, 1, type, op, c, &request); }},
        {"Iallreduce without a request",
         [=](MPI_Comm c, int, int) { return MPI_Iallreduce(x, y, 1, type, op, c, nullptr); }},
    };
}

void use_blocks(MPI_Comm comm) {
    const int size = size_of(comm);
    const int mine = 10 + rank_in(comm);
    std::vector<int> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm));
    for (int rank = 0; rank < size; ++rank)
        require(all[static_cast<std::size_t>(rank)] == 10 + rank, "an Allgather in between is wrong");
}

// Each rank alone makes every wrong call, and all of them go on together.
void one_rank_alone() {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, 8, 1);
    use_blocks(comm);
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted));
    MPI_Errhandler noting = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(note_error, &noting));
    for (int wrong_rank = 0; wrong_rank < size_of(comm); ++wrong_rank) {
        if (wrong_rank == rank_in(comm)) {
            // Open MPI tells the world of some.
            for (const MPI_Comm each : {comm, MPI_COMM_WORLD}) check(MPI_Comm_set_errhandler(each, noting));
            const bool checks = mpi_checks_arguments(comm);
            for (const WrongCall& wrong : wrong_calls(uncommitted)) {
                // An MPI library that does not look crashes by itself.
                if (!checks && std::string(wrong.name).find("uncommitted") != std::string::npos) continue;
                handled = 0;
                if (std::getenv("HCOLL_TEST_TRACE") != nullptr) std::fprintf(stderr, "%s\n", wrong.name);
                const int code = wrong.call(comm, wrong_rank, (wrong_rank + 1) % size_of(comm));
                require(code != MPI_SUCCESS, std::string(wrong.name) + " is no error");
                require(handled == 1, std::string(wrong.name) + ": the error handler was not called once");
            }
            for (const MPI_Comm each : {comm, MPI_COMM_WORLD})
                check(MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL));
        }
        use(comm, 8, 2);
        use_blocks(comm);
    }
    check(MPI_Errhandler_free(&noting));
    check(MPI_Type_free(&uncommitted));
    check(MPI_Comm_free(&comm));
}

// MPI_Reduce(x, x, ...) on all ranks: in place where the MPI library does not look, the root's error where it does.
void reduce_with_one_buffer() {
    const bool checks = [] {
        check(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        return mpi_checks_arguments(MPI_COMM_SELF);
    }();
    for (const int count : {1, 3000}) {
        // The root is not there to receive what is too long to be sent ahead.
        if (checks && count != 1) continue;
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        use(comm, 8, 1);
        check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        const int size = size_of(comm);
        for (int repeated = 0; repeated < (checks ? 1 : 3); ++repeated) {
            std::vector<int> values(static_cast<std::size_t>(count), rank_in(comm) + 1);
            const int code = MPI_Reduce(values.data(), values.data(), count, MPI_INT, MPI_SUM, 0, comm);
            if (rank_in(comm) != 0) continue;
            require((code != MPI_SUCCESS) == checks, "one buffer for both: MPI's checks, and the outcome, differ");
            const int expected = checks ? 1 : size * (size + 1) / 2;
            require(std::count(values.begin(), values.end(), expected) == count,
                    "a sum with one buffer for both is wrong");
        }
        if (!checks) use(comm, 8, 2);
        check(MPI_Comm_free(&comm));
    }
}

// The same, which Open MPI always takes as in place, on some of the ranks.
void all_with_one_buffer() {
#if defined(OPEN_MPI)
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    use(MPI_COMM_WORLD, 8, 1);
    for (const int count : {1, 3000}) {
        std::vector<int> ones(static_cast<std::size_t>(count), 1);
        std::vector<int> sums(ones);
        check(MPI_Allreduce(rank % 2 == 0 ? sums.data() : ones.data(), sums.data(), count, MPI_INT, MPI_SUM,
                            MPI_COMM_WORLD));
        require(std::count(sums.begin(), sums.end(), size) == count, "an Allreduce with one buffer for both is wrong");
        sums = ones;
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Iallreduce(rank % 2 == 0 ? sums.data() : ones.data(), sums.data(), count, MPI_INT, MPI_SUM,
                             MPI_COMM_WORLD, &request));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(std::count(sums.begin(), sums.end(), size) == count, "an Iallreduce with one buffer for both is wrong");
        std::vector<int> all(static_cast<std::size_t>(count * size), rank);
        int* const own_place = all.data() + rank * count;
        for (const int root : {0, size - 1}) {
            check(MPI_Gather(own_place, count, MPI_INT, all.data(), count, MPI_INT, root, MPI_COMM_WORLD));
            for (int i = 0; i < count * size && rank == root; ++i)
                require(all[static_cast<std::size_t>(i)] == i / count, "a Gather with one buffer for both is wrong");
            std::fill(all.begin(), all.end(), rank);
        }
        check(MPI_Allgather(own_place, count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD));
        for (int i = 0; i < count * size; ++i)
            require(all[static_cast<std::size_t>(i)] == i / count, "an Allgather with one buffer for both is wrong");
    }
#else
    skip("this MPI library rejects it");
#endif
}

// What is no info is told of once, by the call itself.
void no_info() {
#if defined(MPICH_VERSION)
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_create_errhandler(note_error, &counting));
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting));
    MPI_Comm made = MPI_COMM_NULL;
    const int status =
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, static_cast<MPI_Info>(MPI_COMM_WORLD), &made);
    require(status != MPI_SUCCESS && handled == 1,
            "an error handler is called " + std::to_string(handled) + " times for one error");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    check(MPI_Errhandler_free(&counting));
#else
    skip("what is no info ends the process there");
#endif
}

struct Case {
    const char* name;
    void (*run)();
};
constexpr Case cases[] = {
    {"alone", one_rank_alone}, {"reduce", reduce_with_one_buffer}, {"all", all_with_one_buffer}, {"no_info", no_info}};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "arguments");
    const std::string name = program.options().text("--case", "");
    program.options().reject_rest();
    const Case* const chosen =
        std::find_if(std::begin(cases), std::end(cases), [&](const Case& known) { return name == known.name; });
    require(chosen != std::end(cases), "there is no case '" + name + "'");
    chosen->run();
    return program.finish(name);
}
