// SPDX-License-Identifier: BSD-3-Clause
// Operators new and delete of hcoll-simulate: what lets tens of thousands of ranks, and peers with gigabytes of messages, fit.
#pragma once

#include <cstddef>
#include <span>

namespace hcoll::simulation {

// Arrays from `smallest` bytes to as many as `memory` has are, from now on, all that memory: for messages that nobody looks at.
// SimGrid's algorithms allocate each rank's operands anew, which makes 64 GB for 4,096 ranks with 8 MB.
void share_arrays(std::span<std::byte> memory, std::size_t smallest);

}  // namespace hcoll::simulation
