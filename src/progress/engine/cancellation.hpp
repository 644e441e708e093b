// SPDX-License-Identifier: BSD-3-Clause
// Threads of the application that are cancelled (pthread_cancel) while they are in here. A cancelled thread is unwound like one that
// throws, but where it lets itself be cancelled anywhere, code in C++ cannot be left at any instruction.
//
// Both end by giving the thread back what it had: a thread that lets itself be cancelled anywhere may be unwound there.
#pragma once

#include <pthread.h>

namespace hcoll {

// While it exists, the thread is not cancelled: it has what others depend on in its hands.
class NoCancellation {
public:
    NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~NoCancellation() noexcept(false) { pthread_setcancelstate(before_, nullptr); }
    NoCancellation(const NoCancellation&) = delete;
    NoCancellation& operator=(const NoCancellation&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

// While it exists, the thread is cancelled at points only: in calls of MPI and the system, and at here().
class CancellationAtPoints {
public:
    CancellationAtPoints() { pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before_); }
    ~CancellationAtPoints() noexcept(false) { pthread_setcanceltype(before_, nullptr); }
    CancellationAtPoints(const CancellationAtPoints&) = delete;
    CancellationAtPoints& operator=(const CancellationAtPoints&) = delete;
    static void here() { pthread_testcancel(); }
    // Did it let itself be cancelled anywhere before?
    bool was_anywhere() const { return before_ == PTHREAD_CANCEL_ASYNCHRONOUS; }

private:
    int before_ = PTHREAD_CANCEL_DEFERRED;
};

}  // namespace hcoll
