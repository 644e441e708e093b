/* SPDX-License-Identifier: BSD-3-Clause */
/* glibc's libdl (with OF_LIBDL) and libpthread as far as libraries and programs of ours call them, with the functions that have moved into libc since
 * (2.32 to 2.34): to be linked with, and never to be loaded.
 *
 * What is linked notes for each function in which library its version has been found. From 2.30 on glibc takes the function wherever it is; one that is
 * older ends the program where it comes to the noted library and the function is not in there, even if it is in one that follows. So the
 * library of that time is what has to be noted; it is loaded everywhere, and today's keeps the names of its versions. test_elf.py holds that
 * nothing is missing here.
 *
 *   cc -shared -nostdlib -fPIC -Isrc -Wl,-soname,libdl.so.2 -Wl,--version-script,older_libraries.map -DOF_LIBDL older_libraries.c
 */
#include "portable/glibc_versions.h"

/* Not as the version that names without one mean: that is the function which older_glibc.c has in its place. */
#define HAD(name, x86_64_version) \
    void had_##name(void);        \
    void had_##name(void) {}      \
    __asm__(".symver had_" #name ", " #name "@" SINCE(x86_64_version));

#if defined(OF_LIBDL)
HAD(dlopen, "2.2.5")
HAD(dlclose, "2.2.5")
HAD(dlerror, "2.2.5")
HAD(dlsym, "2.2.5")
HAD(dladdr, "2.2.5")
HAD(dladdr1, "2.3.3")
HAD(dlinfo, "2.3.3")
#else
HAD(pthread_create, "2.2.5")
HAD(pthread_join, "2.2.5")
HAD(pthread_detach, "2.2.5")
HAD(pthread_once, "2.2.5")
HAD(pthread_key_create, "2.2.5")
HAD(pthread_key_delete, "2.2.5")
HAD(pthread_getspecific, "2.2.5")
HAD(pthread_setspecific, "2.2.5")
HAD(pthread_rwlock_rdlock, "2.2.5")
HAD(pthread_rwlock_wrlock, "2.2.5")
HAD(pthread_rwlock_unlock, "2.2.5")
HAD(pthread_mutex_trylock, "2.2.5")
HAD(pthread_testcancel, "2.2.5")
HAD(pthread_sigmask, "2.2.5")
HAD(pthread_kill, "2.2.5")
HAD(pthread_setname_np, "2.12")
HAD(pthread_getaffinity_np, "2.3.4")
HAD(pthread_setaffinity_np, "2.3.4")
#endif
