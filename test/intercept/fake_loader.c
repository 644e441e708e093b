/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows no MPI and loads a module which does: fake_loader <module>. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    void* module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (module == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*call_mpi)(const char*) = (int (*)(const char*))dlsym(module, "call_mpi");
    return call_mpi != NULL ? call_mpi("") : 1;
}
