// SPDX-License-Identifier: BSD-3-Clause
// How much of a call is waiting for ranks that come late, and how much is the algorithm.
//
//   rank 0   |=====waiting=====|--algorithm--|
//   rank 1        |==waiting===|--algorithm----|
//   rank 2                     |--algorithm--|          comes last
//
// Waiting ends where nothing that the call needs by MPI's own rules is missing: in Allreduce, Allgather and Barrier when the last rank has come; in
// Bcast and Scatter when the root has, in Reduce and Gather for the root when the last one has, and for the others at once. Where an algorithm makes a rank wait for others
// besides, for instance for one that passes a message on, that is the algorithm's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/plan.hpp"

namespace hcoll {

// Of one rank, in nanoseconds.
struct CallSplit {
    std::int64_t waiting = 0;
    std::int64_t algorithm = 0;
};

struct CallArrivals {
    std::int64_t root = 0;  // when the root came, where there is one
    std::int64_t last = 0;  // when the last rank came
};

inline CallSplit split_call(Collective collective, bool has_bytes, bool is_root, std::int64_t begin, std::int64_t end,
                            const CallArrivals& arrivals) {
    std::int64_t ready = begin;
    switch (collective) {
        case Collective::allreduce:
        case Collective::allgather:
            if (has_bytes) ready = arrivals.last;
            break;
        case Collective::barrier: ready = arrivals.last; break;
        case Collective::bcast:
        case Collective::scatter:
            if (has_bytes && !is_root) ready = arrivals.root;
            break;
        case Collective::reduce:
        case Collective::gather:
            if (has_bytes && is_root) ready = arrivals.last;
            break;
    }
    const std::int64_t waiting = std::clamp<std::int64_t>(ready - begin, 0, std::max<std::int64_t>(end - begin, 0));
    return {.waiting = waiting, .algorithm = std::max<std::int64_t>(end - begin, 0) - waiting};
}

}  // namespace hcoll
