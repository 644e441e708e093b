// SPDX-License-Identifier: BSD-3-Clause
// Defects that were found once, each by a case that hung, aborted or gave wrong results before it was mended. Every case
// runs on a communicator that the library has taken over.
//
//   --case NAME   one of the cases in the table at the end
#include "../support/mpi_library.hpp"
#include "../support/timed_barrier.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>

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

// Broadcasts, sums and barriers with a check of each: what follows a call that put ranks out of step goes wrong here.
void use_in_step(MPI_Comm comm, int calls) {
    for (int i = 0; i < calls; ++i) {
        int value = rank_in(comm) == 0 ? 1000 + i : -1;
        check(MPI_Bcast(&value, 1, MPI_INT, 0, comm));
        require(value == 1000 + i, "a broadcast after the case is wrong");
        int sum = 0;
        check(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
        require(sum == size_of(comm) * value, "a sum after the case is wrong");
        check(timed_barrier(comm, i % size_of(comm)));
    }
}

int collective_on_what_is_freed(MPI_Comm comm, int /*keyval*/, void* /*value*/, void* /*extra*/) {
    use_in_step(comm, 3);
    return MPI_SUCCESS;
}

// A delete function of the application calls collectives on the communicator that is being freed; the next communicator
// gets the same handle with other ranks.
void delete_function_calls_collectives() {
    int keyval = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, collective_on_what_is_freed, &keyval, nullptr));
    for (int round = 0; round < 20; ++round) {
        const int rank = rank_in(MPI_COMM_WORLD);
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 == 0 ? rank : -rank, &comm));
        check(MPI_Comm_set_attr(comm, keyval, nullptr));
        use_in_step(comm, 8);
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Comm_free_keyval(&keyval));
}

// One rank alone makes calls that the MPI library rejects, on a communicator that is being counted.
void one_rank_makes_wrong_calls() {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted));
    for (int round = 0; round < 12; ++round) {
        int value = 0;
        if (rank_in(comm) == 0) {
            require(MPI_Bcast(&value, -1, MPI_INT, 0, comm) != MPI_SUCCESS, "a negative count is no error");
            require(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS, "no type is no error");
            require(MPI_Bcast(&value, 1, uncommitted, 0, comm) != MPI_SUCCESS, "an uncommitted type is no error");
            double operand = 1;
            double result = 0;
            require(MPI_Allreduce(&operand, &result, 1, MPI_DOUBLE, MPI_BAND, comm) != MPI_SUCCESS,
                    "bits of a floating-point number are no error");
            // MPI defines no logical operations for Fortran's integers; MPICH 4.0 has them all the same.
            int number = 1;
            int logical = 0;
            if (is_openmpi())
                require(MPI_Allreduce(&number, &logical, 1, MPI_INTEGER, MPI_LAND, comm) != MPI_SUCCESS,
                        "a logical operation on Fortran's integers is no error");
        }
        use_in_step(comm, 1);
    }
    check(MPI_Type_free(&uncommitted));
    check(MPI_Comm_free(&comm));
}

// The same where bits are to be reproducible: there the first call sets the communicator up, and a wrong one must not.
void one_rank_begins_with_wrong_calls() {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (rank_in(comm) == 0) {
        double operand = 1;
        double result = 0;
        require(MPI_Reduce(&operand, &operand, 1, MPI_DOUBLE, MPI_SUM, 0, comm) != MPI_SUCCESS,
                "one buffer for both is no error");
        require(MPI_Allreduce(&operand, &result, 1, MPI_DOUBLE, MPI_BAND, comm) != MPI_SUCCESS,
                "bits of a floating-point number are no error");
    }
    check(MPI_Barrier(MPI_COMM_WORLD));
    use_in_step(comm, 5);
    check(MPI_Comm_free(&comm));
}

