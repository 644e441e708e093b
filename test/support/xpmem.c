/* SPDX-License-Identifier: BSD-3-Clause */
/* A libxpmem for tests in which the ranks are threads of one process: what is attached is there already. It keeps count, and
 * refuses where HCOLL_TEST_REFUSE_XPMEM names the function. */
#include <stdlib.h>
#include <string.h>

struct xpmem_addr {
    long long apid;
    long long offset;
};

static int attachments;

int xpmem_test_attachments(void);
long long xpmem_make(void* address, size_t bytes, int permit_type, void* permit_value);
int xpmem_remove(long long segment);
long long xpmem_get(long long segment, int flags, int permit_type, void* permit_value);
int xpmem_release(long long access);
void* xpmem_attach(struct xpmem_addr address, size_t bytes, void* where);
int xpmem_detach(void* address);

static int refuses(const char* function) {
    const char* refused = getenv("HCOLL_TEST_REFUSE_XPMEM");
    return refused != NULL && strcmp(refused, function) == 0;
}

int xpmem_test_attachments(void) { return __atomic_load_n(&attachments, __ATOMIC_RELAXED); }

long long xpmem_make(void* address, size_t bytes, int permit_type, void* permit_value) {
    (void)address;
    (void)bytes;
    (void)permit_type;
    (void)permit_value;
    return refuses("make") ? -1 : 7;
}

int xpmem_remove(long long segment) { return segment == 7 ? 0 : -1; }

long long xpmem_get(long long segment, int flags, int permit_type, void* permit_value) {
    (void)flags;
    (void)permit_type;
    (void)permit_value;
    return segment != 7 || refuses("get") ? -1 : 8;
}

int xpmem_release(long long access) { return access == 8 ? 0 : -1; }

void* xpmem_attach(struct xpmem_addr address, size_t bytes, void* where) {
    (void)where;
    if (address.apid != 8 || address.offset % 4096 != 0 || bytes % 4096 != 0 || refuses("attach")) return (void*)-1;
    __atomic_add_fetch(&attachments, 1, __ATOMIC_RELAXED);
    return (void*)address.offset;
}

int xpmem_detach(void* address) {
    if ((unsigned long long)address % 4096 != 0) return -1;
    __atomic_sub_fetch(&attachments, 1, __ATOMIC_RELAXED);
    return 0;
}
