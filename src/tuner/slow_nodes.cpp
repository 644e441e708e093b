// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/slow_nodes.hpp"

#include <algorithm>

namespace hcoll {

namespace {

// The value below which so large a part of all is.
double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

std::vector<SlowNode> slow_nodes(const NodeSpeeds& speeds) {
    constexpr double slow_computing = 1.25;
    constexpr double slow_link = 1.5;
    std::vector<SlowNode> found;
    const std::size_t nodes = speeds.computing.size();
    if (nodes < 2) return found;
    const double usual = quantile(speeds.computing, 0.5);
    for (std::size_t node = 0; node < nodes; ++node)
        if (speeds.computing[node] > slow_computing * usual)
            found.push_back({static_cast<int>(node), false, speeds.computing[node] / usual});
    if (speeds.links.size() != nodes) return found;
    // A slow node has two links of them: of three or four, half or more may be slow.
    const double fast = quantile(speeds.links, 0.25);
    for (std::size_t node = 0; node < nodes; ++node) {
        const double faster = std::min(speeds.links[node], speeds.links[(node + nodes - 1) % nodes]);
        if (faster > slow_link * fast) found.push_back({static_cast<int>(node), true, faster / fast});
    }
    return found;
}

}  // namespace hcoll
