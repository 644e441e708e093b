// SPDX-License-Identifier: BSD-3-Clause
#include "progress/background/progress_thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hcoll {

namespace {

using std::chrono::microseconds;

// How it waits for something to move, by the looks in vain so far.
struct Patience {
    int yields;            // looks after which it only lets others run
    microseconds longest;  // that it sleeps for
};
constexpr Patience on_spare_cores{20000, microseconds(20)};
constexpr Patience on_the_application_s{0, microseconds(100)};

// A thread that sleeps most of the time and does little at a time is to be let in at once, not when the application's slice of
// some ms is over. Linux has listened to that since 6.12; what is older takes no notice. Half as much of a message again was
// hidden so, where threads and ranks share cores.
void ask_for_short_slices() {
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;  // ns
    } attributes{};
    attributes.size = sizeof attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 || attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime = 100'000;  // the shortest that there is
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void wait(const Patience& patience, int looks_in_vain) {
    constexpr microseconds shortest(10);
    if (looks_in_vain <= patience.yields) {
        sched_yield();
        return;
    }
    const int longer = std::min((looks_in_vain - patience.yields) / 2, 10);
    std::this_thread::sleep_for(std::min(shortest * (1 << longer), patience.longest));
}

}  // namespace

ProgressThread::ProgressThread(InFlight& in_flight, std::vector<int> cores, bool cores_are_spare)
    : in_flight_(in_flight), cores_(std::move(cores)), cores_are_spare_(cores_are_spare) {
    in_flight_.end_interruption();
    // All signals but those that an instruction of the thread's own may raise: a program may have protected its memory, to hear of each page that is written. One that blocks them
    // takes them elsewhere.
    sigset_t blocked;
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    sigfillset(&blocked);
    for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        if (sigismember(&before, raised) == 0) sigdelset(&blocked, raised);
    pthread_sigmask(SIG_SETMASK, &blocked, nullptr);  // a new thread begins with those of its maker
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "hcoll-progress");
    if (cores_.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores_)
        if (core >= 0 && core < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(core), &set);
    is_bound_ = pthread_setaffinity_np(thread_.native_handle(), sizeof set, &set) == 0;
}

ProgressThread::~ProgressThread() {
    must_stop_ = true;
    in_flight_.interrupt();
    if (thread_.joinable()) thread_.join();
}

void ProgressThread::abandon() {
    must_stop_ = true;
    in_flight_.interrupt();
    for (int waited = 0; !has_stopped_ && waited < 100; ++waited) std::this_thread::sleep_for(microseconds(1000));
    if (thread_.joinable()) {
        if (has_stopped_)
            thread_.join();
        else
            thread_.detach();
    }
}

void ProgressThread::run() {
    ask_for_short_slices();
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);  // ns; the usual 50 us would be half of the longest sleep
    const Patience patience = cores_are_spare_ ? on_spare_cores : on_the_application_s;
    while (!must_stop_) {
        in_flight_.wait_for_any();
        int looks_in_vain = 0;
        while (in_flight_.any() && !must_stop_) {
            if (in_flight_.drive(InFlight::Driver::background))
                looks_in_vain = 0;
            else if (in_flight_.are_all_left_to_callers())
                in_flight_.wait_for_another(std::chrono::milliseconds(1));
            else
                wait(patience, ++looks_in_vain);
        }
    }
    has_stopped_ = true;
}

}  // namespace hcoll
