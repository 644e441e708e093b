// SPDX-License-Identifier: BSD-3-Clause
// Preloaded: as if the system had no memory for libhcoll, and for nobody else. The test program finds the two functions by dlsym.
//
// An allocation is the library's if the nearest function above it that is neither C++'s runtime nor the formatter's lies in a backend
// (libhcoll-*.so): a string that grows allocates inside of libstdc++. A backend may have these inside of it, operator new included, so what is
// stood in for are the C library's functions, which that calls.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unwind.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace {

// Of the thread that has asked for it.
struct Failing {
    bool is_armed = false;
    std::uint64_t seen = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};
thread_local Failing failing;

template <typename Function>
Function* next_of(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

const char* file_of(std::uintptr_t code) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(code), &info) == 0 || info.dli_fname == nullptr) return "";
    const char* slash = std::strrchr(info.dli_fname, '/');
    return slash == nullptr ? info.dli_fname : slash + 1;
}

bool begins(const char* text, const char* with) { return std::strncmp(text, with, std::strlen(with)) == 0; }

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* answer) {
    const char* file = file_of(_Unwind_GetIP(context) - 1);
    for (const char* runtime : {"libno_memory", "libstdc++", "libfmt", "libspdlog"})
        if (begins(file, runtime)) return _URC_NO_REASON;
    *static_cast<bool*>(answer) = begins(file, "libhcoll-");
    return _URC_END_OF_STACK;
}

// Does the allocation that is being made fail?
bool fails() {
    if (!failing.is_armed) return false;
    failing.is_armed = false;  // what looks at the frames may allocate, too
    bool is_ours = false;
    _Unwind_Backtrace(look_at_frame, &is_ours);
    failing.is_armed = true;
    if (!is_ours) return false;
    const std::uint64_t number = failing.seen++;
    return number >= failing.first && number - failing.first < failing.count;
}

template <typename Allocate>
void* fail_or(Allocate&& allocate) {
    if (!fails()) return allocate();
    errno = ENOMEM;
    return nullptr;
}

}  // namespace

// From now on this thread's allocations of the library fail, the number `first` (from 0) and so many in a row.
extern "C" void hcoll_test_fail_allocations(std::uint64_t first, std::uint64_t count) {
    failing = {.is_armed = true, .seen = 0, .first = first, .count = count};
}

// No longer. Returns how many there were.
extern "C" std::uint64_t hcoll_test_end_failing() {
    failing.is_armed = false;
    return failing.seen;
}

extern "C" void* malloc(std::size_t bytes) {
    static auto* next = next_of<void*(std::size_t)>("malloc");
    return fail_or([&] { return next(bytes); });
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    static auto* next = next_of<void*(std::size_t, std::size_t)>("aligned_alloc");
    return fail_or([&] { return next(alignment, bytes); });
}

extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int descriptor, off_t offset) {
    static auto* next = next_of<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    if (!fails()) return next(address, bytes, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}
