// SPDX-License-Identifier: BSD-3-Clause
// How a rank waits for another one's flag: it spins, then yields, then sleeps.
//
// A flag is a counter in shared memory that one rank writes and only ever raises. While the ranks of a node have a core
// each, the answer is a few cache-line transfers away: spinning costs nobody anything. Where they share cores, the rank
// that is waited for may need this very core: there a rank yields at once. Whoever waits long drives the MPI library
// meanwhile (a peer may be waiting for a message that was begun before), and then sleeps, shortly (turns.hpp).
//
// With a core of its own it does not sleep, but polls, as the MPI library does: what others want of it (one-sided communication on its memory,
// long messages that were begun before) goes on only where it looks at the MPI library.
//
// How long it spins is learned (turns.hpp): where spinning was in vain, it spins for half as long the next time. So ranks that are not
// bound, and happen to be on one core, soon give way to one another. Where ranks share cores and a yield gives nobody a turn, again
// and again, only sleeping lets the others run.
//
// Who sleeps also looks whether the others still live (node_peers.hpp): a wait ends with the flag, or with a NodeFailure.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "progress/node/node_peers.hpp"
#include "progress/node/turns.hpp"

namespace hcoll {

// `sleepers` is not 0 where somebody may sleep until it is raised. `note` comes with it, in the same line: written before it is raised.
struct Flag {
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint32_t> sleepers{0};
    std::uint32_t note{0};
};

void wake(Flag& flag);

// Raises a flag of the caller's own, and wakes those that sleep for it. What was written before is seen by whoever sees it.
inline void raise(Flag& flag, std::uint64_t value) {
    flag.value.store(value, std::memory_order_release);
    // The load may overtake the store, and miss one that is about to sleep: who sleeps looks again soon, so this path needs
    // no fence.
    if (flag.sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]]
        wake(flag);
}

// Used by one thread at a time.
class Waiting {
public:
    // `progress(context)` drives what else the process has under way, and returns its status. With `peers`, which outlive this,
    // a wait for a rank whose process is gone ends.
    Waiting(bool oversubscribed, Status (*progress)(void*), void* context, NodePeers* peers = nullptr)
        : spins_(oversubscribed),
          most_vain_turns_(oversubscribed ? most_vain_turns_shared : most_vain_turns),
          core_(oversubscribed),
          progress_(progress),
          context_(context),
          peers_(peers) {}

    // Returns once the flag is at least `value`; throws NodeFailure where it never will be, for all that can be seen.
    void until(Flag& flag, std::uint64_t value) {
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        wait(flag, value);
    }

    // Each rank's flags are in an area of so many bytes, one after another from `base` on.
    void tell_areas(const std::byte* base, std::size_t bytes) {
        areas_ = base;
        area_bytes_ = bytes;
    }

    // Drives what else the process has under way. Throws NodeFailure where that fails.
    void drive();
    bool is_oversubscribed() const { return core_.is_oversubscribed(); }

    // Throws what was thrown before, if anything was: nothing can be waited for any more.
    void check() const {
        if (failure_.why != NodeBreak::none) [[unlikely]]
            throw_again();
    }
    // Gives up, and tells the others; the first reason stays.
    void break_off(NodeBreak why, Status status = 0) noexcept;
    [[noreturn]] void give_up(NodeBreak why, Status status = 0);
    // For the reason that another rank had.
    [[noreturn]] void give_up_like_others();
    bool is_gone(int rank) const { return peers_ != nullptr && peers_->is_gone(rank); }

private:
    void wait(Flag& flag, std::uint64_t value);
    void wait_long(Flag& flag, std::uint64_t value);
    bool poll(Flag& flag, std::uint64_t value);
    void look_at_peers();
    [[noreturn]] void throw_again() const;

    Spins spins_;
    int most_vain_turns_;
    OwnCore core_;
    Status (*progress_)(void*);
    void* context_;
    NodePeers* peers_;
    const std::byte* areas_ = nullptr;
    std::size_t area_bytes_ = 1;
    NodeFailure failure_{NodeBreak::none, 0};
};

// Around code of the application: where an exception of its own passes through, the others learn that this rank will not come.
class BreakOnUnwinding {
public:
    explicit BreakOnUnwinding(Waiting& waiting) : waiting_(waiting) {}
    ~BreakOnUnwinding() {
        if (!is_over_) waiting_.break_off(NodeBreak::unwound);
    }
    BreakOnUnwinding(const BreakOnUnwinding&) = delete;
    BreakOnUnwinding& operator=(const BreakOnUnwinding&) = delete;
    void end() { is_over_ = true; }

private:
    Waiting& waiting_;
    bool is_over_ = false;
};

}  // namespace hcoll
