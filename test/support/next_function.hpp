// SPDX-License-Identifier: BSD-3-Clause
// The function of the same name in the next library: for those that stand in front of one.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

template <typename Function>
Function* next(Function*, const char* name) {
    auto* found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    if (found == nullptr) std::abort();
    return found;
}
#define NEXT(name) next(&name, #name)
