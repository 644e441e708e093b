// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of one node share.
//
// It is an anonymous file (memfd): it has no name in /dev/shm that a killed job could leave behind, and does not depend on
// the size of /dev/shm. Others open it through the creator's /proc entry; its name, its size and a number drawn by the
// creator tell whether it is the one that was meant, and not that of a process in another container or on another host. Where they may not, it
// can be handed to them (handed_segment.hpp).
//
// Where the system never promises more memory than it has (vm.overcommit_memory=2), it promises none for such a file until a
// page is touched, and a rank would get SIGBUS. There each rank reserves its own part beforehand.
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

// Pages belong to the NUMA node of the rank that writes them first. Functions return 0 or an errno.
class SharedSegment {
public:
    SharedSegment() = default;
    SharedSegment(SharedSegment&& other) noexcept;
    SharedSegment& operator=(SharedSegment&& other) noexcept;
    SharedSegment(const SharedSegment&) = delete;
    SharedSegment& operator=(const SharedSegment&) = delete;
    ~SharedSegment();

    // After an error they hold nothing. The memory is zero, but for the first `reserved` bytes.
    int create(std::size_t bytes);
    int open(const SegmentAddress& address);
    // The same by a descriptor, which is its own from then on, also after an error.
    int adopt(int descriptor, const SegmentAddress& address);
    // Does the system promise no more memory than it has?
    static bool must_reserve();
    // Has this process a limit of its address space (RLIMIT_AS), and is that more than a small part of it?
    static bool is_much_of_address_space(std::size_t bytes);
    // Makes sure of the memory of a part that this process will write; before the descriptor is closed.
    int reserve(std::size_t offset, std::size_t bytes);
    // For this process.
    int make_read_only();
    // Once all that will have opened it have done so.
    void close_descriptor();

    const SegmentAddress& address() const { return address_; }
    int descriptor() const { return descriptor_; }
    std::byte* data() const { return data_; }

    static constexpr std::size_t reserved = 64;

private:
    int map();
    void release();

    SegmentAddress address_;
    int descriptor_ = -1;
    std::byte* data_ = nullptr;
};

}  // namespace hcoll
