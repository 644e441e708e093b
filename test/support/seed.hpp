// SPDX-License-Identifier: BSD-3-Clause
// The seed of a test program without MPI.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace hcoll::test {

// The seed of this process: the environment variable HCOLL_TEST_SEED, or a random one; printed once.
inline std::uint64_t test_seed() {
    static const std::uint64_t seed = [] {
        const char* given = std::getenv("HCOLL_TEST_SEED");
        const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
        std::printf("seed %llu (HCOLL_TEST_SEED=%llu repeats this run)\n", static_cast<unsigned long long>(value),
                    static_cast<unsigned long long>(value));
        return value;
    }();
    return seed;
}

}  // namespace hcoll::test
