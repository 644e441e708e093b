/* SPDX-License-Identifier: BSD-3-Clause */
/* What the stub (libhcoll.so) and a backend (libhcoll-<flavour>.so) know of each other. */
#ifndef HCOLL_INTERCEPT_BACKEND_H
#define HCOLL_INTERCEPT_BACKEND_H

#ifdef __cplusplus
extern "C" {
#endif

enum hcoll_function {
#define HCOLL_FUNCTION(name) HCOLL_FUNCTION_##name,
#define HCOLL_LEVEL_FUNCTION(name) HCOLL_FUNCTION_##name,
#define HCOLL_EXTENSION_FUNCTION(name) HCOLL_EXTENSION_FUNCTION_##name,
#include "intercept/entry/functions.def"
#undef HCOLL_EXTENSION_FUNCTION
#undef HCOLL_FUNCTION
#undef HCOLL_LEVEL_FUNCTION
    HCOLL_FUNCTION_COUNT
};

/* The MPI library of this process. */
struct hcoll_vendor {
    void* handle;              /* of dlopen: dlsym on it finds every PMPI_ function that this MPI has */
    const char* path;          /* of the object that the handle names */
    const char* version_text;  /* of MPI_Get_library_version */
    void (*stand_aside)(void); /* makes every interposed function jump straight to the MPI library; may be NULL */
    void (*set_wrapper)(int function, void* wrapper); /* has an interposed function reach another wrapper from now on */
    void (*say_of_node)(const char* line);            /* on the job's first rank, and on each node's; may be NULL */
    /* By function, what calls that are passed on go to instead of the MPI library; NULL where to the MPI library. */
    void* tools_below[HCOLL_FUNCTION_COUNT];
};

struct hcoll_backend {
    void* wrappers[HCOLL_FUNCTION_COUNT]; /* the functions that the slots of PMPI_ jump to; none is NULL */
    /* For hcoll-info: initializes MPI, gathers every rank's place and writes all of it as JSON text, for the caller to
     * free, on rank 0 (NULL on the others); finalizes MPI. Returns 0 or an MPI error code. */
    int (*describe_job)(char** json_text);
};

/* The two symbols that a backend exports. A text: HCOLL_BUILD (cmake/build.h.in) of the backend. Whoever loads it compares that with its own before
 * anything else, since structures may differ: libraries of two builds do not meet. */
#define HCOLL_BACKEND_BUILD_NAME "hcoll_backend_build"
/* And the function. NULL, after one clear line, where this backend cannot work with this vendor. */
#define HCOLL_BACKEND_OPEN_NAME "hcoll_backend_open"
typedef const struct hcoll_backend* hcoll_backend_open_function(const struct hcoll_vendor* vendor);

#ifdef __cplusplus
}
#endif

#endif
