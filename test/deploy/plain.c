/* SPDX-License-Identifier: BSD-3-Clause */
/* A C program that is linked to MPI and libc alone, as users' programs are: scripts/release compiles it in each release and runs it under the library of the
 * archive. The project's own programs link more, so that libraries are loaded in another order with them.
 *
 *   plain   ends with 1 if a collective's result is wrong; rank 0 says what was called
 */
#include <mpi.h>
#include <stdio.h>

enum { calls = 300, most = 100000 };

static double operand[most], result[most];

static int length_of(int call) { return 1 + call * 7919 % (call % 3 == 0 ? most : 40); }

int main(int argc, char** argv) {
    int rank, size, wrong = 0, wrong_anywhere = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int call = 0; call < calls; ++call) {
        const int length = length_of(call), root = call % size;
        for (int i = 0; i < length; ++i) operand[i] = rank + i % 7 + call % 5;
        MPI_Allreduce(operand, result, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < length; ++i) wrong += result[i] != size * (size - 1) / 2 + size * (i % 7 + call % 5);

        MPI_Reduce(operand, result, length, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        for (int i = 0; i < length && rank == root; ++i) wrong += result[i] != size - 1 + i % 7 + call % 5;

        for (int i = 0; i < length; ++i) result[i] = rank == root ? call + i : -1;
        MPI_Bcast(result, length, MPI_DOUBLE, root, MPI_COMM_WORLD);
        for (int i = 0; i < length; ++i) wrong += result[i] != call + i;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, 4 collectives %d times each: %d elements are wrong\n", size, calls, wrong_anywhere);
    MPI_Finalize();
    return wrong_anywhere != 0;
}
