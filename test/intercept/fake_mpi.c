/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI library that only says what it was called with: what the entry code of libhcoll.so must leave untouched, and
 * libraries that libhcoll does not know. FAKE_TEXT is its version; FAKE_ABI, a number, makes it one of the
 * standard ABI, of that major version; with FAKE_OBJECTS it has what is a handle in Open MPI's. With FAKE_STAND_IN it has MPI_ names
 * alone, and no version: what serial programs are linked to in place of MPI.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef FAKE_STAND_IN
#define PROFILED static
#else
#define PROFILED
#endif

#ifdef FAKE_TEXT
int PMPI_Get_library_version(char* text, int* length) {
    strcpy(text, FAKE_TEXT);
    *length = (int)strlen(text);
    return 0;
}
#endif

#ifdef FAKE_OBJECTS
char ompi_mpi_comm_world[512];
#endif

#ifdef FAKE_ABI
int PMPI_Abi_get_version(int* major, int* minor) {
    *major = FAKE_ABI;
    *minor = 0;
    return 0;
}
#endif

PROFILED int PMPI_Bcast(void* buffer, int count, long type, int root, long comm) {
    printf("Bcast %p %d %ld %d %ld\n", buffer, count, type, root, comm);
    return 11;
}
int MPI_Bcast(void* buffer, int count, long type, int root, long comm) __attribute__((weak, alias("PMPI_Bcast")));

/* The seventh argument travels on the stack of x86-64. */
PROFILED int PMPI_Reduce(const void* send, void* receive, int count, long type, long op, int root, long comm) {
    printf("Reduce %p %p %d %ld %ld %d %ld\n", send, receive, count, type, op, root, comm);
    return 12;
}
int MPI_Reduce(const void* send, void* receive, int count, long type, long op, int root, long comm)
    __attribute__((weak, alias("PMPI_Reduce")));

/* As a tool might take it: a text and a number of seconds. */
PROFILED int PMPI_Pcontrol(const int level, ...) {
    va_list arguments;
    va_start(arguments, level);
    if (level == 7) {
        const char* text = va_arg(arguments, const char*);
        const double seconds = va_arg(arguments, double);
        printf("Pcontrol %d %s %.3f\n", level, text, seconds);
    } else {
        printf("Pcontrol %d\n", level);
    }
    va_end(arguments);
    return 0;
}
int MPI_Pcontrol(const int level, ...) __attribute__((weak, alias("PMPI_Pcontrol")));
