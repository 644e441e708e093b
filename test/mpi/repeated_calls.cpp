// SPDX-License-Identifier: BSD-3-Clause
// Rows of short collectives that are the same as the ones before, as programs make them, and now and then something else: another length,
// root, type or collective, another type or MPI_IN_PLACE on some ranks for the same bytes, no bytes at all, other communicators. Without a report, which has every
// call looked at: so the shortest ways run, that other tests do not come to.
//
//   --rows N   (default 1000)
#include "../support/program.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

using namespace hcoll::test;

namespace {

constexpr std::size_t most_bytes = 4096;
constexpr std::size_t behind = 64;
constexpr unsigned char guard = 0xa5;

using Memory = std::array<unsigned char, most_bytes + behind>;

unsigned char pattern(std::size_t i, std::uint64_t salt) { return static_cast<unsigned char>(i * 7 + salt); }

struct Place {
    MPI_Comm comm;
    int rank, size;
};

Place place_of(MPI_Comm comm) {
    Place place{comm, 0, 0};
    check(MPI_Comm_rank(comm, &place.rank));
    check(MPI_Comm_size(comm, &place.size));
    return place;
}

// The same bytes as one of several types.
struct Elements {
    MPI_Datatype type;
    std::size_t bytes;
};

void bcast(const Place& place, std::size_t bytes, int root, const Elements& elements, std::uint64_t salt) {
    Memory memory{};
    memory.fill(guard);
    if (place.rank == root)
        for (std::size_t i = 0; i < bytes; ++i) memory[i] = pattern(i, salt);
    check(MPI_Bcast(memory.data(), static_cast<int>(bytes / elements.bytes), elements.type, root, place.comm));
    for (std::size_t i = 0; i < memory.size(); ++i)
        require(memory[i] == (i < bytes ? pattern(i, salt) : guard), "Bcast of " + std::to_string(bytes) +
                                                                         " bytes from rank " + std::to_string(root) +
                                                                         ": byte " + std::to_string(i));
}

constexpr int no_root = -1;

// An Allreduce, or a Reduce to `root`.
void reduce(const Place& place, std::size_t count, int root, bool in_place, std::uint64_t salt) {
    std::array<std::int64_t, most_bytes / 8 + 8> operand{};
    std::array<std::int64_t, most_bytes / 8 + 8> result{};
    result.fill(-1);
    const bool has_result = root == no_root || root == place.rank;
    // MPICH 4.0.2 itself crashes in MPI_Reduce of more than 2 KB with MPI_IN_PLACE on roots other than rank 0.
    const bool is_in_place = in_place && has_result && (root <= 0 || count <= 256);
    std::array<std::int64_t, most_bytes / 8 + 8>& given = is_in_place ? result : operand;
    for (std::size_t i = 0; i < count; ++i) given.at(i) = place.rank + static_cast<std::int64_t>((i + salt) % 1000);
    const void* send = is_in_place ? MPI_IN_PLACE : operand.data();
    const int elements = static_cast<int>(count);
    if (root == no_root)
        check(MPI_Allreduce(send, result.data(), elements, MPI_INT64_T, MPI_SUM, place.comm));
    else
        check(MPI_Reduce(send, has_result ? result.data() : nullptr, elements, MPI_INT64_T, MPI_SUM, root, place.comm));
    const std::int64_t ranks = place.size;
    for (std::size_t i = 0; i < result.size(); ++i)
        require(result.at(i) == (has_result && i < count
                                     ? ranks * (ranks - 1) / 2 + ranks * static_cast<std::int64_t>((i + salt) % 1000)
                                     : -1),
                "sum of " + std::to_string(count) + " elements: element " + std::to_string(i));
}

// A Gather, a Scatter, or with no root an Allgather. What a rank's block is, each rank says by a type of its own.
void blocks(const Place& place, bool is_scatter, std::size_t bytes, int root, const Elements& elements, bool in_place,
            std::uint64_t salt) {
    const auto ranks = static_cast<std::size_t>(place.size);
    const auto own_rank = static_cast<std::size_t>(place.rank);
    const bool has_all = root == no_root || root == place.rank;
    std::vector<unsigned char> all(has_all ? bytes * ranks : 0, guard);
    std::vector<unsigned char> own(bytes + behind, guard);
    const bool has_whole = is_scatter && has_all;
    for (std::size_t i = 0; i < all.size() && has_whole; ++i) all[i] = pattern(i, salt);
    unsigned char* const own_place = has_all && in_place ? all.data() + own_rank * bytes : own.data();
    for (std::size_t i = 0; i < bytes && !is_scatter; ++i) own_place[i] = pattern(own_rank * bytes + i, salt);
    void* const block = has_all && in_place ? MPI_IN_PLACE : own.data();
    const int count = static_cast<int>(bytes / elements.bytes);
    if (root == no_root)
        check(MPI_Allgather(block, count, elements.type, all.data(), count, elements.type, place.comm));
    else if (is_scatter)
        check(MPI_Scatter(all.data(), count, elements.type, block, count, elements.type, root, place.comm));
    else
        check(MPI_Gather(block, count, elements.type, all.data(), count, elements.type, root, place.comm));
    for (std::size_t i = 0; i < all.size(); ++i)
        require(all[i] == pattern(i, salt), "byte " + std::to_string(i) + " of all blocks");
    for (std::size_t i = 0; i < own.size() && block == own.data(); ++i)
        require(own[i] == (i < bytes ? pattern(own_rank * bytes + i, salt) : guard),
                "byte " + std::to_string(i) + " of a block");
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "repeated_calls");
    const std::int64_t rows = program.options().number("--rows", 1000);
    program.options().reject_rest();

