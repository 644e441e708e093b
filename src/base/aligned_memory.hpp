// SPDX-License-Identifier: BSD-3-Clause
// Memory that begins where a line or a page does.
//
// An application that brings its own malloc and free need not bring aligned_alloc, which is what the C++ runtime's aligned operator new calls: that memory would be the C library's, and free
// the application's.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace hcoll {

// `alignment` is a power of two and a multiple of the size of a pointer. Throws std::bad_alloc. Who has it frees it by free_aligned.
inline std::byte* allocate_aligned(std::size_t alignment, std::size_t bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
}

inline void free_aligned(std::byte* memory) { std::free(memory); }

}  // namespace hcoll
