// SPDX-License-Identifier: BSD-3-Clause
// Pseudo-random numbers that are the same on every rank and every machine: a test that failed is replayed by its seed.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace hcoll::test {

// The SplitMix64 generator (Steele, Lea, Flood, 2014): tiny state, so one can be made per element.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }

    // Uniform in [0, bound); the bias is of no consequence here.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

    // Uniform in [first, last].
    std::int64_t between(std::int64_t first, std::int64_t last) {
        return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
    }

    bool chance(unsigned one_in) { return below(one_in) == 0; }

private:
    std::uint64_t state_;
};

// One seed from several numbers.
inline std::uint64_t mix(std::initializer_list<std::uint64_t> parts) {
    std::uint64_t seed = 0;
    for (const std::uint64_t part : parts) seed = Random(seed ^ part).next();
    return seed;
}

}  // namespace hcoll::test
