/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the host may not touch, as a GPU's: what a program is given cannot be read or written, and another mapping of it is
   where copies go. For stand-ins of GPU runtimes (fake_cuda.c, fake_hip.c). */
#ifndef HCOLL_TEST_FAKE_DEVICE_H
#define HCOLL_TEST_FAKE_DEVICE_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most_allocations = 4096 };
static struct {
    char* device;
    char* host;
    size_t bytes;
} allocations[most_allocations];
static int allocation_count;
static pthread_mutex_t allocation_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Where the host reaches that address; NULL where it is not the device's. */
static char* host_of(const void* address) {
    char* found = NULL;
    pthread_mutex_lock(&allocation_mutex);
    for (int i = 0; i < allocation_count; ++i) {
        const char* first = allocations[i].device;
        if ((const char*)address >= first && (const char*)address < first + allocations[i].bytes)
            found = allocations[i].host + ((const char*)address - first);
    }
    pthread_mutex_unlock(&allocation_mutex);
    return found;
}

/* Real runtimes take many ticks of the system's clock from when they are loaded until they give memory. */
static void start(void) {
    struct timespec begin;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &begin);
    do clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    while (now.tv_nsec == begin.tv_nsec && now.tv_sec == begin.tv_sec);
}

static void* allocate(size_t bytes) {
    static pthread_once_t started = PTHREAD_ONCE_INIT;
    pthread_once(&started, start);
    const int file = memfd_create("device", 0);
    void* device = NULL;
    if (file < 0) return NULL;
    if (ftruncate(file, (off_t)bytes) == 0) {
        device = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, file, 0);
        char* host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        pthread_mutex_lock(&allocation_mutex);
        if (device == MAP_FAILED || (void*)host == MAP_FAILED || allocation_count == most_allocations) {
            device = NULL;
        } else {
            allocations[allocation_count].device = device;
            allocations[allocation_count].host = host;
            allocations[allocation_count].bytes = bytes;
            ++allocation_count;
        }
        pthread_mutex_unlock(&allocation_mutex);
    }
    close(file);
    return device;
}

static void copy(void* to, const void* from, size_t bytes) {
    char* target = host_of(to);
    const char* source = host_of(from);
    memcpy(target != NULL ? target : (char*)to, source != NULL ? source : (const char*)from, bytes);
}

#endif