// One rank alone tries to free what may not be freed, and goes on.
void one_rank_frees_the_world() {
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Comm world = MPI_COMM_WORLD;
    if (rank_in(MPI_COMM_WORLD) == 0) require(MPI_Comm_free(&world) != MPI_SUCCESS, "the world could be freed");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

// Not allowed, but Open MPI takes it as in place; some ranks do so and others do not.
void one_buffer_for_both() {
#if defined(OPEN_MPI)
    int value = 1;
    const int send = 1;
    const void* operand = rank_in(MPI_COMM_WORLD) % 2 == 0 ? static_cast<const void*>(&value) : &send;
    check(MPI_Allreduce(operand, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    require(value == size_of(MPI_COMM_WORLD), "a sum with one buffer for both is wrong");
#else
    skip("this MPI library rejects it");
#endif
}

void broadcast_of_type(MPI_Datatype type, int ints) {
    std::vector<int> values(static_cast<std::size_t>(ints), rank_in(MPI_COMM_WORLD) == 0 ? 7 : 0);
    check(MPI_Bcast(values.data(), 1, type, 0, MPI_COMM_WORLD));
    require(values.front() == 7 && values.back() == 7, "the ends of a broadcast message are wrong");
}

void types_of_large_counts() {
#if MPI_VERSION >= 4
    MPI_Datatype contiguous = MPI_DATATYPE_NULL;
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Datatype nested = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous_c(99, MPI_INT, &contiguous));
    check(MPI_Type_vector_c(50, 1, 2, MPI_INT, &vector));
    check(MPI_Type_dup(contiguous, &nested));
    for (MPI_Datatype* type : {&contiguous, &vector, &nested}) {
        check(MPI_Type_commit(type));
        broadcast_of_type(*type, 99);
        check(MPI_Type_free(type));
    }
#else
    skip("this MPI library has no large counts");
#endif
}

// What a contiguous run of such a type is made of is predefined, and not to be freed.
void types_of_fortran_kinds() {
    for (int round = 0; round < 50; ++round) {
        MPI_Datatype kind = MPI_DATATYPE_NULL;
        MPI_Datatype run = MPI_DATATYPE_NULL;
        check(MPI_Type_create_f90_integer(9, &kind));
        check(MPI_Type_contiguous(5, kind, &run));
        check(MPI_Type_commit(&run));
        broadcast_of_type(run, 5);
        check(MPI_Type_free(&run));
    }
}

// Every rank gets the MPI library's error; before, only the root did, and the others waited.
void uncommitted_type() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(50, 1, 2, MPI_INT, &type));
    std::vector<int> values(100);
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int error_class = MPI_SUCCESS;
    MPI_Error_class(MPI_Bcast(values.data(), 1, type, 0, MPI_COMM_WORLD), &error_class);
    require(error_class == MPI_ERR_TYPE, "an uncommitted type is not told");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    check(MPI_Type_free(&type));
}

