// SPDX-License-Identifier: BSD-3-Clause
// Checked collectives on intra- and intercommunicators.
#pragma once

#include "../support/timed_barrier.hpp"

#include <array>

namespace hcoll::test {

// 'calls' collective calls, of four kinds in turn; 'salt' makes their values differ.
inline void use(MPI_Comm comm, int calls, int salt) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    for (int call = 0; call < calls; ++call) {
        const int root = (call + salt) % size;
        std::array<int, 5> values{};
        values.fill(rank + call + salt);
        std::array<int, 5> result{};
        const int sum = size * (size - 1) / 2 + size * (call + salt);
        const auto count = static_cast<int>(values.size());
        bool right = true;
        switch (call % 4) {
            case 0:
                check(MPI_Allreduce(values.data(), result.data(), count, MPI_INT, MPI_SUM, comm));
                right = result.front() == sum && result.back() == sum;
                break;
            case 1:
                check(MPI_Bcast(values.data(), count, MPI_INT, root, comm));
                right = values.front() == root + call + salt && values.back() == root + call + salt;
                break;
            case 2: check(timed_barrier(comm)); break;
            default:
                check(MPI_Reduce(values.data(), result.data(), count, MPI_INT, MPI_SUM, root, comm));
                right = rank != root || (result.front() == sum && result.back() == sum);
        }
        require(right,
                "wrong result of collective call " + std::to_string(call) + " on communicator " + std::to_string(salt));
    }
}

// Even ranks and odd ranks face one another; the library must leave the calls to MPI.
inline void use_intercommunicator(int calls) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &size));
    const int side = rank % 2;
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &local));
    use(local, calls, 1);
    check(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - side, 17, &inter));
    int local_rank = 0;
    int remote_size = 0;
    check(MPI_Comm_rank(inter, &local_rank));
    check(MPI_Comm_remote_size(inter, &remote_size));
    for (int call = 0; call < calls; ++call) {
        // From the even side's first rank to all of the odd side.
        int value = rank + call;
        const int root = side == 1 ? 0 : local_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        check(MPI_Bcast(&value, 1, MPI_INT, root, inter));
        require(value == (side == 1 ? call : rank + call), "wrong value by MPI_Bcast between groups");
        int sum = -1;
        check(MPI_Allreduce(&side, &sum, 1, MPI_INT, MPI_SUM, inter));
        require(sum == (1 - side) * remote_size, "wrong sum by MPI_Allreduce between groups");
        check(MPI_Barrier(inter));
        // Everything of the odd side to the even side's first rank.
        sum = -1;
        check(MPI_Reduce(&side, &sum, 1, MPI_INT, MPI_SUM, root, inter));
        require(root != MPI_ROOT || sum == remote_size, "wrong sum by MPI_Reduce between groups");
    }
    MPI_Comm merged = MPI_COMM_NULL;
    check(MPI_Intercomm_merge(inter, side, &merged));
    use(merged, calls, 2);
    MPI_Comm split = MPI_COMM_NULL;
    check(MPI_Comm_split(merged, rank / 2 % 2, -rank, &split));
    use(split, calls, 3);
    for (MPI_Comm* comm : {&merged, &inter, &local, &split}) check(MPI_Comm_free(comm));
}

}  // namespace hcoll::test
