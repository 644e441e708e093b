/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded under MPICH (device ch4:ucx) when there are more ranks than cores: makes waiting ranks give up their core.
 *
 * MPICH's progress loop polls without ever yielding, so an oversubscribed run advances by whole scheduler slices: an
 * 8-byte Allreduce on 4 ranks and 2 cores takes milliseconds where microseconds would do. Interposed are:
 *
 *   ucp_worker_progress  every progress loop of MPICH comes through here; when it found nothing to do, again and again, yield.
 *   setsid               with the kernel's automatic task groups (SCHED_AUTOGROUP), a yield hands the core on only to
 *                        tasks of one's own session, and the launcher gives each rank a session. Here the process gets
 *                        a process group of its own instead, and the session stays the same. For this the launcher and
 *                        its proxies must be preloaded too, those of Open MPI as well.
 *   read                 in MPI_Finalize, MPICH 4.0 closes its connections and waits for the other ranks in a barrier of
 *                        the launcher, without making progress. Over TCP between nodes a rank that has not closed yet
 *                        waits for an answer of one that is in the barrier: a deadlock (pmodels/mpich issue 6596). So
 *                        from the first closing on, waiting for the launcher drives UCX.
 *                        And where HCOLL_CLUSTER_NODES_BY_NAME is set, the launcher's word about who shares a node is
 *                        turned into "not known" (rc=1 in place of rc=0): MPICH then compares host names. Hydra counts a
 *                        host that comes several times in its list as several nodes.
 *   ucp_disconnect_nb, ucp_worker_destroy   tell when that is.
 *
 * Nothing of this changes what a program computes; it must not be preloaded where times are compared with other runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned ucp_worker_progress(void* worker);
void* ucp_disconnect_nb(void* endpoint);
void ucp_worker_destroy(void* worker);

typedef unsigned (*WorkerProgress)(void*);
typedef void* (*Disconnect)(void*);
typedef void (*WorkerDestroy)(void*);
typedef ssize_t (*Read)(int, void*, size_t);

static void* closing_worker; /* the worker to drive while connections are being closed, or NULL */
static void* last_worker;

/* In a row, and without an event of UCX: a few microseconds, no more than handing the core on takes. */
enum { calls_until_yield = 16 };

/* The function that this one hides; found once. NULL in a process without UCX. */
static void* next_function(void** slot, const char* name) {
    void* next = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (next == NULL) {
        next = dlsym(RTLD_NEXT, name);
        __atomic_store_n(slot, next, __ATOMIC_RELAXED);
    }
    return next;
}

/* POSIX wants the object pointer of dlsym turned into a function pointer by way of memory. */
#define NEXT(type, variable, name) \
    static void* variable##_slot;  \
    type variable;                 \
    *(void**)&variable = next_function(&variable##_slot, name)

unsigned ucp_worker_progress(void* worker) {
    NEXT(WorkerProgress, progress, "ucp_worker_progress");
    if (progress == NULL) return 0;
    __atomic_store_n(&last_worker, worker, __ATOMIC_RELAXED);
    const unsigned events = progress(worker);
    /* Not at once: a program that tests thousands of requests, each by a call that comes here, would pass the core on for each of them. */
    static _Thread_local unsigned idle_calls;
    idle_calls = events == 0 ? idle_calls + 1 : 0;
    if (idle_calls == calls_until_yield) {
        idle_calls = 0;
        sched_yield();
    }
    return events;
}

void* ucp_disconnect_nb(void* endpoint) {
    NEXT(Disconnect, disconnect, "ucp_disconnect_nb");
    if (disconnect == NULL) return NULL;
    __atomic_store_n(&closing_worker, __atomic_load_n(&last_worker, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    return disconnect(endpoint);
}

void ucp_worker_destroy(void* worker) {
    NEXT(WorkerDestroy, destroy, "ucp_worker_destroy");
    __atomic_store_n(&closing_worker, NULL, __ATOMIC_RELAXED);
    if (destroy != NULL) destroy(worker);
}

static int is_launcher(int descriptor) {
    const char* text = getenv("PMI_FD");
    return text != NULL && atoi(text) == descriptor;
}

/* In "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))". */
static void refuse_node_map(char* text, size_t bytes) {
    char* code = memmem(text, bytes, "rc=0", 4);
    if (code != NULL && memmem(text, bytes, "value=(vector,", 14) != NULL) code[3] = '1';
}

ssize_t read(int descriptor, void* buffer, size_t bytes) {
    NEXT(Read, next_read, "read");
    void* worker = __atomic_load_n(&closing_worker, __ATOMIC_RELAXED);
    if (worker != NULL && is_launcher(descriptor)) {
        struct pollfd ready = {descriptor, POLLIN, 0};
        while (poll(&ready, 1, 1) == 0) ucp_worker_progress(worker);
    }
    const ssize_t got = next_read(descriptor, buffer, bytes);
    if (got > 0 && is_launcher(descriptor) && getenv("HCOLL_CLUSTER_NODES_BY_NAME") != NULL)
        refuse_node_map(buffer, (size_t)got);
    return got;
}

pid_t setsid(void) {
    setpgid(0, 0);
    return getsid(0);
}
