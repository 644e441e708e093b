// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one node as threads of the test, over one segment.
#pragma once

#include <gtest/gtest.h>

#include <sched.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "progress/node/node_collectives.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll::test {

// Of a rank that comes late: the others run meanwhile, at least one of them. For so long, since where ranks share cores with other programs a single yield may
// take as long as a hundred otherwise.
inline void come_late(std::chrono::microseconds how_late = std::chrono::microseconds(100)) {
    const auto end = std::chrono::steady_clock::now() + how_late;
    do sched_yield();
    while (std::chrono::steady_clock::now() < end);
}

// Calls `run(node, rank)` on a thread for each rank of the placement, and returns when all have returned.
template <typename Run>
void run_ranks(const Placement& placement, std::size_t buffer_bytes, bool oversubscribed, const Run& run) {
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(placement.ranks(), buffer_bytes)), 0);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(placement.ranks()));
    for (int rank = 0; rank < placement.ranks(); ++rank)
        threads.emplace_back([&, rank] {
            NodeCollectives node(segment.data(), buffer_bytes, placement, rank,
                                 Waiting(
                                     oversubscribed, [](void*) { return 0; }, nullptr));
            run(node, rank);
        });
    for (std::thread& thread : threads) thread.join();
}

// Packages, NUMA nodes and caches, uneven: with ranks in their order, dealt out, and one alone.
inline std::vector<Placement> uneven_placements(int ranks) {
    const std::function<int(int)> caches[] = {[=](int rank) { return rank * 7 / ranks; },
                                              [](int rank) { return rank % 7; },
                                              [=](int rank) { return rank + 1 == ranks ? 4 : 0; }};
    std::vector<Placement> placements;
    for (const auto& cache_of : caches) {
        std::vector<Seat> seats;
        for (int rank = 0; rank < ranks; ++rank) {
            const int cache = cache_of(rank);
            seats.push_back({.node = 0, .socket = cache / 2, .package = cache / 4, .cache = cache});
        }
        placements.emplace_back(seats);
    }
    return placements;
}

}  // namespace hcoll::test
