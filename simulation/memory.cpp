// SPDX-License-Identifier: BSD-3-Clause
// Objects of up to 32 bytes lie side by side, in memory of their own. SimGrid keeps all short messages under way in one list and
// goes through the whole of it for each that arrives; the elements of that list are such objects. Spread over the gigabytes that
// 32,768 ranks take, each of them costs the CPU a page it does not know; side by side they stay in its cache.
//
// No locks: one thread runs all ranks.
#include "memory.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <new>

namespace hcoll::simulation {

namespace {

constexpr std::size_t longest = 32;
constexpr std::size_t grain = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
constexpr std::size_t sizes = longest / grain;
constexpr std::size_t reserved = std::size_t{16} << 30;  // addresses for objects of a size; memory only as they come

struct Free {
    Free* next;
};

struct Objects {
    std::byte* begin = nullptr;
    std::size_t used = 0;
    Free* free = nullptr;
};

constinit std::array<Objects, sizes> objects;
constinit std::byte* all_objects = nullptr;
constinit std::span<std::byte> shared;
constinit std::size_t smallest_shared = std::numeric_limits<std::size_t>::max();

bool is_in(const void* object, const std::byte* begin, std::size_t bytes) {
    const auto* place = static_cast<const std::byte*>(object);
    return begin != nullptr && place >= begin && place < begin + bytes;
}

// Once: where addresses are limited, all is left to malloc.
bool reserve() {
    static bool is_refused = false;
    if (is_refused) return false;
    void* memory =
        mmap(nullptr, sizes * reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    is_refused = memory == MAP_FAILED;
    if (is_refused) return false;
    all_objects = static_cast<std::byte*>(memory);
    for (std::size_t size = 0; size < sizes; ++size) objects[size].begin = all_objects + size * reserved;
    return true;
}

// Null where there is no room left.
void* small_object(std::size_t bytes) {
    const std::size_t size = bytes == 0 ? 0 : (bytes - 1) / grain;
    Objects& those = objects[size];
    if (those.free != nullptr) {
        Free* object = those.free;
        those.free = object->next;
        return object;
    }
    const std::size_t taken = (size + 1) * grain;
    if (those.used + taken > reserved || (all_objects == nullptr && !reserve())) return nullptr;
    void* object = those.begin + those.used;
    those.used += taken;
    return object;
}

void* allocate(std::size_t bytes) {
    void* object = bytes <= longest ? small_object(bytes) : nullptr;
    if (object == nullptr) object = std::malloc(bytes == 0 ? 1 : bytes);
    if (object == nullptr) throw std::bad_alloc();
    return object;
}

void release(void* object) {
    if (!is_in(object, all_objects, sizes * reserved)) return std::free(object);
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(object) - all_objects);
    Objects& those = objects[offset / reserved];
    those.free = new (object) Free{those.free};
}

}  // namespace

void share_arrays(std::span<std::byte> memory, std::size_t smallest) {
    shared = memory;
    smallest_shared = smallest;
}

}  // namespace hcoll::simulation

using namespace hcoll::simulation;

void* operator new(std::size_t bytes) { return allocate(bytes); }
void operator delete(void* object) noexcept { release(object); }
void operator delete(void* object, std::size_t) noexcept { release(object); }

void* operator new[](std::size_t bytes) {
    return bytes >= smallest_shared && bytes <= shared.size() ? shared.data() : allocate(bytes);
}
void operator delete[](void* array) noexcept {
    if (!is_in(array, shared.data(), shared.size())) release(array);
}
void operator delete[](void* array, std::size_t) noexcept { operator delete[](array); }
