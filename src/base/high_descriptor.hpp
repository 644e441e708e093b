// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that are none of the standard streams'.
//
// An application may have closed these; what is opened next gets their numbers, and what others write to them comes into it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hcoll {

// The same file under a number above theirs, if it is not; `descriptor` is closed then. Where there is no such number, -1 and errno. What is no descriptor stays none.
inline int above_standard_streams(int descriptor) {
    if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int problem = errno;
    close(descriptor);
    errno = problem;
    return moved;
}

}  // namespace hcoll
