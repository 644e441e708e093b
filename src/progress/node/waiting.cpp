#include "progress/node/waiting.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <ctime>

#include "progress/engine/cancellation.hpp"

namespace hcoll {

namespace {

static_assert(sizeof(std::atomic<std::uint64_t>) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

// Those that change with every raise.
std::uint32_t* low_half(Flag& flag) {
    auto* halves = reinterpret_cast<std::uint32_t*>(&flag.value);
    return std::endian::native == std::endian::little ? halves : halves + 1;
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A yield that took fewer nanoseconds gave nobody a turn.
constexpr std::int64_t shortest_turn = 1000;

}  // namespace

void wake(Flag& flag) { syscall(SYS_futex, low_half(flag), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

void Waiting::drive() {
    BreakOnUnwinding guard(*this);
    const Status status = progress_(context_);
    guard.end();
    if (status != 0) give_up(NodeBreak::vendor, status);
}

void Waiting::break_off(NodeBreak why, Status status) noexcept {
    if (failure_.why != NodeBreak::none) return;
    failure_ = {why, status};
    if (peers_ != nullptr) peers_->give_up(why);
}

void Waiting::give_up(NodeBreak why, Status status) {
    break_off(why, status);
    throw_again();
}

void Waiting::throw_again() const { throw NodeFailure(failure_); }

void Waiting::look_at_peers() {
    if (peers_ == nullptr) return;
    if (const NodeBreak why = peers_->look(); why != NodeBreak::none) give_up(why);
}

void Waiting::wait(Flag& flag, std::uint64_t value) {
    for (int i = 0; i < spins_; ++i) {
        pause();
        if (flag.value.load(std::memory_order_acquire) < value) continue;
        spins_ = std::min(spins_ + spins_ / 4, most_spins_);
        return;
    }
    spins_ = std::max(spins_ / 2, fewest_spins_);
    const CancellationAtPoints cancellation;
    constexpr int most_yields = 2000;
    constexpr int yields_between_drives = 16;
    for (int i = 1, vain = 0; i <= most_yields && vain <= most_vain_yields_; ++i) {
        const std::int64_t before = now();
        sched_yield();
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        vain = now() - before < shortest_turn ? vain + 1 : 0;
        // Looking at the MPI library costs more than a yield.
        if (i % yields_between_drives == 0) drive();
    }
    constexpr long shortest_nanoseconds = 20'000;
    constexpr long longest_nanoseconds = 100'000;
    for (long nanoseconds = shortest_nanoseconds;; nanoseconds = std::min(2 * nanoseconds, longest_nanoseconds)) {
        flag.sleepers.fetch_add(1, std::memory_order_seq_cst);
        const std::uint64_t seen = flag.value.load(std::memory_order_seq_cst);
        const timespec timeout{.tv_sec = 0, .tv_nsec = nanoseconds};
        if (seen < value)
            syscall(SYS_futex, low_half(flag), FUTEX_WAIT, static_cast<std::uint32_t>(seen), &timeout, nullptr, 0);
        flag.sleepers.fetch_sub(1, std::memory_order_relaxed);
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        CancellationAtPoints::here();
        drive();
        look_at_peers();
    }
}

}  // namespace hcoll
