/* Preloaded under MPICH (device ch4:ucx) when there are more ranks than cores: makes waiting ranks give up their core.
 *
 * MPICH's progress loop polls without ever yielding, so an oversubscribed run advances by whole scheduler slices: an
 * 8-byte Allreduce on 4 ranks and 2 cores takes milliseconds where microseconds would do. Two calls are interposed:
 *
 *   ucp_worker_progress  every progress loop of MPICH comes through here; when it found nothing to do, yield.
 *   setsid               with the kernel's automatic task groups (SCHED_AUTOGROUP), a yield hands the core on only to
 *                        tasks of one's own session, and the launcher gives each rank a session. Here the process gets
 *                        a process group of its own instead, and the session stays the same. For this the launcher and
 *                        its proxies must be preloaded too.
 *
 * Nothing of this changes what a program computes; it must not be preloaded where times are compared with other runs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

typedef unsigned (*WorkerProgress)(void* worker);

unsigned ucp_worker_progress(void* worker);

unsigned ucp_worker_progress(void* worker) {
    static WorkerProgress next;
    WorkerProgress progress = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (progress == NULL) {
        /* POSIX wants the object pointer of dlsym turned into a function pointer by way of memory. */
        *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
        __atomic_store_n(&next, progress, __ATOMIC_RELAXED);
    }
    if (progress == NULL) return 0;
    const unsigned events = progress(worker);
    if (events == 0) sched_yield();
    return events;
}

pid_t setsid(void) {
    setpgid(0, 0);
    return getsid(0);
}
