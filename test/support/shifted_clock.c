/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload for tests: each rank's monotonic clock is another one's, as on nodes that were started at different times and whose quartzes differ.
 *
 * HCOLL_TEST_CLOCK_NODE=<ranks of a node>: those have one clock, a thousand seconds and 50 ppm from the next node's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int (*next_gettime)(clockid_t, struct timespec*);
static long long node = -1;
static struct timespec start;

__attribute__((constructor)) static void find(void) {
    const char* rank = getenv("PMI_RANK");
    const char* ranks_of_node = getenv("HCOLL_TEST_CLOCK_NODE");
    if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
    *(void**)&next_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (next_gettime == NULL || rank == NULL || ranks_of_node == NULL || atoi(ranks_of_node) <= 0) return;
    next_gettime(CLOCK_MONOTONIC, &start);
    node = atoi(rank) / atoi(ranks_of_node);
}

int clock_gettime(clockid_t clock, struct timespec* time) {
    if (next_gettime == NULL) *(void**)&next_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const int status = next_gettime(clock, time);
    if (status != 0 || clock != CLOCK_MONOTONIC || node < 0) return status;
    const long long since = (time->tv_sec - start.tv_sec) * 1000000000LL + time->tv_nsec - start.tv_nsec;
    const long long later = node * (1000000000000LL + since * 50 / 1000000) + time->tv_nsec;
    time->tv_sec += later / 1000000000LL;
    time->tv_nsec = later % 1000000000LL;
    return 0;
}
