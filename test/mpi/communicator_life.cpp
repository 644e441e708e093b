// SPDX-License-Identifier: BSD-3-Clause
// What a program may do with communicators while the library makes, keeps and gives back what it needs for them.
//
//   --case rooted_order   one rank comes to rooted calls only after it has heard of the other one, in a message that was sent behind them
//   --case rooted_only    a communicator that sees rooted calls alone
//   --case free_pending   MPI_Comm_free with a non-blocking collective under way waits for nobody
//   --case free_order     communicators of many groups, freed in an order of each rank's own, or left to MPI_Finalize
//   --case reclaim        more communicators than may be set up, of which the last one alone is used much
//   --case reuse          communicators made, used and freed one after another, and several of them at once
//   --case together       ranks that know their processes by offset, by table and by chance
//   --case interleaved    many communicators of the same processes, with calls under way on all of them at once, begun in an order of each rank's own
#include "../support/program.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
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

void sum_on(MPI_Comm comm, int salt) {
    const std::int64_t mine = std::int64_t{rank_in(comm)} + salt;
    std::int64_t sum = -1;
    check(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm));
    const std::int64_t ranks = size_of(comm);
    require(sum == ranks * (ranks - 1) / 2 + ranks * salt, "MPI_Allreduce gave a wrong sum");
}

void bcast_on(MPI_Comm comm, int root, int salt) {
    std::array<int, 2> message = rank_in(comm) == root ? std::array{root, salt} : std::array{-1, -1};
    check(MPI_Bcast(message.data(), 2, MPI_INT, root, comm));
    require(message[0] == root && message[1] == salt, "MPI_Bcast gave something else");
}

