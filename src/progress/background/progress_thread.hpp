// SPDX-License-Identifier: BSD-3-Clause
// The thread that moves operations while the application computes.
//
// It sleeps while nothing is in flight, and is woken by the first operation. In between it looks whether something can be moved:
// again and again where cores are spare; where there are none, it gives the core back after a few looks in vain, and sleeps for
// longer and longer, since each look is taken from the application's own time. It gets no signals: those are the application's.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "progress/background/in_flight.hpp"

namespace hcoll {

class ProgressThread {
public:
    // Starts it. It runs on `cores` (numbers of the operating system), or where the process may run if there are none given;
    // `cores_are_spare`: nobody else wants them. Throws std::system_error where there can be no thread.
    ProgressThread(InFlight& in_flight, std::vector<int> cores, bool cores_are_spare);
    // Stops and joins it: what is in flight stays where it is.
    ~ProgressThread();
    ProgressThread(const ProgressThread&) = delete;
    ProgressThread& operator=(const ProgressThread&) = delete;

    // At the end of a process that did not finalize MPI, when the thread may be waiting inside of it for ever: asks it to stop,
    // waits for a moment, and leaves it alone if it has not.
    void abandon();
    // Did the system take the cores?
    bool is_bound() const { return is_bound_; }

private:
    void run();

    InFlight& in_flight_;
    std::vector<int> cores_;
    bool cores_are_spare_;
    std::atomic<bool> must_stop_{false};
    std::atomic<bool> has_stopped_{false};
    bool is_bound_ = true;
    std::thread thread_;
};

}  // namespace hcoll
