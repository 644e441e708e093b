// SPDX-License-Identifier: BSD-3-Clause
// What code compiled with -fsanitize=thread calls for each of its accesses, for the model checker instead of the sanitizer; and the functions of
// the system that it waits with (the linker's --wrap: CMakeLists.txt).
//
// Outside of the threads of a program (in set_up() and at_end(), say) everything is as without.
#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/check.hpp"
#include "model_checker.hpp"
#include "progress/node/futex.hpp"
#include "progress/node/turns.hpp"

namespace model = hcoll::model;

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler's names
namespace {

model::Order order_of(int order) {
    return {.acquires = order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
                        order == __ATOMIC_SEQ_CST,
            .releases = order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST};
}

template <typename Value>
model::Location location_of(const volatile Value* place) {
    return reinterpret_cast<model::Location>(place);
}

template <typename Value, typename Change>
Value change(volatile Value* place, int order, const void* caller, Change&& change) {
    return static_cast<Value>(
        model::change(location_of(place), sizeof(Value), order_of(order), caller,
                      [&](std::uint64_t before) { return static_cast<Value>(change(static_cast<Value>(before))); }));
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define ACCESS(bytes)                                                                    \
    void __tsan_read##bytes(void* place) { model::read_memory(place, bytes); }           \
    void __tsan_write##bytes(void* place) { model::write_memory(place, bytes); }         \
    void __tsan_unaligned_read##bytes(void* place) { model::read_memory(place, bytes); } \
    void __tsan_unaligned_write##bytes(void* place) { model::write_memory(place, bytes); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#undef ACCESS
void __tsan_read_range(void* place, unsigned long bytes) { model::read_memory(place, bytes); }
void __tsan_write_range(void* place, unsigned long bytes) { model::write_memory(place, bytes); }

#define ATOMIC(bits, Value)                                                                                            \
    Value __tsan_atomic##bits##_load(const volatile Value* place, int order) {                                         \
        if (!model::is_running()) return __atomic_load_n(place, __ATOMIC_SEQ_CST);                                     \
        return static_cast<Value>(                                                                                     \
            model::load(location_of(place), sizeof(Value), order_of(order), __builtin_return_address(0)));             \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile Value* place, Value value, int order) {                                  \
        if (!model::is_running()) return __atomic_store_n(place, value, __ATOMIC_SEQ_CST);                             \
        model::store(location_of(place), sizeof(Value), value, order_of(order), __builtin_return_address(0));          \
    }                                                                                                                  \
    Value __tsan_atomic##bits##_exchange(volatile Value* place, Value value, int order) {                              \
        if (!model::is_running()) return __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST);                          \
        return change(place, order, __builtin_return_address(0), [&](Value) { return value; });                        \
    }                                                                                                                  \
    Value __tsan_atomic##bits##_fetch_add(volatile Value* place, Value value, int order) {                             \
        if (!model::is_running()) return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);                           \
        return change(place, order, __builtin_return_address(0), [&](Value before) { return before + value; });        \
    }                                                                                                                  \
    Value __tsan_atomic##bits##_fetch_sub(volatile Value* place, Value value, int order) {                             \
        if (!model::is_running()) return __atomic_fetch_sub(place, value, __ATOMIC_SEQ_CST);                           \
        return change(place, order, __builtin_return_address(0), [&](Value before) { return before - value; });        \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile Value* place, Value* expected, Value desired,           \
                                                      int order, int on_failure) {                                     \
        if (!model::is_running())                                                                                      \
            return __atomic_compare_exchange_n(place, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
        const auto before = static_cast<Value>(model::compare_exchange(location_of(place), sizeof(Value), *expected,   \
                                                                       desired, order_of(order), order_of(on_failure), \
                                                                       __builtin_return_address(0)));                  \
        if (before == *expected) return 1;                                                                             \
        *expected = before;                                                                                            \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile Value* place, Value* expected, Value desired, int order,  \
                                                    int on_failure) {                                                  \
        return __tsan_atomic##bits##_compare_exchange_strong(place, expected, desired, order, on_failure);             \
    }
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
#undef ATOMIC

void __tsan_atomic_thread_fence(int) { hcoll::stop("fences are not modelled"); }
void __tsan_atomic_signal_fence(int) {}

// ---- memory ----

void* __real_memcpy(void* target, const void* source, std::size_t bytes);
void* __wrap_memcpy(void* target, const void* source, std::size_t bytes) {
    model::read_memory(source, bytes);
    model::write_memory(target, bytes);
    return __real_memcpy(target, source, bytes);
}
void* __real_memmove(void* target, const void* source, std::size_t bytes);
void* __wrap_memmove(void* target, const void* source, std::size_t bytes) {
    model::read_memory(source, bytes);
    model::write_memory(target, bytes);
    return __real_memmove(target, source, bytes);
}
int __real_memcmp(const void* one, const void* other, std::size_t bytes);
int __wrap_memcmp(const void* one, const void* other, std::size_t bytes) {
    model::read_memory(one, bytes);
    model::read_memory(other, bytes);
    return __real_memcmp(one, other, bytes);
}
void* __real_memset(void* target, int value, std::size_t bytes);
void* __wrap_memset(void* target, int value, std::size_t bytes) {
    model::write_memory(target, bytes);
    return __real_memset(target, value, bytes);
}

// ---- what threads wait with ----

// A mutex is a word in its memory: 0 where nobody has it.
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
    if (!model::is_running()) return __real_pthread_mutex_lock(mutex);
    auto* word = reinterpret_cast<std::uint32_t*>(mutex);
    const model::Order order{.acquires = true, .releases = false};
    while (model::compare_exchange(location_of(word), sizeof *word, 0, 1, order, order, nullptr) != 0)
        model::give_turn();
    return 0;
}
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
    if (!model::is_running()) return __real_pthread_mutex_unlock(mutex);
    auto* word = reinterpret_cast<std::uint32_t*>(mutex);
    model::store(location_of(word), sizeof *word, 0, {.acquires = false, .releases = true}, nullptr);
    return 0;
}

