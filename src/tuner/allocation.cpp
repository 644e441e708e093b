// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/allocation.hpp"

#include <algorithm>

namespace hcoll {

namespace {

int ranks_on(const Placement& allocation, int node) { return static_cast<int>(allocation.ranks_of_node(node).size()); }

// How many nodes have so many ranks.
int nodes_with(const Placement& allocation, int ranks) {
    int nodes = 0;
    for (int node = 0; node < allocation.nodes(); ++node) nodes += ranks_on(allocation, node) >= ranks ? 1 : 0;
    return nodes;
}

}  // namespace

std::vector<int> powers_of_two_to(int last) {
    std::vector<int> numbers;
    for (int number = 1; number < last; number *= 2) numbers.push_back(number);
    numbers.push_back(last);
    return numbers;
}

std::vector<SubLayout> sub_layouts(const Placement& allocation, const std::vector<int>& nodes,
                                   const std::vector<int>& ranks_per_node) {
    std::vector<SubLayout> layouts;
    for (const int of_nodes : nodes.empty() ? powers_of_two_to(allocation.nodes()) : nodes)
        for (const int ranks :
             ranks_per_node.empty() ? powers_of_two_to(allocation.most_ranks_of_a_node()) : ranks_per_node)
            if (nodes_with(allocation, ranks) >= of_nodes && of_nodes * ranks > 1) layouts.push_back({of_nodes, ranks});
    return layouts;
}

std::vector<int> ranks_of(const Placement& allocation, const SubLayout& layout) {
    std::vector<int> ranks;
    int nodes = 0;
    for (int node = 0; node < allocation.nodes() && nodes < layout.nodes; ++node) {
        if (ranks_on(allocation, node) < layout.ranks_per_node) continue;
        ++nodes;
        int taken = 0;
        for (const int rank : allocation.ranks_of_node(node))
            if (taken++ < layout.ranks_per_node) ranks.push_back(rank);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

Placement placement_of(const Placement& allocation, const std::vector<int>& ranks) {
    std::vector<Seat> seats;
    seats.reserve(ranks.size());
    for (const int rank : ranks) seats.push_back(allocation.seat_of(rank));
    return Placement(seats);
}

}  // namespace hcoll
