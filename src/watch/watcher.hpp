// The thread that watches over a process (LIBHCOLL_WATCHDOG).
//
//   a call takes longer than the limit, or SIGUSR2 --> this process asks rank 0 to collect (the next one that answers, if rank 0 is silent)
//   the collector asks all ranks where they are    --> each answers out of its WatchRecord
//   explain_hang() --> one text, on the collector's standard error
//
// It calls no MPI, so it answers whatever MPI does, and sleeps in between. Of a hang there is one text: a call of which a rank was asked once is not
// reported again.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "watch/watch_record.hpp"
#include "watch/watch_sockets.hpp"

namespace hcoll {

class Watcher {
public:
    struct Options {
        int rank = 0;
        std::chrono::milliseconds limit{0};  // 0: on the signal alone
        void (*say)(std::string_view text) = nullptr;
        std::chrono::milliseconds patience{3000};  // with a process that says nothing
    };

    // `sockets` have met. May throw std::system_error or std::bad_alloc. Takes SIGUSR2 where nobody has it.
    Watcher(const Options& options, WatchRecord& record, std::unique_ptr<WatchSockets> sockets);
    // Waits for the thread, which gives up what it is at.
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

private:
    using Clock = WatchRecord::Clock;

    void run();
    void look(Clock::time_point now);
    void have_collected(const std::string& why);
    void collect(const std::string& why);
    std::string answer(WatchSockets::Question question, std::string_view said);

    const Options options_;
    WatchRecord& record_;
    std::unique_ptr<WatchSockets> sockets_;
    int wake_ = -1;
    std::atomic<bool> is_ending_{false};
    // Of the thread alone:
    Clock::time_point told_;       // calls that began before were told of
    Clock::time_point collected_;  // the last time
    std::string wanted_;           // why another one wants this one to collect; "" where nobody does
    std::thread thread_;
};

}  // namespace hcoll
