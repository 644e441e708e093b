// SPDX-License-Identifier: BSD-3-Clause
// Where this process is in its collectives, for those who look at it from outside (LIBHCOLL_WATCHDOG): what its threads are in now, what it has begun
// and not finished, its last calls, and how many it has begun on each communicator. Without MPI.
//
// From any thread. Each call takes a mutex that nobody holds for long, and two looks at a clock; it takes no memory.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
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
    static constexpr int no_slot = -1;

    // `limit`: after how long in a call this rank is to be told of; 0: never.
    WatchRecord(int rank, std::string host, std::chrono::milliseconds limit);

    // The process's; nullptr where nobody watches. Never destroyed: threads may be in a call when the process ends.
    static WatchRecord* get() { return instance_.load(std::memory_order_acquire); }
    static WatchRecord& make(int rank, std::string host, std::chrono::milliseconds limit);
    // Calls are noted from now on; before, communicators alone.
    void note_calls();
    bool notes_calls() const { return notes_calls_.load(std::memory_order_relaxed); }

    // Of a communicator of the application: what it is called from now on. `members`: its ranks in MPI_COMM_WORLD. `birth`: the same on all of them and
    // of no other one of theirs, where that is known; else 0, and they are told apart by the order of these calls. May throw std::bad_alloc.
    int know(std::string name, const std::vector<int>& members, std::uint64_t birth);
    // The same on all its ranks.
    std::uint64_t key(int communicator) const;
    std::string name(int communicator) const;
    // It is freed.
    void forget(int communicator);

    // A collective, by this thread. Where too many threads are in calls, `no_slot`, which all that follows takes.
    int begin(int communicator, const CallDescription& call, std::uint64_t number);
    // A call that is no collective that is counted: its name, which is there for ever. `counts`: it is told of when it takes too long.
    int begin(const char* function, bool counts);
    // The same of one that waits for requests: it counts where collectives are among them.
    int begin_wait(const char* function, std::span<const std::uint64_t> requests);
    // Of collectives that are under way: so many at most are known at a time.
    static constexpr std::size_t most_requests = 256;
    // Writes them, in ascending order; returns how many there are.
    std::size_t find_requests(std::array<std::uint64_t, most_requests>& requests) const;
    void decide(int slot, std::string_view what);
    // The collective has made this request; it is over with that one.
    void add_request(int slot, std::uint64_t request);
    bool has_requests() const { return requests_.load(std::memory_order_relaxed) != 0; }
    void remove_request(std::uint64_t request);
    // `is_void`: it was an error of this rank alone.
    void end(int slot, bool is_void = false);
    WaitNote* note(int slot) { return slot == no_slot ? nullptr : &slots_[static_cast<std::size_t>(slot)].note; }
    void note_finalized();

    // The oldest call that is to be told of; nothing where there is none.
    struct Due {
        std::string text;
        double seconds = 0;
    };
    std::optional<Due> due(Clock::time_point now) const;
    // What it is and was in. `is_told`: that goes into a text: calls that have taken half of the limit, or more, are due again only when they have
    // taken ten times as long as now.
    RankState state(bool is_told);

private:
    static constexpr std::size_t most_threads = 16;
    static constexpr std::size_t past_calls = 6;
    static constexpr std::size_t most_waited_for = 8;      // communicators on whose collectives one call waits
    static constexpr std::size_t most_communicators = 64;  // that are told with their names
    static constexpr std::size_t most_nameless = 448;      // that are told besides
    static constexpr std::size_t most_freed = 64;

    using Runs = std::array<char, 160>;
    struct Request {
        std::uint64_t request = 0;
        std::uint64_t key = 0;
        int communicator = unknown;
        std::uint64_t number = 0;
        CallDescription call{};
    };
    struct Slot {
        bool is_used = false;
        bool counts = false;
        std::uint64_t serial = 0;
        const char* function = nullptr;  // of what is no collective
        int communicator = unknown;
        std::uint64_t number = 0;
        CallDescription call{};
        Runs runs{};
        std::array<Request, most_waited_for> waits_on{};
        std::size_t waits = 0;
        Clock::time_point since{};
        Clock::time_point due{};
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
    struct Freed {
        std::uint64_t key = 0;
        std::uint64_t entered = 0;
    };
    struct Past {
        std::array<char, 160> name{};
        std::uint64_t number = 0;
        CallDescription call{};
        Runs runs{};
        Clock::time_point since{};
        Clock::time_point end{};
    };
    // What is told, and where in it a communicator of this record is.
    struct Telling;

    int take_slot();
    Slot& slot(int index) { return slots_[static_cast<std::size_t>(index)]; }
    Known& known(int communicator) { return known_[static_cast<std::size_t>(communicator)]; }
    void tell_communicators(Telling& telling) const;
    RankState::Call told(const Slot& slot, Telling& telling, Clock::time_point now) const;

    static std::atomic<WatchRecord*> instance_;
    const int rank_;
    const std::string host_;
    const std::chrono::milliseconds limit_;
    std::atomic<bool> notes_calls_{false};
    mutable std::mutex mutex_;  // of all but the notes
    std::array<Slot, most_threads> slots_;
    std::vector<Known> known_;
    std::unordered_map<std::uint64_t, std::uint32_t> known_alike_;  // of communicators without a birth of their own
    std::array<Freed, most_freed> freed_{};
    std::uint64_t freed_count_ = 0;
    std::array<Past, past_calls> past_{};
    std::uint64_t ended_ = 0;
    std::uint64_t calls_ = 0;
    std::uint64_t uses_ = 0;
    std::array<Request, most_requests> begun_{};
    std::atomic<std::size_t> requests_{0};  // of these
    bool has_finalized_ = false;
    Clock::time_point last_end_;
};

}  // namespace hcoll