// A child that the application forked, and that ends by exit, must not report as if it were the process itself.
void forked_child_exits() {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 0;
    require(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the forked child did not end well");
}

// MPICH 4.0.2's own MPI_Reduce fails here; own algorithms do not.
void reduce_in_place_at_another_root() {
    const int root = size_of(MPI_COMM_WORLD) - 1;
    const int rank = rank_in(MPI_COMM_WORLD);
    for (const int count : {1, 1000, 100'000}) {
        std::vector<double> values(static_cast<std::size_t>(count), rank + 1);
        if (rank == root)
            check(MPI_Reduce(MPI_IN_PLACE, values.data(), count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
        else
            check(MPI_Reduce(values.data(), nullptr, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
        const double expected = rank == root ? size_of(MPI_COMM_WORLD) * (size_of(MPI_COMM_WORLD) + 1) / 2.0 : rank + 1;
        require(std::count(values.begin(), values.end(), expected) == count, "a reduction in place is wrong");
    }
}

// A long message is begun before a collective, and its receiver is not in the collective before it has all of it: who waits
// in the collective must drive the message.
void collective_while_a_message_is_under_way() {
    const int rank = rank_in(MPI_COMM_WORLD);
    constexpr int count = 4'000'000;
    std::vector<int> values(count, rank == 0 ? 5 : 0);
    for (int round = 0; round < 5; ++round) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) check(MPI_Isend(values.data(), count, MPI_INT, 1, round, MPI_COMM_WORLD, &request));
        if (rank == 1) check(MPI_Recv(values.data(), count, MPI_INT, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (round % 2 == 1) check(timed_barrier(MPI_COMM_WORLD));
        use_in_step(MPI_COMM_WORLD, 2);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(values.back() == (rank <= 1 ? 5 : 0), "the message is wrong");
    }
}

// Ranks ask one another by collectives whether a long message has come, and no collective ever waits: they must drive it.
void collectives_until_a_message_has_come() {
    const int rank = rank_in(MPI_COMM_WORLD);
    constexpr int count = 4'000'000;
    std::vector<int> values(count, rank == 0 ? 5 : 0);
    for (int round = 0; round < 3; ++round) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) check(MPI_Isend(values.data(), count, MPI_INT, 1, round, MPI_COMM_WORLD, &request));
        if (rank == 1) check(MPI_Irecv(values.data(), count, MPI_INT, 0, round, MPI_COMM_WORLD, &request));
        int everywhere = 0;
        while (everywhere == 0) {
            int here = 1;
            if (rank == 1) check(MPI_Test(&request, &here, MPI_STATUS_IGNORE));
            check(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        }
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(values.back() == (rank <= 1 ? 5 : 0), "the message is wrong");
    }
}

// Non-blocking sums must not move, on some ranks and not on others, the duplicates that are being made beside them.
void duplicates_beside_sums() {
    constexpr std::size_t pairs = 4;
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    for (int round = 0; round < 10; ++round) {
        MPI_Comm duplicates[pairs];
        MPI_Request requests[2 * pairs];
        int sums[pairs] = {};
        for (std::size_t i = 0; i < pairs; ++i) {
#if MPI_VERSION >= 4
            if (i % 2 == 1)
                check(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &duplicates[i], &requests[2 * i]));
            else
#endif
                check(MPI_Comm_idup(MPI_COMM_WORLD, &duplicates[i], &requests[2 * i]));
            check(MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * i + 1]));
        }
        check(MPI_Waitall(2 * pairs, requests, MPI_STATUSES_IGNORE));
        for (std::size_t i = 0; i < pairs; ++i) {
            require(sums[i] == size * (size - 1) / 2, "a sum beside duplicates is wrong");
            check(MPI_Barrier(duplicates[i]));
            check(MPI_Comm_free(&duplicates[i]));
        }
    }
}

// The same bytes by other types on other ranks, in calls that are the same as the one before: who finds its call known, and who does
// not, must still do the same.
void repeated_broadcasts_of_mixed_types() {
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    MPI_Datatype four = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(4, MPI_INT, &four));
    check(MPI_Type_commit(&four));
    const std::function<bool(int, int)> takes_four[] = {[](int of, int) { return of == 0; },
                                                        [](int of, int) { return of != 0; },
                                                        [](int of, int call) { return (of + call) % 3 == 0; }};
    for (const auto& does : takes_four)
        for (int root = 0; root < size; ++root)
            for (int call = 0; call < 6; ++call) {
                std::array<int, 4> values{};
                if (rank == root) std::iota(values.begin(), values.end(), call);
                const bool by_four = does((rank - root + size) % size, call);
                check(MPI_Bcast(values.data(), by_four ? 1 : 4, by_four ? four : MPI_INT, root, MPI_COMM_WORLD));
                for (int i = 0; i < 4; ++i)
                    require(values[static_cast<std::size_t>(i)] == call + i, "a repeated broadcast is wrong");
            }
    check(MPI_Type_free(&four));
}

MPI_Aint place_of_operands = 0;

void add_at_place(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
    require(*count == 1, "an operation is called with more elements than there are");
    const auto* from = reinterpret_cast<const int*>(static_cast<std::byte*>(left) + place_of_operands);
    auto* to = reinterpret_cast<int*>(static_cast<std::byte*>(right) + place_of_operands);
    for (int i = 0; i < 1000; ++i) to[i] += from[i];
}

// A reduction of elements at absolute addresses, which lie above those that operands are combined at.
void reduction_of_absolute_addresses() {
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    std::array<int, 1000> values{};
    check(MPI_Get_address(values.data(), &place_of_operands));
    const int length = 1000;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(1, &length, &place_of_operands, MPI_INT, &type));
    check(MPI_Type_commit(&type));
    MPI_Op add = MPI_OP_NULL;
    check(MPI_Op_create(add_at_place, 1, &add));
    for (int round = 0; round < 5; ++round) {
        std::iota(values.begin(), values.end(), rank + round);
        check(MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, add, MPI_COMM_WORLD));
        for (int i = 0; i < length; ++i)
            require(values[static_cast<std::size_t>(i)] == size * (i + round) + size * (size - 1) / 2,
                    "a sum at absolute addresses is wrong");
    }
    check(MPI_Op_free(&add));
    check(MPI_Type_free(&type));
}

// MPICH looks at no type where there are no elements: a program that passes what is none runs there.
void broadcasts_of_no_type() {
    if (!is_mpich_of("4.")) skip("this MPI library may refuse a type that is none");
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(3, MPI_INT, &uncommitted));
    for (int round = 0; round < 60; ++round)
        for (const MPI_Datatype none : {MPI_DATATYPE_NULL, uncommitted}) {
            int nothing = 0;
            const bool is_odd_one = rank == round % size;
            check(MPI_Bcast(&nothing, 0, is_odd_one ? none : MPI_INT, round / 2 % size, MPI_COMM_WORLD));
            use_in_step(MPI_COMM_WORLD, 1);
        }
    check(MPI_Type_free(&uncommitted));
}

constexpr int matrix_size = 4;

void add_columns(void* from, void* to, int* columns, MPI_Datatype*) {
    const auto* left = static_cast<const double*>(from);
    auto* right = static_cast<double*>(to);
    for (int column = 0; column < *columns; ++column)
        for (int row = 0; row < matrix_size; ++row)
            right[row * matrix_size + column] += left[row * matrix_size + column];
}

