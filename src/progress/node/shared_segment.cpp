// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/high_descriptor.hpp"

namespace hcoll {

namespace {

constexpr char name[] = "libhcoll";
constexpr char link_prefix[] = "/memfd:libhcoll";

// A file that grows beyond this limit would kill the process.
bool exceeds_file_limit(std::size_t bytes) {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

// Hardened systems refuse memory that could be executed (vm.memfd_noexec, Linux 6.3); others do not know the flag that says that it is not.
int make_memory_file() {
    constexpr unsigned int noexec_seal = 8;
    int made = memfd_create(name, MFD_CLOEXEC | noexec_seal);
    if (made < 0 && errno == EINVAL) made = memfd_create(name, MFD_CLOEXEC);
    return above_standard_streams(made);
}

}  // namespace

// Looked up once: asking takes longer than all the rest of entering a segment.
bool SharedSegment::must_reserve() {
    static const bool is_memory_strict = [] {
        std::FILE* file = std::fopen("/proc/sys/vm/overcommit_memory", "re");
        if (file == nullptr) return false;
        const int mode = std::fgetc(file);
        std::fclose(file);
        return mode == '2';
    }();
    return is_memory_strict;
}

bool SharedSegment::is_much_of_address_space(std::size_t bytes) {
    constexpr rlim_t part = 16;
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur / part;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept { *this = std::move(other); }

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
    if (this == &other) return *this;
    release();
    address_ = std::exchange(other.address_, SegmentAddress());
    descriptor_ = std::exchange(other.descriptor_, -1);
    data_ = std::exchange(other.data_, nullptr);
    return *this;
}

SharedSegment::~SharedSegment() { release(); }

int SharedSegment::create(std::size_t bytes) {
    release();
    if (exceeds_file_limit(bytes)) return EFBIG;
    descriptor_ = make_memory_file();
    if (descriptor_ < 0) return errno;
    address_ = {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(descriptor_), bytes, 0};
    int problem = getrandom(&address_.secret, sizeof address_.secret, 0) == sizeof address_.secret ? 0 : EIO;
    if (problem == 0 && ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) problem = errno;
    if (problem == 0) problem = reserve(0, reserved);
    if (problem == 0) problem = map();
    if (problem == 0 && data_ != nullptr)
        std::memcpy(data_, &address_.secret, sizeof address_.secret);
    else
        release();
    return problem;
}

int SharedSegment::open(const SegmentAddress& address) {
    release();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%llu/fd/%llu", static_cast<unsigned long long>(address.process),
                  static_cast<unsigned long long>(address.descriptor));
    // Opening somebody else's file could do something (a terminal, a device): its name is looked at first.
    char link[sizeof link_prefix] = {};
    if (readlink(path, link, sizeof link - 1) < 0) return errno;
    if (std::strcmp(link, link_prefix) != 0) return ENXIO;
    const int descriptor = above_standard_streams(::open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    return descriptor < 0 ? errno : adopt(descriptor, address);
}

int SharedSegment::adopt(int descriptor, const SegmentAddress& address) {
    release();
    descriptor_ = descriptor;
    address_ = address;
    struct stat status {};
    int problem = fstat(descriptor_, &status) == 0 ? 0 : errno;
    if (problem == 0 && (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != address.bytes))
        problem = ENXIO;
    if (problem == 0) problem = map();
    const bool is_it = data_ != nullptr && std::memcmp(data_, &address.secret, sizeof address.secret) == 0;
    if (problem == 0 && !is_it) problem = ENXIO;
    if (problem != 0) release();
    return problem;
}

int SharedSegment::reserve(std::size_t offset, std::size_t bytes) {
    if (!must_reserve()) return 0;
    // Older kernels give up where a signal comes meanwhile, and a profiler's come again and again: none comes.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    const bool are_blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
    int problem = EINTR;
    while (problem == EINTR)
        problem = fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    if (are_blocked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return problem;
}

int SharedSegment::make_read_only() { return mprotect(data_, address_.bytes, PROT_READ) == 0 ? 0 : errno; }

void SharedSegment::close_descriptor() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

int SharedSegment::map() {
    void* mapped = mmap(nullptr, address_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) return errno;
    data_ = static_cast<std::byte*>(mapped);
    // Advice, without which all works. Most of its pages are never touched: a core file would hold them all, and whoever writes it would touch them. Huge pages
    // would have those who touch a page of a room take the rooms beside it.
    (void)madvise(mapped, address_.bytes, MADV_DONTDUMP);
    (void)madvise(mapped, address_.bytes, MADV_NOHUGEPAGE);
    return 0;
}

void SharedSegment::release() {
    close_descriptor();
    if (data_ != nullptr) munmap(data_, address_.bytes);
    data_ = nullptr;
    address_ = {};
}

}  // namespace hcoll
