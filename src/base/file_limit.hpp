// SPDX-License-Identifier: BSD-3-Clause
// Files that may be longer than the process may make them (ulimit -f).
#pragma once

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace hcoll {

// While it lives, what this thread writes beyond that limit is an error (EFBIG) and no signal, which would end the process.
class FileLimitIsAnError {
public:
    FileLimitIsAnError() {
        sigemptyset(&signal_);
        sigaddset(&signal_, SIGXFSZ);
        is_blocked_here_ = pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0 && sigismember(&before_, SIGXFSZ) == 0;
    }
    ~FileLimitIsAnError() {
        if (!is_blocked_here_) return;
        const int before = errno;
        const timespec at_once{};
        while (sigtimedwait(&signal_, nullptr, &at_once) > 0) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = before;  // what was written may have failed
    }
    FileLimitIsAnError(const FileLimitIsAnError&) = delete;
    FileLimitIsAnError& operator=(const FileLimitIsAnError&) = delete;

private:
    sigset_t signal_{};
    sigset_t before_{};
    bool is_blocked_here_ = false;
};

}  // namespace hcoll