// The columns of a matrix, each of which lies between the elements of the others: in the program's memory no two of them touch.
void reductions_of_columns() {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    MPI_Datatype spread = MPI_DATATYPE_NULL;
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Op add = MPI_OP_NULL;
    check(MPI_Type_vector(matrix_size, 1, matrix_size, MPI_DOUBLE, &spread));
    check(MPI_Type_create_resized(spread, 0, sizeof(double), &column));
    check(MPI_Type_commit(&column));
    check(MPI_Op_create(add_columns, 1, &add));
    constexpr std::size_t elements = matrix_size * matrix_size;
    for (int call = 0; call < 30; ++call) {
        std::array<double, elements> mine{};
        std::array<double, elements> sum{};
        for (std::size_t i = 0; i < elements; ++i) mine[i] = 100.0 * (rank + 1) + static_cast<double>(i);
        const auto is_right = [&] {
            for (std::size_t i = 0; i < elements; ++i)
                if (sum[i] != 50.0 * size * (size + 1) + size * static_cast<double>(i)) return false;
            return true;
        };
        check(MPI_Allreduce(mine.data(), sum.data(), matrix_size, column, add, MPI_COMM_WORLD));
        require(is_right(), "a sum of columns is wrong on all ranks");
        sum.fill(-1);
        const int root = call % size;
        check(MPI_Reduce(mine.data(), sum.data(), matrix_size, column, add, root, MPI_COMM_WORLD));
        require(rank != root || is_right(), "a sum of columns is wrong on the root");
    }
    check(MPI_Op_free(&add));
    check(MPI_Type_free(&column));
    check(MPI_Type_free(&spread));
}

// So many of the shortest messages that each sender wants to know, now and then, that its receivers have come: all of a plan's in the same call, where a communicator has no other ones.
void many_short_messages() {
    std::array<char, 16> message{};
    std::array<int, 4> mine{};
    std::array<int, 4> sum{};
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    constexpr int calls = 4000;
    MPI_Comm comm = MPI_COMM_NULL;
    const auto begin_anew = [&] {
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int call = 0; call < 8; ++call) check(MPI_Barrier(comm));  // it is set up in one of them
    };
    // Others run otherwise, on what short ones have left.
    const auto a_long_one = [&] {
        std::vector<int> values(10'000, rank == 0 ? 4711 : -1);
        std::vector<int> sums(values.size(), -1);
        check(MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_INT, 0, comm));
        check(MPI_Allreduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_INT, MPI_SUM, comm));
        const auto is_sum = [&](int each) { return each == 4711 * size; };
        require(std::all_of(sums.begin(), sums.end(), is_sum), "a long sum is wrong");
    };
    begin_anew();
    for (int call = 0; call < calls; ++call) {
        if (rank == 0) message.fill(static_cast<char>(call % 100));
        check(MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_BYTE, 0, comm));
        require(message.front() == call % 100 && message.back() == call % 100, "a broadcast is wrong");
    }
    a_long_one();
    check(MPI_Comm_free(&comm));
    begin_anew();
    for (int call = 0; call < calls; ++call) {
        mine.fill(call + rank);
        check(MPI_Allreduce(mine.data(), sum.data(), static_cast<int>(mine.size()), MPI_INT, MPI_SUM, comm));
        require(sum.back() == size * call + size * (size - 1) / 2, "a sum is wrong");
    }
    a_long_one();
    check(MPI_Comm_free(&comm));
}

struct Case {
    const char* name;
    void (*run)();
};
constexpr Case cases[] = {
    {"delete_function", delete_function_calls_collectives},
    {"wrong_calls", one_rank_makes_wrong_calls},
    {"wrong_first_calls", one_rank_begins_with_wrong_calls},
    {"free_world", one_rank_frees_the_world},
    {"one_buffer", one_buffer_for_both},
    {"large_count_types", types_of_large_counts},
    {"fortran_kinds", types_of_fortran_kinds},
    {"uncommitted", uncommitted_type},
    {"fork", forked_child_exits},
    {"in_place_root", reduce_in_place_at_another_root},
    {"message_under_way", collective_while_a_message_is_under_way},
    {"polling", collectives_until_a_message_has_come},
    {"duplicates", duplicates_beside_sums},
    {"absolute_reduction", reduction_of_absolute_addresses},
    {"no_type", broadcasts_of_no_type},
    {"mixed_types", repeated_broadcasts_of_mixed_types},
    {"columns", reductions_of_columns},
    {"many_short", many_short_messages},
};

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "regressions");
    const std::string name = program.options().text("--case", "");
    program.options().reject_rest();
    const Case* const chosen =
        std::find_if(std::begin(cases), std::end(cases), [&](const Case& known) { return name == known.name; });
    require(chosen != std::end(cases), "there is no case '" + name + "'");
    use_in_step(MPI_COMM_WORLD, 4);
    chosen->run();
    use_in_step(MPI_COMM_WORLD, 10);
    return program.finish(name);
}
