/* SPDX-License-Identifier: BSD-3-Clause */
/* What hwloc's archive, which Debian compiles for programs, needs to be a part of a library.
 *
 * Its code reaches variables of other objects as only a program's code may, asks udev about disks, and loads plugins. hwloc_names.txt gives
 * those names of its own, and here they are: the variables; no plugin (they are for GPUs and PCI, which libhcoll does
 * not ask hwloc about, and they would bring the drivers of those into the process, and a second hwloc); and a udev that knows nothing, which
 * hwloc is prepared for. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN FILE* hcoll_hwloc_stdout = NULL;
HIDDEN FILE* hcoll_hwloc_stderr = NULL;
HIDDEN char* hcoll_hwloc_program = NULL;

__attribute__((constructor)) static void fill_in(void) {
    hcoll_hwloc_stdout = stdout;
    hcoll_hwloc_stderr = stderr;
    hcoll_hwloc_program = program_invocation_name;
}

HIDDEN void* hcoll_hwloc_dlopen(const char* file, int mode) {
    (void)file;
    (void)mode;
    return NULL;
}

HIDDEN void* hcoll_hwloc_udev_new(void) { return NULL; }
HIDDEN void* hcoll_hwloc_udev_unref(void* udev) {
    (void)udev;
    return NULL;
}
HIDDEN void* hcoll_hwloc_udev_device(void* udev, const char* subsystem, const char* name) {
    (void)udev;
    (void)subsystem;
    (void)name;
    return NULL;
}
HIDDEN void* hcoll_hwloc_udev_device_unref(void* device) {
    (void)device;
    return NULL;
}
HIDDEN const char* hcoll_hwloc_udev_property(void* device, const char* name) {
    (void)device;
    (void)name;
    return NULL;
}
