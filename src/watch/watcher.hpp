// SPDX-License-Identifier: BSD-3-Clause
// The thread that watches over a process (LIBHCOLL_WATCHDOG).
//
//   a call takes longer than the limit, or SIGUSR2 --> this process asks rank 0 to collect (the next one that answers, if rank 0 is silent)
//   the collector asks all ranks where they are, twice --> each answers out of its WatchRecord
//   explain_hang() --> one text, on the collector's standard error
//
// It calls no MPI, so it answers whatever MPI does, and sleeps in between. It ends where the program has closed the descriptors that it waits for. A call that was told of is told of again when it has taken ten times as long.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "watch/watch_record.hpp"
#include "watch/watch_sockets.hpp"

namespace hcoll {

class Watcher {
public:
    struct Options {
        int rank = 0;
        std::chrono::milliseconds limit{0};  // 0: on the signal alone
        void (*say)(std::string_view text) = nullptr;
        std::chrono::milliseconds patience{3000};       // with an address that says nothing
        std::chrono::milliseconds between_texts{2000};  // of this process, at the least
    };

    // `sockets` have met, and outlive it. May throw std::system_error or std::bad_alloc. Takes SIGUSR2 where nobody has it.
    Watcher(const Options& options, WatchRecord& record, WatchSockets& sockets);
    // Waits for the thread, which gives up what it is at.
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

private:
    using Clock = WatchRecord::Clock;

    void run();
    void wait(Clock::duration longest);
    bool have_collected(const std::string& why);
    bool collect(const std::string& why);
    std::vector<WatchSockets::Answer> ask_all(const std::vector<int>& ranks);
    std::string answer(WatchSockets::Question question, std::string_view said);
    bool has_just_told() const;

    const Options options_;
    WatchRecord& record_;
    WatchSockets& sockets_;
    // A pipe, by which the thread is woken.
    struct Wake {
        int read = -1;
        int write = -1;
        std::uint64_t device = 0;  // as a file
        std::uint64_t number = 0;
    };
    Wake wake_;
    std::atomic<bool> is_ending_{false};
    // Of the thread alone:
    std::string signal_;           // what it is to say of a signal; "" where none has come
    std::string wanted_;           // why another one wants this one to collect; "" where nobody does
    Clock::time_point collected_;  // the last time
    bool is_collecting_ = false;
    std::thread thread_;
};

}  // namespace hcoll
