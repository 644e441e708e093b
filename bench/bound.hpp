// SPDX-License-Identifier: BSD-3-Clause
// What the machine does with the same bytes and no algorithm at all, measured in the same run.
#pragma once

#include <cstddef>

#include "mpi.hpp"
#include "operation.hpp"

namespace hcoll::bench {

struct Bound {
    double one_way_seconds = 0;  // half a ping-pong between the first and the last rank; 0 with a single rank
    double memcpy_seconds = 0;   // one memcpy by rank 0, the other ranks waiting
};

// Called by all ranks; the result is that of rank 0. Overwrites the buffers.
Bound measure_bound(std::size_t bytes, const World& world, const Buffers& buffers);

}  // namespace hcoll::bench
