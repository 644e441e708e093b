// SPDX-License-Identifier: BSD-3-Clause
// Noise as in Luo 2020, section 3.4.2: ten times a second a rank is kept from its work for a time that is uniform between
// none and twice the mean. The source does not say whether all ranks' pauses begin at the same time, as they do where all
// have started their timers in MPI_Init, or each rank's at a phase of its own; either can be had.
#pragma once

#include <cmath>
#include <cstdint>

namespace hcoll::simulation {

class Noise {
public:
    Noise(double share, unsigned int seed, bool together) : share_(share), seed_(seed), together_(together) {}

    // How long `rank` still has to pause at `time`, in seconds; the same in every run.
    double left(int rank, double time) const {
        if (share_ <= 0) return 0;
        const double shifted = together_ ? time : time + period * uniform(rank, 0);
        const double number = std::floor(shifted / period);
        const double begin = number * period;
        const double length = 2 * share_ * period * uniform(rank, 1 + static_cast<std::uint64_t>(number));
        return std::fmax(0.0, begin + length - shifted);
    }

private:
    static constexpr double period = 0.1;

    // From 0 to 1; splitmix64 of what it is for.
    double uniform(int rank, std::uint64_t number) const {
        std::uint64_t bits = (std::uint64_t{seed_} << 52U) + (static_cast<std::uint64_t>(rank) << 24U) + number;
        bits += 0x9e3779b97f4a7c15ULL;
        bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
        bits ^= bits >> 31U;
        return static_cast<double>(bits >> 11U) * 0x1p-53;
    }

    double share_;
    unsigned int seed_;
    bool together_;
};

}  // namespace hcoll::simulation
