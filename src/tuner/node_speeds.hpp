// SPDX-License-Identifier: BSD-3-Clause
// Measures how fast the nodes of an allocation are, beside each other (slow_nodes.hpp).
#pragma once

#include <string>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// A sentence for each node that is slower than the others, on rank 0; none on all others. Called by all ranks.
std::vector<std::string> find_slow_nodes(const Placement& allocation);

}  // namespace hcoll
