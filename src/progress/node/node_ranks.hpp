// SPDX-License-Identifier: BSD-3-Clause
// The ranks of one node, by their numbers in the communicator: as much memory as the node has ranks at most, whatever the job has.
#pragma once

#include <algorithm>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

class NodeRanks {
public:
    static constexpr int elsewhere = -1;

    NodeRanks() = default;
    // May throw std::bad_alloc.
    NodeRanks(const Placement& placement, int node) {
        const RankList ranks = placement.ranks_of_node(node);
        first_ = ranks.front();
        count_ = static_cast<unsigned int>(ranks.size());
        if (ranks.back() - first_ + 1 != static_cast<int>(count_)) scattered_.assign(ranks.begin(), ranks.end());
    }

    // Placement::index_on_node of a rank of the node; elsewhere of any other.
    int index_of(int rank) const {
        if (scattered_.empty()) [[likely]] {
            const auto index = static_cast<unsigned int>(rank - first_);
            return index < count_ ? static_cast<int>(index) : elsewhere;
        }
        const auto found = std::lower_bound(scattered_.begin(), scattered_.end(), rank);
        return found != scattered_.end() && *found == rank ? static_cast<int>(found - scattered_.begin()) : elsewhere;
    }

private:
    int first_ = 0;
    unsigned int count_ = 0;
    std::vector<int> scattered_;  // ascending, where they are not consecutive
};

}  // namespace hcoll
