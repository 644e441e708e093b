/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls the fake MPI library: fake_program [chdir] [missing]. Linked to it, or (as fake_module.so) loaded with it
 * RTLD_LOCAL, as Python loads an extension module. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern int MPI_Bcast(void*, int, long, int, long);
extern int PMPI_Bcast(void*, int, long, int, long);
extern int MPI_Reduce(const void*, void*, int, long, long, int, long);
extern int MPI_Pcontrol(const int, ...);
#ifdef CALLS_MISSING
extern int MPI_Bcast_c(void*, long, long, int, long);
#endif

int call_mpi(const char* how) {
    if (strcmp(how, "chdir") == 0 && chdir("/") != 0) return 1;
    int status = MPI_Reduce((void*)1, (void*)2, 3, 4L << 33, 5L << 34, 6, 7L << 35);
    printf("= %d\n", status);
    status = MPI_Bcast((void*)1, 2, 3, 4, 5) + PMPI_Bcast((void*)6, 7, 8, 9, 10);
    printf("= %d\n", status);
    MPI_Pcontrol(7, "text", 2.5);
    MPI_Pcontrol(484800);
    MPI_Pcontrol(484801);
    MPI_Pcontrol(484802);
    MPI_Pcontrol(484799);
#ifdef CALLS_MISSING
    fflush(stdout);
    MPI_Bcast_c((void*)1, 2, 3, 4, 5);
#endif
    fflush(stdout);
    return 0;
}

#ifndef MODULE
int main(int argc, char** argv) { return call_mpi(argc > 1 ? argv[1] : ""); }
#endif
