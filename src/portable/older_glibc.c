/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries and programs that are built with a new glibc and run with one as old as 2.28.
 *
 * A program that is linked to glibc needs at least the version in which the newest of the functions that it calls has got its
 * present version. Most of those that are newer than 2.28 are old functions that have moved (2.34: libpthread and libdl into libc) or
 * lost or got a rarely needed detail (2.29: exp2, 2.35: hypot, 2.38: strtol); a few are new and called by the C++ run-time that is inside of ours. So here is
 * a hidden function for each: whatever is linked into the same library or program calls that, also code in archives
 * that were compiled long before. It passes the call on to the function's oldest version, which every glibc keeps, or does what it does.
 *
 * What is needed beyond that fails test_elf.py. Linked with hcoll_portable (cmake/HcollPortable.cmake).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "portable/glibc_versions.h"

#define HIDDEN __attribute__((visibility("hidden")))

/* `name` as this file's own, which calls the version of old. */
#define OLDER(type, name, parameters, arguments, x86_64_version)          \
    extern type older_##name parameters;                                  \
    __asm__(".symver older_" #name ", " #name "@" SINCE(x86_64_version)); \
    HIDDEN type name parameters { return older_##name arguments; }

OLDER(void*, dlopen, (const char* file, int mode), (file, mode), "2.2.5")
OLDER(int, dlclose, (void* handle), (handle), "2.2.5")
OLDER(char*, dlerror, (void), (), "2.2.5")
OLDER(int, dladdr, (const void* address, Dl_info* info), (address, info), "2.2.5")
/* Another C library that is put in glibc's place may lack it: musl does. */
extern int older_dladdr1(const void* address, Dl_info* info, void** extra, int flags) __attribute__((weak));
__asm__(".symver older_dladdr1, dladdr1@" SINCE("2.3.3"));
HIDDEN int dladdr1(const void* address, Dl_info* info, void** extra, int flags) {
    return older_dladdr1 != NULL ? older_dladdr1(address, info, extra, flags) : 0;
}
OLDER(int, dlinfo, (void* restrict handle, int request, void* restrict result), (handle, request, result), "2.3.3")
/* RTLD_NEXT is told by who calls: one object still, since this one is inside of it. */
OLDER(void*, dlsym, (void* restrict handle, const char* restrict name), (handle, name), "2.2.5")

OLDER(int, pthread_create,
      (pthread_t* restrict thread, const pthread_attr_t* restrict attributes, void* (*run)(void*),
       void* restrict argument),
      (thread, attributes, run, argument), "2.2.5")
OLDER(int, pthread_join, (pthread_t thread, void** result), (thread, result), "2.2.5")
OLDER(int, pthread_detach, (pthread_t thread), (thread), "2.2.5")
OLDER(int, pthread_once, (pthread_once_t * once, void (*run)(void)), (once, run), "2.2.5")
OLDER(int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void*)), (key, destroy), "2.2.5")
OLDER(int, pthread_key_delete, (pthread_key_t key), (key), "2.2.5")
OLDER(void*, pthread_getspecific, (pthread_key_t key), (key), "2.2.5")
OLDER(int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value), "2.2.5")
OLDER(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), "2.2.5")
OLDER(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), "2.2.5")
OLDER(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock), "2.2.5")
OLDER(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex), "2.2.5")
OLDER(void, pthread_testcancel, (void), (), "2.2.5")
OLDER(int, pthread_sigmask, (int how, const sigset_t* restrict set, sigset_t* restrict old), (how, set, old), "2.2.5")
OLDER(int, pthread_kill, (pthread_t thread, int signal), (thread, signal), "2.2.5")
OLDER(int, pthread_setname_np, (pthread_t thread, const char* name), (thread, name), "2.12")
OLDER(int, pthread_getaffinity_np, (pthread_t thread, size_t bytes, cpu_set_t* set), (thread, bytes, set), "2.3.4")
OLDER(int, pthread_setaffinity_np, (pthread_t thread, size_t bytes, const cpu_set_t* set), (thread, bytes, set),
      "2.3.4")

