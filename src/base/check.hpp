// SPDX-License-Identifier: BSD-3-Clause
// What guards memory is looked at in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace hcoll {

[[noreturn, gnu::cold, gnu::noinline]] inline void stop(const char* what) {
    std::fprintf(stderr, "libhcoll: internal error: %s\n", what);
    std::abort();
}

// `what` is what must hold.
inline void check(bool holds, const char* what) {
    if (!holds) [[unlikely]]
        stop(what);
}

}  // namespace hcoll