    MPI_Comm duplicate = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    const std::array<Place, 2> places{place_of(MPI_COMM_WORLD), place_of(duplicate)};
    MPI_Datatype three = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(3, MPI_INT32_T, &three));
    check(MPI_Type_commit(&three));
    const std::array<Elements, 5> types{{{MPI_BYTE, 1}, {MPI_INT32_T, 4}, {MPI_DOUBLE, 8}, {three, 12}, {MPI_CHAR, 1}}};

    std::mt19937_64 random(program.seed());  // alike on all ranks
    std::mt19937_64 own(program.seed() + static_cast<std::uint64_t>(program.rank()));
    for (std::int64_t row = 0; row < rows; ++row) {
        const Place& place = places.at(random() % 8 == 0 ? 1 : 0);
        const std::uint64_t kind = random() % 12;
        // All types have so many bytes; mostly in a line.
        const std::size_t bytes =
            random() % 16 == 0 ? 0 : 24 * (1 + random() % (random() % 4 == 0 ? most_bytes / 24 : 2));
        const int root = static_cast<int>(random() % static_cast<std::uint64_t>(place.size));
        const bool turns = random() % 4 == 0;
        const std::uint64_t calls = 1 + random() % 12;
        const Elements& usual = types.at(own() % types.size());
        for (std::uint64_t call = 0; call < calls; ++call) {
            const std::uint64_t salt = random();
            const int from = turns ? static_cast<int>(call % static_cast<std::uint64_t>(place.size)) : root;
            if (kind == 0)
                check(MPI_Barrier(place.comm));
            else if (kind < 5)
                reduce(place, bytes / 8, kind < 3 ? no_root : from, random() % 2 == 0, salt);
            else if (kind >= 8)
                blocks(place, kind == 8, bytes, kind == 11 ? no_root : from,
                       own() % 16 == 0 ? types.at(own() % types.size()) : usual, own() % 8 == 0 && kind != 11, salt);
            else
                bcast(place, bytes, from, own() % 16 == 0 ? types.at(own() % types.size()) : usual, salt);
        }
    }
    check(MPI_Type_free(&three));
    check(MPI_Comm_free(&duplicate));
    return program.finish(std::to_string(rows) + " rows");
}
