// SPDX-License-Identifier: BSD-3-Clause
// Work for measurements: in a register, so that nothing but the core's being taken away makes it longer.
#pragma once

#include <cstdint>

namespace hcoll {

inline void compute(std::uint64_t steps) {
    std::uint64_t value = steps;
    for (std::uint64_t i = 0; i < steps; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : : "r"(value));  // somebody wants it
}

}  // namespace hcoll
