/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of AMD's runtime: the functions by which libhcoll asks about buffers and copies them. */
#include "fake_device.h"

struct Attributes {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
};

int hipMalloc(void** pointer, size_t bytes);
int hipPointerGetAttributes(struct Attributes* attributes, const void* pointer);
int hipMemcpy(void* to, const void* from, size_t bytes, int kind);
int hipGetLastError(void);

static int last_error;

int hipMalloc(void** pointer, size_t bytes) {
    *pointer = allocate(bytes);
    return *pointer != NULL ? 0 : 2;
}

int hipPointerGetAttributes(struct Attributes* attributes, const void* pointer) {
    if (host_of(pointer) == NULL) return last_error = 1;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = 2;
    attributes->device_pointer = (void*)pointer;
    return 0;
}

int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
    if (kind != 4) return 1;
    copy(to, from, bytes);
    return 0;
}

int hipGetLastError(void) {
    const int error = last_error;
    last_error = 0;
    return error;
}
