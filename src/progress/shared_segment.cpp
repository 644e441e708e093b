#include "progress/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

namespace hcoll {

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
    descriptor_ = memfd_create("libhcoll", MFD_CLOEXEC);
    if (descriptor_ < 0) return errno;
    address_ = {static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(descriptor_), bytes, 0};
    int problem = ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 ? map(descriptor_) : errno;
    if (problem == 0 && data_ != nullptr) {
        std::random_device random;
        address_.secret = static_cast<std::uint64_t>(random()) << 32 | random();
        std::memcpy(data_, &address_.secret, sizeof address_.secret);
    } else {
        release();
    }
    return problem;
}

int SharedSegment::open(const SegmentAddress& address) {
    release();
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%llu/fd/%llu", static_cast<unsigned long long>(address.process),
                  static_cast<unsigned long long>(address.descriptor));
    const int descriptor = ::open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return errno;
    address_ = address;
    struct stat status {};
    int problem = fstat(descriptor, &status) == 0 ? 0 : errno;
    // Another process of that number, in another namespace or on another host.
    if (problem == 0 && static_cast<std::uint64_t>(status.st_size) != address.bytes) problem = ENXIO;
    if (problem == 0) problem = map(descriptor);
    close(descriptor);
    const bool is_it = data_ != nullptr && std::memcmp(data_, &address.secret, sizeof address.secret) == 0;
    if (problem == 0 && !is_it) problem = ENXIO;
    if (problem != 0) release();
    return problem;
}

void SharedSegment::close_descriptor() {
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

int SharedSegment::map(int descriptor) {
    void* mapped = mmap(nullptr, address_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return errno;
    data_ = static_cast<std::byte*>(mapped);
    // Where the system gives huge pages to those that ask. What it answers changes nothing.
    constexpr std::size_t huge_page = 2 << 20;
    if (address_.bytes >= huge_page) (void)madvise(mapped, address_.bytes, MADV_HUGEPAGE);
    return 0;
}

void SharedSegment::release() {
    close_descriptor();
    if (data_ != nullptr) munmap(data_, address_.bytes);
    data_ = nullptr;
    address_ = {};
}

}  // namespace hcoll
