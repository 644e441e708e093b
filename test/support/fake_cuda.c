/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of NVIDIA's driver: the functions by which libhcoll asks about buffers and copies them. */
#include "fake_device.h"

typedef unsigned long long Pointer;

static int context;
static __thread int pushed;

int cuMemAlloc_v2(Pointer* pointer, size_t bytes);
int cuPointerGetAttribute(void* value, int attribute, Pointer pointer);
int cuMemcpy(Pointer to, Pointer from, size_t bytes);
int cuCtxPushCurrent_v2(void* pushed_context);
int cuCtxPopCurrent_v2(void** popped);
int cuStreamSynchronize(void* stream);

enum { success = 0, invalid_value = 1, invalid_context = 201 };

int cuMemAlloc_v2(Pointer* pointer, size_t bytes) {
    *pointer = (Pointer)allocate(bytes);
    return *pointer != 0 ? success : invalid_value;
}

int cuPointerGetAttribute(void* value, int attribute, Pointer pointer) {
    if (host_of((const void*)pointer) == NULL) return invalid_value;
    if (attribute == 1) *(void**)value = &context;
    if (attribute == 2) *(unsigned int*)value = 2; /* a device's */
    if (attribute == 8) *(unsigned int*)value = 0;
    return success;
}

/* Only with a context, as the driver. */
int cuMemcpy(Pointer to, Pointer from, size_t bytes) {
    if (pushed == 0) return invalid_context;
    copy((void*)to, (const void*)from, bytes);
    return success;
}

int cuCtxPushCurrent_v2(void* pushed_context) {
    if (pushed_context != &context) return invalid_context;
    ++pushed;
    return success;
}

int cuCtxPopCurrent_v2(void** popped) {
    if (pushed == 0) return invalid_context;
    --pushed;
    *popped = &context;
    return success;
}

int cuStreamSynchronize(void* stream) { return stream == NULL && pushed != 0 ? success : invalid_context; }