int __wrap_sched_yield() {
    if (model::is_running()) model::give_turn();
    return 0;
}

// A condition is a count of what has been notified, in its memory.
void __wrap__ZNSt18condition_variable10notify_oneEv(std::condition_variable* condition) {
    auto* word = reinterpret_cast<std::uint32_t*>(condition);
    if (model::is_running())
        model::change(location_of(word), sizeof *word, {}, nullptr, [](std::uint64_t before) { return before + 1; });
}
void __wrap__ZNSt18condition_variable10notify_allEv(std::condition_variable* condition) {
    __wrap__ZNSt18condition_variable10notify_oneEv(condition);
}
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* condition,
                                                                      std::unique_lock<std::mutex>* lock) {
    hcoll::check(model::is_running(), "only threads of a program wait");
    auto* word = reinterpret_cast<std::uint32_t*>(condition);
    const std::uint64_t before = model::load(location_of(word), sizeof *word, {}, nullptr);
    lock->unlock();
    while (model::load(location_of(word), sizeof *word, {}, nullptr) == before) model::give_turn();
    lock->lock();
}
int __wrap_pthread_cond_clockwait(pthread_cond_t* /*condition*/, pthread_mutex_t* mutex, clockid_t /*clock*/,
                                  const timespec* /*until*/) {
    hcoll::check(model::is_running(), "only threads of a program wait");
    __wrap_pthread_mutex_unlock(mutex);
    model::give_turn();
    model::pass_time();
    __wrap_pthread_mutex_lock(mutex);
    return ETIMEDOUT;
}

// ---- time, which passes where a thread has waited for it, or a program says so ----

std::chrono::steady_clock::time_point __real__ZNSt6chrono3_V212steady_clock3nowEv();
std::chrono::steady_clock::time_point __wrap__ZNSt6chrono3_V212steady_clock3nowEv() {
    if (!model::is_running()) return __real__ZNSt6chrono3_V212steady_clock3nowEv();
    return std::chrono::steady_clock::time_point() + std::chrono::hours(model::hour());
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

namespace {

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (model::is_running()) return model::allocate(bytes, alignment);
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    hcoll::check(memory != nullptr, "no memory");
    return memory;
}
// What is freed is as good as written: nobody may use it any more. (Those of unknown length are at least a word.)
void release(void* memory, std::size_t bytes = sizeof(std::uint64_t)) noexcept {
    if (model::is_allocated(memory))
        model::write_memory(memory, bytes);
    else
        std::free(memory);
}
constexpr std::size_t usual = alignof(std::max_align_t);

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t bytes) noexcept { release(memory, bytes); }
void operator delete[](void* memory, std::size_t bytes) noexcept { release(memory, bytes); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t bytes, std::align_val_t) noexcept { release(memory, bytes); }
void operator delete[](void* memory, std::size_t bytes, std::align_val_t) noexcept { release(memory, bytes); }

namespace hcoll {

// Instead of turns.cpp and futex.cpp. As long as a turn of a core that ranks share: no rank sleeps because of it.
std::int64_t give_turn() {
    model::give_turn();
    return shortest_turn;
}
void wait_at(std::atomic<std::uint32_t>& /*word*/, std::uint32_t /*seen*/, long /*nanoseconds*/) { model::give_turn(); }
void wake_at(std::atomic<std::uint32_t>& /*word*/) {}

}  // namespace hcoll
