// SPDX-License-Identifier: BSD-3-Clause
// Which nodes are slower than the others: every collective is as slow as they are, and so is what is tuned with them.
#pragma once

#include <vector>

namespace hcoll {

// Seconds of the same work.
struct NodeSpeeds {
    std::vector<double> computing;  // by node
    // Of a long message there and back between each node and the next one, the last and the first; empty where there are fewer than three
    // nodes: of a slow link between two, nobody knows whose it is.
    std::vector<double> links;
};

struct SlowNode {
    int node = 0;
    bool by_network = false;
    double times = 1;  // as slow as usual
};

// A node computes slower than usual, or both its links are slower than the fastest quarter of all.
std::vector<SlowNode> slow_nodes(const NodeSpeeds& speeds);

}  // namespace hcoll
