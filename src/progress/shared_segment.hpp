// Memory that the processes of one node share.
//
// It is an anonymous file (memfd): it has no name in /dev/shm that a killed job could leave behind, it does not depend on
// the size of /dev/shm, and no write to it can raise SIGBUS. Others open it through the creator's /proc entry; a number
// drawn by the creator, at the beginning of the memory, tells whether it is the one that was meant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hcoll {

// What the creator tells the others.
struct SegmentAddress {
    std::uint64_t process = 0;
    std::uint64_t descriptor = 0;
    std::uint64_t bytes = 0;
    std::uint64_t secret = 0;
};

// Pages belong to the NUMA node of the rank that writes them first.
class SharedSegment {
public:
    SharedSegment() = default;
    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;
    ~SharedSegment();

    // Each returns 0 or an errno, and then holds nothing. The memory is zero, but for the first `reserved` bytes.
    int create(std::size_t bytes);
    int open(const SegmentAddress& address);
    // The creator, once all that will have opened it have done so.
    void close_descriptor();

    const SegmentAddress& address() const { return address_; }
    std::byte* data() const { return data_; }

    static constexpr std::size_t reserved = 64;

private:
    int map(int descriptor);
    void release();

    SegmentAddress address_;
    int descriptor_ = -1;
    std::byte* data_ = nullptr;
};

}  // namespace hcoll
