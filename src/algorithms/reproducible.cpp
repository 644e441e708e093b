// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/reproducible.hpp"

#include <algorithm>

namespace hcoll {

namespace {

// The combination of an aligned run of 2^level ranks, or of what exists of it.
struct Combination {
    std::vector<int> nodes;  // on which it may be made with the fewest messages over the network; ascending
    int node = 0;            // on which it is made
    int rank = 0;            // by whom
};

using Level = std::vector<Combination>;

bool contains(const std::vector<int>& ascending, int node) {
    return std::binary_search(ascending.begin(), ascending.end(), node);
}

// The fewest changes of node along the edges of a given tree: Fitch's method. Upwards, nodes that both halves may have, or
// else those that either may have; downwards, the node of the whole where the half may have it.
std::vector<Level> place_combinations(const Placement& placement, int ranks, int wanted) {
    std::vector<Level> levels(1);
    for (int rank = 0; rank < ranks; ++rank)
        levels[0].push_back({.nodes = {placement.node_of(rank)}, .node = placement.node_of(rank), .rank = rank});
    while (levels.back().size() > 1) {
        const Level& below = levels.back();
        Level level;
        for (std::size_t i = 0; i + 1 < below.size(); i += 2) {
            const auto& left = below[i].nodes;
            const auto& right = below[i + 1].nodes;
            Combination whole;
            std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                                  std::back_inserter(whole.nodes));
            if (whole.nodes.empty())
                std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(whole.nodes));
            level.push_back(std::move(whole));
        }
        if (below.size() % 2 != 0) level.push_back(below.back());
        levels.push_back(std::move(level));
    }
    const auto choose = [](Combination& combination, int node) {
        combination.node = contains(combination.nodes, node) ? node : combination.nodes.front();
    };
    choose(levels.back().front(), placement.node_of(wanted));
    for (std::size_t level = levels.size() - 1; level > 0; --level)
        for (std::size_t i = 0; i < levels[level - 1].size(); ++i)
            choose(levels[level - 1][i], levels[level][i / 2].node);
    for (std::size_t level = 1; level < levels.size(); ++level)
        for (std::size_t i = 0; i < levels[level].size(); ++i) {
            const Combination& left = levels[level - 1][2 * i];
            Combination& whole = levels[level][i];
            whole.rank = left.rank;
            if (2 * i + 1 == levels[level - 1].size()) continue;
            const Combination& right = levels[level - 1][2 * i + 1];
            if (right.node == whole.node && (left.node != whole.node || right.rank == wanted)) whole.rank = right.rank;
        }
    return levels;
}

}  // namespace

int reduce_canonically(PlanBuilder& plan, const PlanRequest& request, int wanted, const Region& own,
                       const Region& result) {
    const std::vector<Level> levels = place_combinations(*request.placement, request.ranks, wanted);
    const int top = levels.back().front().rank;
    Region value = own;
    const auto release = [&](const Region& region) {
        if (region.buffer == Buffer::scratch && !(region == result)) plan.release(region);
    };
    for (std::size_t level = 0; level + 1 < levels.size(); ++level)
        for (std::size_t i = 0; i + 1 < levels[level].size(); i += 2) {
            const int left = levels[level][i].rank;
            const int right = levels[level][i + 1].rank;
            const int owner = levels[level + 1][i / 2].rank;
            if (request.rank != left && request.rank != right) continue;
            if (request.rank != owner) {
                plan.send(owner, value);
                return top;
            }
            // The right operand is where the combination is.
            const bool result_is_free = !(value == result);
            const Region received = result_is_free && owner == left ? result : plan.scratch();
            plan.recv(owner == left ? right : left, received);
            if (owner == left) {
                plan.reduce(value, received);
                release(value);
                value = received;
                continue;
            }
            if (value.buffer == Buffer::input) {
                const Region copy = result_is_free ? result : plan.scratch();
                plan.copy(value, copy);
                value = copy;
            }
            plan.reduce(received, value);
            release(received);
        }
    if (!(value == result)) plan.copy(value, result);
    return top;
}

}  // namespace hcoll