OLDER(double, exp2, (double x), (x), "2.2.5")
OLDER(double, log2, (double x), (x), "2.2.5")
OLDER(double, exp, (double x), (x), "2.2.5")
OLDER(double, log, (double x), (x), "2.2.5")
OLDER(double, pow, (double x, double y), (x, y), "2.2.5")
OLDER(double, hypot, (double x, double y), (x, y), "2.2.5")
OLDER(float, hypotf, (float x, float y), (x, y), "2.2.5")
OLDER(double, fmod, (double x, double y), (x, y), "2.2.5")

/* `of` under the name that it has had since 2.38, where numbers may be written as C23 has them (0b1): nobody here does. */
#define BEFORE_C23(type, of, parameters, arguments)                                                  \
    extern type older_##of parameters;                                                               \
    __asm__(".symver older_" #of ", " #of "@" SINCE("2.2.5"));                                       \
    HIDDEN type __isoc23_##of parameters;                                 /* NOLINT: glibc's name */ \
    HIDDEN type __isoc23_##of parameters { return older_##of arguments; } /* NOLINT */

BEFORE_C23(long, strtol, (const char* restrict text, char** restrict end, int base), (text, end, base))
BEFORE_C23(long long, strtoll, (const char* restrict text, char** restrict end, int base), (text, end, base))
BEFORE_C23(unsigned long, strtoul, (const char* restrict text, char** restrict end, int base), (text, end, base))
BEFORE_C23(unsigned long long, strtoull, (const char* restrict text, char** restrict end, int base), (text, end, base))

#define SCANF_BEFORE_C23(name, source)                                                                \
    extern int older_v##name(source, const char* restrict format, va_list arguments);                 \
    __asm__(".symver older_v" #name ", __isoc99_v" #name "@" SINCE("2.7"));                           \
    HIDDEN int __isoc23_##name(source, const char* restrict format, ...);  /* NOLINT: glibc's name */ \
    HIDDEN int __isoc23_##name(source, const char* restrict format, ...) { /* NOLINT */               \
        va_list arguments;                                                                            \
        va_start(arguments, format);                                                                  \
        const int read = older_v##name(from, format, arguments);                                      \
        va_end(arguments);                                                                            \
        return read;                                                                                  \
    }

SCANF_BEFORE_C23(sscanf, const char* restrict from)
SCANF_BEFORE_C23(fscanf, FILE* restrict from)

/* Until 2.33 these were inline functions over others that name a layout of struct stat. It is the kernel's on processors of 64 bits. */
HIDDEN int fstatat(int folder, const char* restrict path, struct stat* restrict status, int flags) {
    return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
HIDDEN int stat(const char* restrict path, struct stat* restrict status) { return fstatat(AT_FDCWD, path, status, 0); }
HIDDEN int lstat(const char* restrict path, struct stat* restrict status) {
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
HIDDEN int fstat(int file, struct stat* status) { return (int)syscall(SYS_fstat, file, status); }
HIDDEN int fstat64(int file, struct stat64* status) { return (int)syscall(SYS_fstat, file, status); }
HIDDEN int stat64(const char* restrict path, struct stat64* restrict status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}
HIDDEN int lstat64(const char* restrict path, struct stat64* restrict status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

/* 2.32. The C++ run-time counts references without atomics where it is true: there may always be threads here. */
HIDDEN char __libc_single_threaded = 0; /* NOLINT(readability-identifier-naming): glibc's name */

/* 2.30, for waits of std::condition_variable that a steady clock ends. Who waits looks at the time again and goes on waiting, so a
 * system clock that is set meanwhile ends the wait too early or too late once. */
HIDDEN int pthread_cond_clockwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex, clockid_t clock,
                                  const struct timespec* restrict until) {
    struct timespec now, system;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &system);
    system.tv_sec += until->tv_sec - now.tv_sec;
    system.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (system.tv_nsec >= 1000000000) {
        system.tv_nsec -= 1000000000;
        ++system.tv_sec;
    } else if (system.tv_nsec < 0) {
        system.tv_nsec += 1000000000;
        --system.tv_sec;
    }
    return pthread_cond_timedwait(condition, mutex, &system);
}

/* 2.36, for std::random_device. As glibc's, it ends a process that can have no random numbers. */
HIDDEN uint32_t arc4random(void) {
    uint32_t number = 0;
    ssize_t got;
    do got = getrandom(&number, sizeof number, 0);
    while (got < 0 && errno == EINTR);
    if (got != sizeof number) {
        const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        if (file < 0 || read(file, &number, sizeof number) != sizeof number) abort();
        close(file);
    }
    return number;
}