// Runs under every MPI: what is sent lies in the receiver's memory, whatever the order. `rounds` more than any call limit.
void rooted_order(const Program& program) {
    require(program.size() == 2, "2 ranks are needed");
    constexpr int rounds = 40;
    constexpr int tag = 3;
    int token = 0;
    for (int round = 0; round < rounds; ++round) {
        if (program.rank() == 0) {
            bcast_on(MPI_COMM_WORLD, 0, round);
            check(MPI_Send(&round, 1, MPI_INT, 1, tag, MPI_COMM_WORLD));
        } else {
            check(MPI_Recv(&token, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            bcast_on(MPI_COMM_WORLD, 0, round);
        }
        // A Reduce, in which the root is the one that waits.
        const int mine = program.rank() + round;
        int sum = -1;
        if (program.rank() == 1) {
            check(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
            check(MPI_Send(&round, 1, MPI_INT, 0, tag, MPI_COMM_WORLD));
        } else {
            check(MPI_Recv(&token, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            check(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
            require(sum == 1 + 2 * round, "MPI_Reduce gave a wrong sum");
        }
        if (round == rounds / 2)
            for (int i = 0; i < 20; ++i) sum_on(MPI_COMM_WORLD, i);
    }
}

void rooted_only(const Program& program) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int round = 0; round < 100; ++round) bcast_on(comm, round % program.size(), round);
    check(MPI_Comm_free(&comm));
}

void free_pending(const Program& program) {
    constexpr int tag = 5;
    constexpr int rounds = 30;
    // So long that a root is not done with it before the others have come.
    std::vector<int> message(1 << 20);
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 3; ++i) sum_on(comm, i);
        std::fill(message.begin(), message.end(), program.rank() == 0 ? round : -1);
        int token = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        if (program.rank() != 0)
            check(MPI_Recv(&token, 1, MPI_INT, program.rank() - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check(MPI_Ibcast(message.data(), static_cast<int>(message.size()), MPI_INT, 0, comm, &request));
        check(MPI_Comm_free(&comm));
        if (program.rank() + 1 < program.size())
            check(MPI_Send(&round, 1, MPI_INT, program.rank() + 1, tag, MPI_COMM_WORLD));
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        require(std::all_of(message.begin(), message.end(), [&](int value) { return value == round; }),
                "MPI_Ibcast gave something else");
    }
}

// Sub-communicators of all ranks but one, in reverse, two of each: each rank is in several, with a history of its own.
void free_order(const Program& program) {
    const int size = program.size();
    std::vector<MPI_Comm> all;
    for (int without = 0; without < size; ++without)
        for (const bool reverse : {false, true, false, true}) {
            MPI_Comm comm = MPI_COMM_NULL;
            check(MPI_Comm_split(MPI_COMM_WORLD, program.rank() == without ? MPI_UNDEFINED : 1,
                                 reverse ? -program.rank() : program.rank(), &comm));
            if (comm == MPI_COMM_NULL) continue;
            for (int i = 0; i < 12; ++i) sum_on(comm, i);
            all.push_back(comm);
        }
    // Every other one in an order of this rank's own, the rest at the end.
    std::mt19937 order(static_cast<unsigned int>(program.seed()) + static_cast<unsigned int>(program.rank()));
    std::vector<std::size_t> indices(all.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    check(MPI_Barrier(MPI_COMM_WORLD));
    std::shuffle(indices.begin(), indices.end(), order);
    for (const std::size_t index : indices)
        if (rank_in(all[index]) >= 0 && index % 2 == 0) check(MPI_Comm_free(&all[index]));
}

void reclaim() {
    constexpr int many = 12;
    std::vector<MPI_Comm> comms(many, MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) {
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 6; ++i) sum_on(comm, i);
    }
    for (int i = 0; i < 1000; ++i) sum_on(comms.back(), i);
    // The others go on.
    for (const MPI_Comm comm : comms)
        for (int i = 0; i < 6; ++i) {
            sum_on(comm, i);
            bcast_on(comm, 0, i);
        }
    for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
}

void reuse(const Program& program) {
    for (int round = 0; round < 300; ++round) {
        std::vector<MPI_Comm> comms(static_cast<std::size_t>(1 + round % 4), MPI_COMM_NULL);
        for (MPI_Comm& comm : comms) check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 5; ++i)
            for (const MPI_Comm comm : comms) {
                sum_on(comm, i);
                bcast_on(comm, round % program.size(), i);
                check(MPI_Barrier(comm));
            }
        if (round % 3 == 0) std::reverse(comms.begin(), comms.end());
        for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
    }
}

void together(const Program& program) {
    const int rank = program.rank();
    for (int round = 0; round < 10; ++round) {
        std::vector<MPI_Comm> comms;
        const auto add = [&](int color, int key) {
            MPI_Comm comm = MPI_COMM_NULL;
            check(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm));
            comms.push_back(comm);
        };
        add(0, rank);                                  // all
        add(rank < program.size() / 2 ? 0 : 1, rank);  // halves
        add(rank % 2, rank);                           // every other one
        add(0, -rank);                                 // all, the other way round
        add(0, (rank * 7 + round) % 5);                // all, in a mixed order
        for (int i = 0; i < 8; ++i)
            for (const MPI_Comm comm : comms) {
                sum_on(comm, i);
                bcast_on(comm, size_of(comm) - 1, i);
            }
        for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
    }
}

// Nothing but tags tells their messages apart where they share a duplicate.
void interleaved(const Program& program) {
    constexpr std::size_t count = 30;
    constexpr int rounds = 12;
    constexpr int elements = 700;
    std::vector<MPI_Comm> comms(count, MPI_COMM_NULL);
    for (MPI_Comm& comm : comms) {
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 4; ++i) sum_on(comm, i);
    }
    std::mt19937 order(static_cast<unsigned int>(program.seed()) + static_cast<unsigned int>(program.rank()));
    std::vector<std::size_t> indices(count);
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    const int size = program.size();
    for (int round = 0; round < rounds; ++round) {
        const auto value = [&](std::size_t index, int salt) { return round * 1000 + static_cast<int>(index) + salt; };
        const auto root = [&](std::size_t index) { return (static_cast<int>(index) + round) % size; };
        std::vector<std::vector<int>> messages(count);
        std::vector<int> mine(count);
        std::vector<int> sums(count, -1);
        std::vector<MPI_Request> requests;
        std::shuffle(indices.begin(), indices.end(), order);
        for (const std::size_t index : indices) {
            messages[index].assign(elements, program.rank() == root(index) ? value(index, 1) : -1);
            check(MPI_Ibcast(messages[index].data(), elements, MPI_INT, root(index), comms[index],
                             &requests.emplace_back()));
        }
        std::shuffle(indices.begin(), indices.end(), order);
        for (const std::size_t index : indices) {
            mine[index] = value(index, program.rank());
            check(MPI_Iallreduce(&mine[index], &sums[index], 1, MPI_INT, MPI_SUM, comms[index],
                                 &requests.emplace_back()));
        }
        // Roots are done with these before the others come.
        for (std::size_t index = 0; index < count; ++index) bcast_on(comms[index], root(index), value(index, 2));
        // So many that something is tried.
        for (std::size_t index = 0; index < count; ++index)
            for (int i = 0; i < 8; ++i) sum_on(comms[index], value(index, i));
        check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
        for (std::size_t index = 0; index < count; ++index) {
            require(std::all_of(messages[index].begin(), messages[index].end(),
                                [&](int each) { return each == value(index, 1); }),
                    "MPI_Ibcast gave something else");
            require(sums[index] == size * value(index, 0) + size * (size - 1) / 2, "MPI_Iallreduce gave a wrong sum");
        }
        // What one has given back serves the next one.
        const std::size_t other = static_cast<std::size_t>(round) % count;
        check(MPI_Comm_free(&comms[other]));
        check(MPI_Comm_dup(MPI_COMM_WORLD, &comms[other]));
        for (int i = 0; i < 3; ++i) sum_on(comms[other], i);
    }
    for (MPI_Comm& comm : comms) check(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
    Program program(argc, argv, "communicator_life");
    const std::string which = program.options().text("--case", "reuse");
    program.options().reject_rest();
    if (which == "rooted_order")
        rooted_order(program);
    else if (which == "rooted_only")
        rooted_only(program);
    else if (which == "free_pending")
        free_pending(program);
    else if (which == "free_order")
        free_order(program);
    else if (which == "reclaim")
        reclaim();
    else if (which == "reuse")
        reuse(program);
    else if (which == "together")
        together(program);
    else if (which == "interleaved")
        interleaved(program);
    else
        fail("there is no case " + which);
    return program.finish(which);
}
