// SPDX-License-Identifier: BSD-3-Clause
// In which order a node's ranks are neighbors: by package, then socket, then last-level cache, then rank.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// Of a rank: its package, socket and cache.
using NodeParts = std::array<int, 3>;

struct NodeOrder {
    std::vector<int> ranks;        // in that order
    std::vector<NodeParts> parts;  // by position

    // All ranks of the placement are on one node.
    explicit NodeOrder(const Placement& placement) : ranks(static_cast<std::size_t>(placement.ranks())) {
        std::iota(ranks.begin(), ranks.end(), 0);
        for (const int rank : ranks)
            parts.push_back({placement.package_of(rank), placement.socket_of(rank), placement.cache_of(rank)});
        std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
            return parts[static_cast<std::size_t>(a)] < parts[static_cast<std::size_t>(b)];
        });
        std::sort(parts.begin(), parts.end());
    }
};

}  // namespace hcoll
