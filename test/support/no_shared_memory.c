/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: as if the system refused libhcoll its shared memory. HCOLL_TEST_REFUSE=create refuses to make the anonymous
 * file, =open to open that of another process, =connect that and to be handed it, =offer to hand it over. The MPI library's own files are left
 * alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

static int refuses(const char* what) {
    const char* refused = getenv("HCOLL_TEST_REFUSE");
    return refused != NULL && strcmp(refused, what) == 0;
}

int memfd_create(const char* name, unsigned int flags) {
    int (*next)(const char*, unsigned int) = (int (*)(const char*, unsigned int))dlsym(RTLD_NEXT, "memfd_create");
    if (refuses("create") && strcmp(name, "libhcoll") == 0) {
        errno = EPERM;
        return -1;
    }
    return next(name, flags);
}

int open(const char* path, int flags, ...) {
    int (*next)(const char*, int, ...) = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    char link[64] = "";
    if ((refuses("open") || refuses("connect")) && readlink(path, link, sizeof link - 1) > 0 &&
        strncmp(link, "/memfd:libhcoll", 15) == 0) {
        errno = EACCES;
        return -1;
    }
    return next(path, flags, mode);
}

static int is_ours(const struct sockaddr* address) {
    return address->sa_family == AF_UNIX &&
           strncmp(((const struct sockaddr_un*)address)->sun_path + 1, "libhcoll-", 9) == 0;
}

int connect(int socket, const struct sockaddr* address, socklen_t length) {
    if (refuses("connect") && is_ours(address)) {
        errno = ECONNREFUSED;
        return -1;
    }
    return ((int (*)(int, const struct sockaddr*, socklen_t))dlsym(RTLD_NEXT, "connect"))(socket, address, length);
}

int bind(int socket, const struct sockaddr* address, socklen_t length) {
    if (refuses("offer") && is_ours(address)) {
        errno = EPERM;
        return -1;
    }
    return ((int (*)(int, const struct sockaddr*, socklen_t))dlsym(RTLD_NEXT, "bind"))(socket, address, length);
}
