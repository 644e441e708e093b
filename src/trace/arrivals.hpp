// SPDX-License-Identifier: BSD-3-Clause
// When this rank came to its blocking collectives and went, for the report's split into late ranks and algorithm (LIBHCOLL_REPORT). Without MPI.
//
// Bounded: when it is full, half of the calls are forgotten, by a hash of communicator and number, and of those that follow only such ones are noted; then a fourth, and so on. Both
// are the same on all ranks of a communicator, so that ranks that have forgotten differently still have calls in common.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "trace/late_ranks.hpp"

namespace hcoll {

struct Arrival {
    std::uint64_t key = 0;  // of the communicator, the same on all its ranks
    std::uint64_t number = 0;
    std::uint64_t begin = 0;  // in nanoseconds of the process's clock
    std::uint64_t end = 0;
    int row = -1;  // of the report; -1: of none
    int size = 0;  // of the communicator
    Collective collective = Collective::bcast;
    bool has_bytes = false;
    bool is_root = false;
};

class Arrivals {
public:
    // May throw std::bad_alloc; nothing else of this does.
    explicit Arrivals(std::size_t most = 8192) : most_(most) { calls_.reserve(most); }

    // From any thread.
    void add(const Arrival& arrival);
    std::span<const Arrival> calls() const { return calls_; }

private:
    const std::size_t most_;
    std::mutex mutex_;
    std::uint64_t every_ = 1;
    std::vector<Arrival> calls_;
};

}  // namespace hcoll
