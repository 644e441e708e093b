/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: the system refuses one call of libhcoll's (injected.py).
 *
 * HCOLL_TEST_FAULT=<function>:<k>:<rank>: the k-th such call of that rank fails, or with <k>+ all from that one on. Calls of the MPI library and of the
 * application are left alone. Once it has happened, one line says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int calls;

/* Is this one of that library's? */
static int lies_in(const void* address, const char* library) {
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, library) != NULL;
}

/* Does the call that is made now fail? */
static int fails(const char* function, const void* address, const char* library) {
    const char* fault = getenv("HCOLL_TEST_FAULT");
    const char* rank = getenv("PMI_RANK");
    if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
    const size_t length = strlen(function);
    if (fault == NULL || rank == NULL || strncmp(fault, function, length) != 0 || fault[length] != ':') return 0;
    char* end;
    const long wanted = strtol(fault + length + 1, &end, 10);
    const int all = *end == '+';
    if (all) ++end;
    if (*end != ':' || strcmp(end + 1, rank) != 0 || !lies_in(address, library)) return 0;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    if (number != wanted && !(all && number > wanted)) return 0;
    if (number == wanted) fprintf(stderr, "injected: %s\n", fault);
    return 1;
}

#define OURS __builtin_return_address(0), "libhcoll-"
#define NEXT(name)          \
    __typeof__(&name) next; \
    *(void**)&next = dlsym(RTLD_NEXT, #name)
#define REFUSE(reason) return errno = (reason), -1

int memfd_create(const char* name, unsigned int flags) {
    NEXT(memfd_create);
    if (fails("memfd_create", OURS)) REFUSE(EMFILE);
    return next(name, flags);
}

int ftruncate(int file, off_t bytes) {
    NEXT(ftruncate);
    if (fails("ftruncate", OURS)) REFUSE(ENOSPC);
    return next(file, bytes);
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
    NEXT(fallocate);
    if (fails("fallocate", OURS)) REFUSE(ENOSPC);
    return next(file, mode, offset, bytes);
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
    NEXT(posix_fallocate);
    return fails("posix_fallocate", OURS) ? ENOSPC : next(file, offset, bytes);
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
    NEXT(mmap);
    if (fails("mmap", OURS)) return errno = ENOMEM, MAP_FAILED;
    return next(address, bytes, protection, flags, file, offset);
}

int mprotect(void* address, size_t bytes, int protection) {
    NEXT(mprotect);
    if (fails("mprotect", OURS)) REFUSE(ENOMEM);
    return next(address, bytes, protection);
}

int open(const char* path, int flags, ...) {
    NEXT(open);
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if (fails("open", OURS)) REFUSE(EMFILE);
    return next(path, flags, mode);
}

ssize_t getrandom(void* buffer, size_t bytes, unsigned int flags) {
    NEXT(getrandom);
    if (fails("getrandom", OURS)) REFUSE(ENOSYS);
    return next(buffer, bytes, flags);
}

ssize_t process_vm_readv(pid_t process, const struct iovec* local, unsigned long locals, const struct iovec* remote,
                         unsigned long remotes, unsigned long flags) {
    NEXT(process_vm_readv);
    if (fails("process_vm_readv", OURS)) REFUSE(EPERM);
    return next(process, local, locals, remote, remotes, flags);
}

ssize_t process_vm_writev(pid_t process, const struct iovec* local, unsigned long locals, const struct iovec* remote,
                          unsigned long remotes, unsigned long flags) {
    NEXT(process_vm_writev);
    if (fails("process_vm_writev", OURS)) REFUSE(EPERM);
    return next(process, local, locals, remote, remotes, flags);
}

/* Threads of C++ are this library's: MPI libraries are C, and so are their threads. */
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
    NEXT(pthread_create);
    void* address;
    memcpy(&address, &start, sizeof address);
    return fails("pthread_create", address, "libstdc++") ? EAGAIN : next(thread, attributes, start, argument);
}

int socket(int domain, int type, int protocol) {
    NEXT(socket);
    if (fails("socket", OURS)) REFUSE(EMFILE);
    return next(domain, type, protocol);
}

int eventfd(unsigned int count, int flags) {
    NEXT(eventfd);
    if (fails("eventfd", OURS)) REFUSE(EMFILE);
    return next(count, flags);
}
