// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/waiting.hpp"

#include <bit>

#include "base/wait_note.hpp"
#include "progress/engine/cancellation.hpp"
#include "progress/engine/step_trace.hpp"
#include "progress/node/futex.hpp"
#include "progress/node/turns.hpp"

namespace hcoll {

namespace {

static_assert(sizeof(std::atomic<std::uint64_t>) == 8 && std::atomic<std::uint64_t>::is_always_lock_free);

constexpr int turns_between_looks = 256;
constexpr int spins_between_drives = 4000;  // not reached where nobody else runs there

// Those that change with every raise.
std::atomic<std::uint32_t>& low_half(Flag& flag) {
    auto* halves = reinterpret_cast<std::atomic<std::uint32_t>*>(&flag.value);
    return std::endian::native == std::endian::little ? halves[0] : halves[1];
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

// Once: those that sleep may take long to get a core, and it may be raised again meanwhile.
void wake(Flag& flag) {
    if (flag.sleepers.exchange(0, std::memory_order_seq_cst) != 0) wake_at(low_half(flag));
}

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

void Waiting::give_up_like_others() {
    look_at_peers();
    give_up(NodeBreak::unwound);
}

void Waiting::throw_again() const { throw NodeFailure(failure_); }

void Waiting::look_at_peers() {
    if (peers_ == nullptr) return;
    if (const NodeBreak why = peers_->look(); why != NodeBreak::none) give_up(why);
}

// With a core of its own a rank may have to answer the others all the while: a message that was begun before, or one-sided communication
// on its memory, goes on only where it looks at the MPI library, which polls in its own calls, too. Sleeping would have the others wait.
// Returns false where the core is somebody else's, too.
bool Waiting::poll(Flag& flag, std::uint64_t value) {
    for (std::int64_t i = 1;; ++i) {
        const std::int64_t turn = give_turn();
        spins_.gave_turn(turn);
        if (flag.value.load(std::memory_order_acquire) >= value) return true;
        if (core_.is_taken(turn)) return false;
        if (i % turns_between_drives_of_own_core == 0) drive();
        if (i % turns_between_looks == 0) {
            CancellationAtPoints::here();
            look_at_peers();
        }
    }
}

void Waiting::wait(Flag& flag, std::uint64_t value) {
    for (int i = 1; i <= spins_.now(); ++i) {
        pause();
        if (flag.value.load(std::memory_order_acquire) >= value) {
            spins_.succeeded();
            return;
        }
        if (i % spins_between_drives != 0) continue;
        const CancellationAtPoints cancellation;
        drive();
    }
    spins_.were_in_vain();
    WaitNote* note = WaitNote::current();
    StepTrace* trace = StepTrace::current();
    if (areas_ == nullptr || (note == nullptr && trace == nullptr)) return wait_long(flag, value);
    const std::ptrdiff_t offset = reinterpret_cast<const std::byte*>(&flag) - areas_;
    const int rank = static_cast<int>(offset / static_cast<std::ptrdiff_t>(area_bytes_));
    if (note != nullptr) note->set({.what = WaitNote::What::flag, .rank = rank});
    const StepTrace::Id traced = trace == nullptr ? StepTrace::none : trace->begin_wait(rank);
    wait_long(flag, value);
    if (note != nullptr) note->clear();
    if (trace != nullptr) trace->end(traced);
}

void Waiting::wait_long(Flag& flag, std::uint64_t value) {
    const CancellationAtPoints cancellation;
    if (core_.is_likely() && poll(flag, value)) return;
    for (int i = 1, vain = 0; i <= most_turns && vain <= most_vain_turns_; ++i) {
        const std::int64_t turn = give_turn();
        spins_.gave_turn(turn);
        vain = turn >= shortest_turn ? 0 : vain + 1;
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        if (i % turns_between_drives == 0) drive();
    }
    for (Sleeps sleeps;;) {
        flag.sleepers.store(1, std::memory_order_seq_cst);
        const std::uint64_t seen = flag.value.load(std::memory_order_seq_cst);
        if (seen < value) wait_at(low_half(flag), static_cast<std::uint32_t>(seen), sleeps.next_nanoseconds());
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        CancellationAtPoints::here();
        drive();
        look_at_peers();
    }
}

}  // namespace hcoll
