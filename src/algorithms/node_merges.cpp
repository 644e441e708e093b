// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/node_merges.hpp"

namespace hcoll {

std::vector<Merge> merges_of(int node, int nodes, int radix) {
    std::int64_t below = 1;  // nodes of a subgroup, at most
    while (below * radix < nodes) below *= radix;
    std::vector<Merge> merges;
    Merge group{.first = 0, .subgroups = {.members = nodes, .blocks = 1}};
    for (; below >= 1; below /= radix) {
        const int members = group.subgroups.members;
        group.subgroups.blocks = static_cast<int>((members + below - 1) / below);
        if (group.subgroups.blocks > 1) merges.insert(merges.begin(), group);
        const int mine = group.subgroups.block_of(node - group.first);
        group = {.first = group.node(mine, 0), .subgroups = {.members = group.subgroups.size(mine), .blocks = 1}};
    }
    return merges;
}

Blocks blocks_of_node(int ranks, const std::vector<Merge>& merges) {
    int most = merges.empty() ? ranks : 1;
    for (const Merge& merge : merges) most = std::max(most, Lanes{merge.subgroups.blocks, ranks}.contributors());
    return {ranks, most};
}

}  // namespace hcoll
