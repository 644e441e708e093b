/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiling tool as users have them: it defines MPI_X, counts, and calls PMPI_X. Preloaded before or after libhcoll,
 * or linked into the program. At MPI_Finalize every rank prints what it counted; with the environment variable
 *
 *   HCOLL_PROFILER_EXPECT="bcast=10 reduce=10 allreduce>=5 barrier=10 pcontrol=2 last_level=7"
 *
 * it compares, and ends with exit code 1 if anything differs.
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count_bcast, count_reduce, count_allreduce, count_barrier, count_pcontrol, last_level, number_of_counters };

static const char* const names[number_of_counters] = {"bcast",   "reduce",   "allreduce",
                                                      "barrier", "pcontrol", "last_level"};
static int counters[number_of_counters];

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ++counters[count_bcast];
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    ++counters[count_reduce];
    return PMPI_Reduce(send, receive, count, type, op, root, comm);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    ++counters[count_allreduce];
    return PMPI_Allreduce(send, receive, count, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    ++counters[count_barrier];
    return PMPI_Barrier(comm);
}

int MPI_Pcontrol(const int level, ...) {
    ++counters[count_pcontrol];
    counters[last_level] = level;
    return PMPI_Pcontrol(level);
}

/* Whether one term of the expectation, such as "bcast>=5", holds. */
static int term_holds(const char* term) {
    const size_t name_length = strcspn(term, "=>");
    const int at_least = term[name_length] == '>';
    const char* const number = strchr(term, '=');
    for (int i = 0; i < number_of_counters && number != NULL; ++i) {
        if (strlen(names[i]) != name_length || strncmp(names[i], term, name_length) != 0) continue;
        const int expected = atoi(number + 1);
        return at_least ? counters[i] >= expected : counters[i] == expected;
    }
    return 0;
}

static int expectation_holds(int rank) {
    const char* const expectation = getenv("HCOLL_PROFILER_EXPECT");
    if (expectation == NULL) return 1;
    char terms[256];
    snprintf(terms, sizeof terms, "%s", expectation);
    int all_hold = 1;
    for (char* term = strtok(terms, " "); term != NULL; term = strtok(NULL, " ")) {
        if (term_holds(term)) continue;
        fprintf(stderr, "FAIL profiler: rank %d: expected %s\n", rank, term);
        all_hold = 0;
    }
    return all_hold;
}

int MPI_Finalize(void) {
    int rank = -1;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("profiler: rank %d:", rank);
    for (int i = 0; i < number_of_counters; ++i) printf(" %s=%d", names[i], counters[i]);
    printf("\n");
    const int holds = expectation_holds(rank);
    fflush(stdout);
    const int code = PMPI_Finalize();
    if (!holds) _exit(1);
    return code;
}
