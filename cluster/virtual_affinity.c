/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded on nodes that pretend to have sockets: CPU affinity that is remembered and never reaches the kernel.
 *
 * With HWLOC_SYNTHETIC and HWLOC_THISSYSTEM=1 hwloc believes in a topology that the machine does not have, and binds to
 * it. The kernel would refuse CPUs that do not exist. Here each process's mask is a file in the node's own /dev/shm,
 * named by process and the time it was started at, so that it outlives exec (launchers bind between fork and exec) and
 * no later process of that number takes it over. A rank without a file is bound to its entry of HCOLL_CLUSTER_CORES
 * (0,1,0,1 for ranks 0 to 3), so that any layout can be bound under any launcher; newer ones bind themselves, too, to
 * all that is there. Any other process without a file has its parent's mask, and where no ancestor has one either, all
 * of the HCOLL_CLUSTER_CPUS CPUs. A thread that has set its own (UCX from 1.18 on has one that does) has a file by its
 * number; any other has the mask of its process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    pid_t parent;
    unsigned long long start;
} Process;

/* Reads /proc/<process>/stat: field 4 is the parent, field 22 the start. The name in field 2 may hold anything. */
static int look_up(pid_t process, Process* found) {
    char path[64];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    if (bytes <= 0) return 0;
    text[bytes] = '\0';
    const char* after_name = strrchr(text, ')');
    int parent = 0;
    return after_name != NULL &&
           sscanf(after_name, ") %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &parent,
                  &found->start) == 2 &&
           ((found->parent = parent), 1);
}

static int open_mask(pid_t process, const Process* found, int flags) {
    char path[96];
    snprintf(path, sizeof path, "/dev/shm/.affinity.%d.%llu", (int)process, found->start);
    return open(path, flags | O_CLOEXEC, 0644);
}

static pid_t task_of(pid_t task) { return task == 0 ? (pid_t)syscall(SYS_gettid) : task; }

static pid_t process_of(pid_t task) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", (int)task);
    return access(path, F_OK) == 0 ? getpid() : task;
}

/* The core of this process, if it or its launcher was told that it is a rank; else -1. */
static int core_of_rank(void) {
    const char* cores = getenv("HCOLL_CLUSTER_CORES");
    const char* rank = getenv("PMI_RANK");
    if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (cores == NULL || rank == NULL) return -1;
    for (int left = atoi(rank); left > 0; --left) {
        cores = strchr(cores, ',');
        if (cores == NULL) return -1;
        ++cores;
    }
    return atoi(cores);
}

int sched_setaffinity(pid_t task, size_t bytes, const cpu_set_t* mask) {
    Process found;
    task = task_of(task);
    if (!look_up(task, &found)) {
        errno = ESRCH;
        return -1;
    }
    const int file = open_mask(task, &found, O_CREAT | O_TRUNC | O_WRONLY);
    if (file < 0) return -1;
    const ssize_t written = write(file, mask, bytes);
    close(file);
    return written == (ssize_t)bytes ? 0 : -1;
}

/* 1 if that process has a file. */
static int read_mask(pid_t process, const Process* found, size_t bytes, cpu_set_t* mask) {
    const int file = open_mask(process, found, O_RDONLY);
    if (file < 0) return 0;
    const ssize_t got = read(file, mask, bytes);
    close(file);
    return got > 0;
}

int sched_getaffinity(pid_t task, size_t bytes, cpu_set_t* mask) {
    memset(mask, 0, bytes);
    task = task_of(task);
    const pid_t asked = process_of(task);
    const int core = asked == getpid() ? core_of_rank() : -1;
    Process found;
    if (task != asked && look_up(task, &found) && read_mask(task, &found, bytes, mask)) return 0;
    for (pid_t process = asked; process > 0 && look_up(process, &found); process = found.parent) {
        if (read_mask(process, &found, bytes, mask)) return 0;
        if (core >= 0) {
            CPU_SET_S((size_t)core, bytes, mask);
            return 0;
        }
    }
    const char* text = getenv("HCOLL_CLUSTER_CPUS");
    const int cpus = text != NULL ? atoi(text) : 1;
    for (int cpu = 0; cpu < cpus; ++cpu) CPU_SET_S((size_t)cpu, bytes, mask);
    return 0;
}
