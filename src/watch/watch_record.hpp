// Where this process is in its collectives, for those who look at it from outside (LIBHCOLL_WATCHDOG): what its threads are in now, its last calls,
// and how many it has begun on each communicator. Without MPI.
//
// From any thread. Each call takes a mutex that nobody holds for long, and two looks at a clock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/wait_note.hpp"
#include "watch/call_description.hpp"
#include "watch/rank_state.hpp"

namespace hcoll {

class WatchRecord {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr int unknown = -1;

    // nullptr where nobody watches. Never destroyed: threads may be in a call when the process ends.
    static WatchRecord* get() { return instance_.load(std::memory_order_acquire); }
    static WatchRecord& make(int rank, std::string host);

    // Of a communicator of the application: what it is called from now on. `members`: its ranks in MPI_COMM_WORLD. May throw std::bad_alloc.
    int know(std::string name, const std::vector<int>& members);
    // It is freed.
    void forget(int communicator);

    // A call of this thread. Where too many threads are in calls, `no_slot`.
    static constexpr int no_slot = -1;
    int begin(int communicator, const CallDescription& call, std::uint64_t number);
    // One that is no collective: its name, which is there for ever. `may_wait_for_collectives`: it counts for how long a call takes where
    // this process has begun collectives that do not block.
    int begin(const char* function, bool may_wait_for_collectives);
    void decide(int slot, std::string_view what);
    // `is_void`: it was an error of this rank alone.
    void end(int slot, bool is_void = false);
    WaitNote* note(int slot) { return slot == no_slot ? nullptr : &slots_[static_cast<std::size_t>(slot)].note; }
    void note_finalized();

    // When the oldest call that is going on, and that began after `after`, has begun.
    std::optional<Clock::time_point> oldest_call(Clock::time_point after) const;
    // The name of that.
    std::string oldest_call_text() const;
    RankState state() const;

private:
    static constexpr std::size_t most_threads = 16;
    static constexpr std::size_t past_calls = 6;
    static constexpr std::size_t most_communicators = 64;  // that are told
    static constexpr std::size_t most_groups = 4096;       // whose communicators are told apart

    WatchRecord(int rank, std::string host);
    int take_slot();

    struct Slot {
        bool is_used = false;
        bool counts = false;
        const char* function = nullptr;  // of what is no collective
        int communicator = unknown;
        std::uint64_t number = 0;
        CallDescription call{};
        std::array<char, 64> runs{};
        Clock::time_point since{};
        WaitNote note{};
    };
    struct Known {
        bool is_used = false;
        std::uint64_t key = 0;
        std::string name;
        std::vector<RankRange> members;
        std::uint64_t entered = 0;
        std::uint64_t last_use = 0;
    };
    struct Past {
        std::uint64_t key = 0;
        std::string name;
        std::uint64_t number = 0;
        CallDescription call{};
        std::array<char, 64> runs{};
        Clock::time_point since{};
        Clock::time_point end{};
    };
    static std::string text_of(const Slot& slot);

    static std::atomic<WatchRecord*> instance_;
    const int rank_;
    const std::string host_;
    mutable std::mutex mutex_;  // of all but the notes
    std::array<Slot, most_threads> slots_;
    std::vector<Known> known_;
    std::unordered_map<std::uint64_t, std::uint32_t> communicators_of_group_;
    std::array<Past, past_calls> past_{};
    std::uint64_t ended_ = 0;
    std::uint64_t uses_ = 0;
    bool has_begun_nonblocking_ = false;
    bool has_finalized_ = false;
    Clock::time_point last_end_;
};

}  // namespace hcoll
