/* SPDX-License-Identifier: BSD-3-Clause */
/* As older_glibc.c, for programs alone: their first instructions call __libc_start_main, which before 2.34 left it to the program to run its
 * own constructors. So the old version is told a function that does; glibc of today calls it just as that of then. */
#include <stddef.h>

#include "portable/glibc_versions.h"

typedef int main_function(int, char**, char**);
typedef void constructor(int, char**, char**);

/* NOLINTBEGIN(readability-identifier-naming): names of the linker and of glibc */
extern constructor* const __init_array_start[] __attribute__((visibility("hidden")));
extern constructor* const __init_array_end[] __attribute__((visibility("hidden")));

static void run_constructors(int argc, char** argv, char** environment) {
    for (constructor* const* next = __init_array_start; next != __init_array_end; ++next)
        (*next)(argc, argv, environment);
}

extern int older_start(main_function* main, int argc, char** argv, constructor* init, void (*fini)(void),
                       void (*loader_fini)(void), void* stack_end);
__asm__(".symver older_start, __libc_start_main@" SINCE("2.2.5"));

__attribute__((visibility("hidden"))) int __libc_start_main(main_function* main, int argc, char** argv,
                                                            constructor* init, void (*fini)(void),
                                                            void (*loader_fini)(void), void* stack_end) {
    (void)init;
    return older_start(main, argc, argv, run_constructors, fini, loader_fini, stack_end);
}
/* NOLINTEND(readability-identifier-naming) */
