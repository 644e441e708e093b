// SPDX-License-Identifier: BSD-3-Clause
// Wrong programs: ranks that name different lengths for one collective. Nobody's memory is written behind its end, who has too
// little room gets MPI_ERR_TRUNCATE where errors return, and the job goes on.
//
//   --goes-on   what follows is right as well: a Bcast of ranks that share a node, whose length is the root's on all of them
//   --world     errors return on MPI_COMM_WORLD as well: MPICH tells its handler of every message that it completes with an error
//   --blocks    Gather, Scatter and Allgather instead, of ranks that share a node: a Scatter goes by the root's length, the others end as reductions
//               do; where both sides of a rank differ, what there is room for comes
//   --two-sides of Gather and Allgather that alone, over whatever runs them
//   --reduce    reductions instead, of ranks that share a node: an error on all ranks, and on every later call
#include "../support/program.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace hcoll::test;

namespace {

constexpr unsigned char guard = 0xa5;

unsigned char pattern(std::size_t i, unsigned salt) { return static_cast<unsigned char>(i * 7 + salt); }

struct Lengths {
    int root, short_rank;
};
constexpr Lengths too_little_room[] = {{40, 8}, {400, 300}, {400, 40}, {100'000, 50'000}};
constexpr Lengths more_room[] = {{8, 40}, {300, 400}, {40, 400}, {50'000, 100'000},
                                 {40, 0}, {0, 40},    {400, 0},  {0, 400}};

class Buffer {
public:
    explicit Buffer(int bytes) : memory_(static_cast<std::size_t>(bytes) + 256, guard) {}
    unsigned char* data() { return memory_.data(); }
    void fill(int bytes, unsigned salt) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(bytes); ++i) memory_[i] = pattern(i, salt);
    }
    bool is_untouched_from(int bytes) const {
        return std::all_of(memory_.begin() + bytes, memory_.end(), [](unsigned char each) { return each == guard; });
    }
    bool holds(int bytes, unsigned salt) const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(bytes); ++i)
            if (memory_[i] != pattern(i, salt)) return false;
        return true;
    }

private:
    std::vector<unsigned char> memory_;
};

int error_class_of(int code) {
    int found = MPI_SUCCESS;
    check(MPI_Error_class(code, &found));
    return found;
}

void use(MPI_Comm comm, int size) {
    std::vector<int> values(1000, -1);
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank));
    for (const int count : {1, 12, 1000}) {
        if (rank == size - 1) std::fill(values.begin(), values.end(), count);
        check(MPI_Bcast(values.data(), count, MPI_INT, size - 1, comm));
        require(values[static_cast<std::size_t>(count) - 1] == count, "a broadcast after a wrong one is wrong");
        int sum = 0;
        check(MPI_Allreduce(&count, &sum, 1, MPI_INT, MPI_SUM, comm));
        require(sum == size * count, "a sum after a wrong broadcast is wrong");
        check(MPI_Barrier(comm));
    }
}

// Of MPI_COMM_WORLD, where errors return.
MPI_Comm used_duplicate(int size) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    check(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    use(comm, size);
    return comm;
}

