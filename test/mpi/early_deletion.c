/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH with a habit of Open MPI's (5.0 and newer): MPI_Finalize deletes the attributes of MPI_COMM_SELF although a session is left. A profiling
 * tool that is preloaded after libhcoll, and looks for those that it has not set itself: keys are numbers there that follow one another.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

enum { REACH = 256 };

int MPI_Finalize(void) {
    int last = MPI_KEYVAL_INVALID;
    int deleted = 0;
    PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &last, NULL);
    for (int key = last - REACH; key < last + REACH; ++key) {
        void* value = NULL;
        int is_there = 0;
        if (key != last && PMPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &is_there) == MPI_SUCCESS && is_there)
            deleted += PMPI_Comm_delete_attr(MPI_COMM_SELF, key) == MPI_SUCCESS;
    }
    PMPI_Comm_free_keyval(&last);
    printf("early_deletion: attributes=%d\n", deleted);
    fflush(stdout);
    return ((int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize"))();
}
