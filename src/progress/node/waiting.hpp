// How a rank waits for another one's flag: it spins, then yields, then sleeps.
//
// A flag is a counter in shared memory that one rank writes and only ever raises. While the ranks of a node have a core
// each, the answer is a few cache-line transfers away: spinning costs nobody anything. Where they share cores, the rank
// that is waited for may need this very core: there a rank yields at once. Whoever waits long drives the MPI library
// meanwhile (a peer may be waiting for a message that was begun before), and then sleeps, shortly: 0.1 ms at most, since
// long messages of the MPI library move by a piece a call.
//
// How long it spins is learned: where spinning was in vain, it spins for half as long the next time. So ranks that are not
// bound, and happen to be on one core, soon give way to one another. Where ranks share cores and a yield returns at once, again
// and again, it gives nobody a turn (with SCHED_AUTOGROUP each rank is in a task group of its own where the launcher, as Hydra
// does, gives it a session): then only sleeping lets the others run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hcoll {

// `sleepers` counts those that sleep until it is raised.
struct Flag {
    std::atomic<std::uint64_t> value{0};
    std::atomic<std::uint32_t> sleepers{0};
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
    // `progress(context)` drives what else the process has under way.
    Waiting(bool oversubscribed, void (*progress)(void*), void* context)
        : fewest_spins_(oversubscribed ? 0 : 50),
          most_spins_(oversubscribed ? 0 : 2000),
          spins_(most_spins_),
          most_vain_yields_(oversubscribed ? 20 : 2000),
          progress_(progress),
          context_(context) {}

    // Returns once the flag is at least `value`.
    void until(Flag& flag, std::uint64_t value) {
        if (flag.value.load(std::memory_order_acquire) >= value) return;
        wait(flag, value);
    }

    // Drives what else the process has under way.
    void drive() const { progress_(context_); }
    bool is_oversubscribed() const { return most_spins_ == 0; }

private:
    void wait(Flag& flag, std::uint64_t value);

    int fewest_spins_;
    int most_spins_;
    int spins_;
    int most_vain_yields_;
    void (*progress_)(void*);
    void* context_;
};

}  // namespace hcoll
