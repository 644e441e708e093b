// Turns on a core that ranks share.
#pragma once

namespace hcoll {

// Lets others run on this core. Returns false where nobody did. (With SCHED_AUTOGROUP each rank is in a task group of its own where the
// launcher, as Hydra does, gives it a session, and a yield gives no other group a turn: then only sleeping does.)
bool give_turn();

// How often in vain, at the most, before a rank sleeps instead: where ranks share cores, and where each has one.
inline constexpr int most_vain_turns_shared = 20;
inline constexpr int most_vain_turns = 2000;
// Who has yielded so often sleeps in any case.
inline constexpr int most_turns = 2000;
// Looking at the MPI library costs more than a yield.
inline constexpr int turns_between_drives = 16;

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