void test_bcasts(MPI_Comm comm, int rank, int size, bool goes_on) {
    unsigned salt = 0;
    const auto run = [&](const Lengths& lengths, int root, bool differs_root = false) {
        const bool is_short = rank != root && (differs_root || rank == (root == size - 1 ? 0 : size - 1));
        const int room = is_short ? lengths.short_rank : lengths.root;
        // So that the wrong call is the same as the one before on all ranks but one.
        const int usual = differs_root ? lengths.short_rank : lengths.root;
        Buffer right(usual);
        for (int i = 0; i < 3; ++i) check(MPI_Bcast(right.data(), usual, MPI_BYTE, root, comm));
        Buffer buffer(room);
        ++salt;
        if (rank == root) buffer.fill(room, salt);
        const int code = MPI_Bcast(buffer.data(), room, MPI_BYTE, root, comm);
        const std::string what = std::to_string(lengths.root) + " to " + std::to_string(room) + " bytes";
        require(buffer.is_untouched_from(room), "written behind the end: " + what);
        if (lengths.root > room)
            require(error_class_of(code) == MPI_ERR_TRUNCATE, "too little room is no MPI_ERR_TRUNCATE: " + what);
        if (!goes_on) return;
        require(buffer.is_untouched_from(std::min(room, lengths.root)), "more than was sent: " + what);
        require(buffer.holds(std::min(room, lengths.root), salt), "not what was sent: " + what);
        if (lengths.root <= room) require(code == MPI_SUCCESS, "an error where there is room: " + what);
        use(comm, size);
    };
    for (const Lengths& lengths : too_little_room)
        for (const int root : {0, size - 1}) run(lengths, root);
    if (!goes_on) return;
    for (const Lengths& lengths : more_room)
        for (const int root : {0, size - 1}) run(lengths, root);
    for (const Lengths& lengths :
         {Lengths{40, 8}, Lengths{8, 40}, Lengths{400, 40}, Lengths{100'000, 40}, Lengths{16, 8}})
        for (const int root : {0, size - 1}) run(lengths, root, true);
    // Elements with gaps, of which some arrive.
    MPI_Datatype pairs = MPI_DATATYPE_NULL;
    check(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs));
    check(MPI_Type_commit(&pairs));
    for (const int elements : {3, 300}) {
        const bool is_short = rank == size - 1;
        const int here = is_short ? elements - 1 : elements;
        std::vector<int> values(static_cast<std::size_t>(3 * elements + 8), rank == 0 ? 5 : -1);
        const int code = MPI_Bcast(values.data(), here, pairs, 0, comm);
        require((error_class_of(code) == MPI_ERR_TRUNCATE) == is_short, "elements with gaps that have no room");
        if (!is_short) continue;
        const auto end = values.begin() + 3 * here;
        require(values[0] == 5 && *(end - 1) == 5, "elements with gaps that had room");
        require(std::all_of(end, values.end(), [](int each) { return each == -1; }), "written behind the last element");
    }
    check(MPI_Type_free(&pairs));
    use(comm, size);
}

void test_reductions(int rank, int size) {
    for (const Lengths& lengths : {Lengths{40, 8}, Lengths{400, 40}, Lengths{100'000, 50'000}, Lengths{8, 100'000}})
        for (const bool is_rooted : {true, false}) {
            MPI_Comm comm = used_duplicate(size);
            const int bytes = rank == size - 1 ? lengths.short_rank : lengths.root;
            Buffer input(bytes);
            Buffer output(bytes);
            input.fill(bytes, 1);
            int code = is_rooted ? MPI_Reduce(input.data(), output.data(), bytes, MPI_BYTE, MPI_BOR, 0, comm)
                                 : MPI_Allreduce(input.data(), output.data(), bytes, MPI_BYTE, MPI_BOR, comm);
            require(output.is_untouched_from(bytes), "written behind the end of a reduction");
            // Who had nobody to look at learns of it here.
            if (code == MPI_SUCCESS) code = MPI_Barrier(comm);
            require(error_class_of(code) == MPI_ERR_TRUNCATE, "different lengths are no error");
            for (int i = 0; i < 3; ++i)
                require(MPI_Barrier(comm) != MPI_SUCCESS, "a communicator that is broken does not say so");
            require(MPI_Allreduce(input.data(), output.data(), 8, MPI_BYTE, MPI_BOR, comm) != MPI_SUCCESS,
                    "a communicator that is broken does not say so");
            check(MPI_Comm_free(&comm));
        }
}

void test_scatters(MPI_Comm comm, int rank, int size) {
    unsigned salt = 0;
    for (const Lengths& lengths :
         {Lengths{40, 8}, Lengths{400, 0}, Lengths{100'000, 50'000}, Lengths{8, 40}, Lengths{50'000, 100'000}})
        for (const int root : {0, size - 1}) {
            const bool is_short = rank != root && rank == (root == size - 1 ? 0 : size - 1);
            const int room = is_short ? lengths.short_rank : lengths.root;
            std::vector<unsigned char> all(static_cast<std::size_t>(rank == root ? lengths.root * size : 0));
            Buffer own(room);
            ++salt;
            for (std::size_t i = 0; i < all.size(); ++i)
                all[i] = pattern(i % static_cast<std::size_t>(lengths.root), salt);
            const int code = MPI_Scatter(all.data(), lengths.root, MPI_BYTE, own.data(), room, MPI_BYTE, root, comm);
            const std::string what = std::to_string(lengths.root) + " to " + std::to_string(room) + " bytes";
            require((error_class_of(code) == MPI_ERR_TRUNCATE) == (room < lengths.root), "a scatter's error: " + what);
            require(own.holds(std::min(room, lengths.root), salt), "not what was scattered: " + what);
            require(own.is_untouched_from(std::min(room, lengths.root)), "more than was scattered: " + what);
            use(comm, size);
        }
}

// Both sides of one rank, which have blocks of different lengths: each goes to its place, as far as there is room.
enum What { gather, scatter, allgather };
void test_two_sides(MPI_Comm comm, int rank, int size, const std::vector<What>& all) {
    for (const auto& [sent, room] : {std::pair{100, 50}, {50, 100}, {40, 8}, {8, 40}, {20'000, 50}, {50, 20'000}})
        for (const What what : all)
            for (int call = 0; call < 4; ++call) {
                const int root = call % size;
                const bool gathers = what != scatter;
                const int given = gathers ? 1 : size;
                const int taken = gathers ? size : 1;
                std::vector<unsigned char> input(static_cast<std::size_t>(given * sent));
                for (std::size_t i = 0; i < input.size(); ++i)
                    input[i] = pattern(
                        i % static_cast<std::size_t>(sent),
                        gathers ? static_cast<unsigned>(rank) : static_cast<unsigned>(i) / static_cast<unsigned>(sent));
                Buffer output(taken * room);
                int code = MPI_SUCCESS;
                for (int repeated = 0; repeated < 3; ++repeated) {
                    if (what == gather)
                        code = MPI_Gather(input.data(), sent, MPI_BYTE, output.data(), room, MPI_BYTE, root, comm);
                    else if (what == scatter)
                        code = MPI_Scatter(input.data(), sent, MPI_BYTE, output.data(), room, MPI_BYTE, root, comm);
                    else
                        code = MPI_Allgather(input.data(), sent, MPI_BYTE, output.data(), room, MPI_BYTE, comm);
                }
                const std::string text =
                    std::to_string(what) + " of " + std::to_string(sent) + " to " + std::to_string(room) + " bytes";
                const bool has_output = what != gather || rank == root;
                require((error_class_of(code) == MPI_ERR_TRUNCATE) == (has_output && sent > room),
                        "the error of two sides: " + text);
                for (int i = 0; i < taken && has_output; ++i) {
                    const unsigned of = gathers ? static_cast<unsigned>(i) : static_cast<unsigned>(rank);
                    for (int byte = 0; byte < room; ++byte)
                        require(output.data()[i * room + byte] ==
                                    (byte < sent ? pattern(static_cast<std::size_t>(byte), of) : guard),
                                "not what two sides say: " + text);
                }
                require(output.is_untouched_from(has_output ? taken * room : 0), "written behind the end: " + text);
                use(comm, size);
            }
}

void test_gathers(int rank, int size) {
    for (const Lengths& lengths :
         {Lengths{40, 8}, Lengths{400, 0}, Lengths{100'000, 50'000}, Lengths{8, 100'000}, Lengths{0, 8}})
        for (const bool is_rooted : {true, false}) {
            MPI_Comm comm = used_duplicate(size);
            const int bytes = rank == size - 1 ? lengths.short_rank : lengths.root;
            Buffer own(bytes);
            Buffer all(bytes * size);
            own.fill(bytes, 1);
            int code = is_rooted ? MPI_Gather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, 0, comm)
                                 : MPI_Allgather(own.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, comm);
            require(all.is_untouched_from(bytes * size), "written behind the end of what is gathered");
            // Who had nobody to look at learns of it here.
            if (code == MPI_SUCCESS) code = MPI_Barrier(comm);
            require(error_class_of(code) == MPI_ERR_TRUNCATE, "different lengths are no error");
            check(MPI_Comm_free(&comm));
        }
}

}  // namespace

int main(int argc, char** argv) {
    check(MPI_Init(&argc, &argv));
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const auto is_asked_for = [&](const char* what) {
        return std::find(arguments.begin(), arguments.end(), what) != arguments.end();
    };
    if (is_asked_for("--world")) check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (is_asked_for("--reduce")) {
        test_reductions(rank, size);
    } else if (is_asked_for("--two-sides")) {
        MPI_Comm comm = used_duplicate(size);
        test_two_sides(comm, rank, size, {gather, allgather});
        check(MPI_Comm_free(&comm));
    } else if (is_asked_for("--blocks")) {
        MPI_Comm comm = used_duplicate(size);
        test_scatters(comm, rank, size);
        test_two_sides(comm, rank, size, {gather, scatter, allgather});
        check(MPI_Comm_free(&comm));
        test_gathers(rank, size);
    } else {
        MPI_Comm comm = used_duplicate(size);
        test_bcasts(comm, rank, size, is_asked_for("--goes-on"));
        check(MPI_Comm_free(&comm));
    }
    check(MPI_Finalize());
    return 0;
}
