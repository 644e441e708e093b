// SPDX-License-Identifier: BSD-3-Clause
// Turns on a core that ranks share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "progress/node/node_sizes.hpp"

namespace hcoll {

// Lets others run on this core. Returns for how many nanoseconds: fewer than a shortest_turn, and nobody did. (With SCHED_AUTOGROUP each rank is in a task group of its own where the
// launcher, as Hydra does, gives it a session, and a yield gives no other group a turn: then only sleeping does.)
std::int64_t give_turn();
inline constexpr std::int64_t shortest_turn = 1000;
inline constexpr std::int64_t turn_of_another_program = 300'000;  // and longer

// Has this rank its core, or its part of one, for itself? Where its node can run fewer ranks at a time than it has, it has not; elsewhere until another
// program is seen to run there, and then again after some waits.
class OwnCore {
public:
    explicit OwnCore(bool oversubscribed = false) : is_oversubscribed_(oversubscribed) {}
    bool is_oversubscribed() const { return is_oversubscribed_; }
    // Asked where a wait becomes long.
    bool is_likely() {
        taken_turns_ = 0;
        taken_ = yielded_ = 0;
        if (is_oversubscribed_) return false;
        if (waits_ == 0) return true;
        --waits_;
        return false;
    }
    // In that wait one more turn took so long. Returns whether another program runs there most of the time, and not just the system now and then.
    bool is_taken(std::int64_t nanoseconds) {
        if (nanoseconds < turn_of_another_program) {
            yielded_ += nanoseconds;
            return false;
        }
        taken_ += nanoseconds;
        if (++taken_turns_ < fewest_turns || taken_ < yielded_) return false;
        waits_ = waits_until_likely;
        return true;
    }

private:
    static constexpr int waits_until_likely = 64;
    static constexpr int fewest_turns = 3;
    bool is_oversubscribed_;
    int waits_ = 0;
    int taken_turns_ = 0;
    std::int64_t taken_ = 0;
    std::int64_t yielded_ = 0;
};

// How often a rank looks at a flag before it gives others a turn: learned from whether looking was in vain. Where ranks share cores it does not look at all.
//
// Where another program shares the core a turn costs a slice of the scheduler, milliseconds. Ranks that each give their core away as soon as the other one is
// late find one another seldom; a rank that looks for about as long as a turn lasts loses at most twice what the best could (the ski-rental rule).
class Spins {
public:
    explicit Spins(bool oversubscribed)
        : fewest_(oversubscribed ? 0 : fewest), most_(oversubscribed ? 0 : most), now_(most_) {}
    int now() const { return now_; }
    void succeeded() { now_ = std::min(now_ + now_ / 4, most_); }
    void were_in_vain() { now_ = std::max(now_ / 2, fewest_); }
    // It gave a turn after that, for so long.
    void gave_turn(std::int64_t nanoseconds) {
        if (most_ == 0) return;
        most_ = nanoseconds >= turn_of_another_program ? most_at_such_a_turn : most;
        now_ = std::min(now_, most_);
    }

private:
    static constexpr int fewest = node_sizes::fewest_spins;
    static constexpr int most = node_sizes::most_spins;
    static constexpr int most_at_such_a_turn = 64 * most;  // some 5 ms
    int fewest_;
    int most_;
    int now_;
};

// How often in vain, at the most, before a rank sleeps instead: where ranks share cores, and where each has one.
inline constexpr int most_vain_turns_shared = 20;
inline constexpr int most_vain_turns = 2000;
// Who has yielded so often sleeps in any case.
inline constexpr int most_turns = 2000;
// Looking at the MPI library costs more than a yield.
inline constexpr int turns_between_drives = 16;
inline constexpr int turns_between_drives_of_own_core = 2;

// The time to sleep, longer each time: 0.1 ms at most, since long messages of the MPI library move by a piece a call.
class Sleeps {
public:
    long next_nanoseconds() {
        const long now = nanoseconds_;
        nanoseconds_ = now < longest / 2 ? 2 * now : longest;
        return now;
    }
    void reset() { nanoseconds_ = shortest; }

private:
    static constexpr long shortest = 20'000;
    static constexpr long longest = 100'000;
    long nanoseconds_ = shortest;
};

}  // namespace hcoll
