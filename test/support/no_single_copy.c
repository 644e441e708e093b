/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: as if the system would not let libhcoll copy from other processes. HCOLL_TEST_SINGLE_COPY=refused refuses every
 * copy; HCOLL_TEST_SINGLE_COPY=sometimes lets every fifth long one stop in the middle, and refuses the rest of it. The MPI
 * library's own copies are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef ssize_t (*Copy)(pid_t, const struct iovec*, unsigned long, const struct iovec*, unsigned long, unsigned long);

static int is_ours(const void* caller) {
    Dl_info info;
    return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "libhcoll-") != NULL;
}

static ssize_t copy(const char* name, const void* caller, pid_t process, const struct iovec* local,
                    unsigned long locals, const struct iovec* remote, unsigned long remotes, unsigned long flags) {
    static int calls;
    static const void* rest; /* of a copy that has stopped begins here */
    Copy next;
    *(void**)&next = dlsym(RTLD_NEXT, name);
    const char* mode = getenv("HCOLL_TEST_SINGLE_COPY");
    if (mode == NULL || !is_ours(caller)) return next(process, local, locals, remote, remotes, flags);
    if (strcmp(mode, "refused") == 0) {
        errno = EPERM;
        return -1;
    }
    if (rest != NULL && local->iov_base == rest) {
        rest = NULL;
        errno = EFAULT;
        return -1;
    }
    if (local->iov_len < 64 || ++calls % 5 != 0) return next(process, local, locals, remote, remotes, flags);
    const struct iovec here = {local->iov_base, local->iov_len / 2};
    const struct iovec there = {remote->iov_base, remote->iov_len / 2};
    rest = (const char*)here.iov_base + here.iov_len;
    return next(process, &here, 1, &there, 1, flags);
}

ssize_t process_vm_readv(pid_t process, const struct iovec* local, unsigned long locals, const struct iovec* remote,
                         unsigned long remotes, unsigned long flags) {
    return copy("process_vm_readv", __builtin_return_address(0), process, local, locals, remote, remotes, flags);
}

ssize_t process_vm_writev(pid_t process, const struct iovec* local, unsigned long locals, const struct iovec* remote,
                          unsigned long remotes, unsigned long flags) {
    return copy("process_vm_writev", __builtin_return_address(0), process, local, locals, remote, remotes, flags);
}
