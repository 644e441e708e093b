// SPDX-License-Identifier: BSD-3-Clause
// What a thread that runs a collective waits for, noted for those who look at it from outside (LIBHCOLL_WATCHDOG).
//
// A store into memory that nobody else writes, where a wait is long or costs a call of the MPI library anyway. Where nobody watches there is no
// note, and asking for it is a load.
#pragma once

#include <atomic>
#include <cstdint>

namespace hcoll {

class WaitNote {
public:
    enum class What : std::uint8_t { nothing, receive, send, leaders, flag };
    // `rank` in the call's communicator; -1: of none in particular. `step` of the plan; -1: there is none.
    struct Wait {
        What what = What::nothing;
        int rank = -1;
        int step = -1;
        friend bool operator==(const Wait&, const Wait&) = default;
    };

    // That of the call that this thread is in; nullptr where nobody watches.
    static WaitNote* current() { return may_be_any_.load(std::memory_order_relaxed) ? current_ : nullptr; }
    // Before the first.
    static void expect() { may_be_any_.store(true, std::memory_order_relaxed); }
    // Notes of this thread go to `note` from now on; returns where they went before.
    static WaitNote* change(WaitNote* note) {
        WaitNote* before = current_;
        current_ = note;
        return before;
    }

    void set(const Wait& wait) {
        word_.store(static_cast<std::uint64_t>(wait.what) << 56U |
                        (static_cast<std::uint64_t>(wait.step) & step_mask) << 32U |
                        static_cast<std::uint32_t>(wait.rank),
                    std::memory_order_relaxed);
    }
    void clear() { word_.store(0, std::memory_order_relaxed); }
    // By any thread.
    Wait get() const {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        if (word == 0) return {};
        const auto step = static_cast<std::uint32_t>(word >> 32U & step_mask);
        return {static_cast<What>(word >> 56U), static_cast<int>(static_cast<std::uint32_t>(word)),
                step == step_mask ? -1 : static_cast<int>(step)};
    }

private:
    static constexpr std::uint64_t step_mask = 0xffffff;

    static inline std::atomic<bool> may_be_any_{false};
    static inline thread_local WaitNote* current_ = nullptr;
    std::atomic<std::uint64_t> word_{0};
};

}  // namespace hcoll
