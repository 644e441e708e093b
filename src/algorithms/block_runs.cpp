// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/block_runs.hpp"

namespace hcoll {

BlockOrder::BlockOrder(std::vector<int> ranks, std::uint64_t units)
    : ranks_(std::move(ranks)), positions_(ranks_.size()), units_(units) {
    for (int position = 0; position < size(); ++position)
        positions_[static_cast<std::size_t>(rank(position))] = position;
}

BlockOrder BlockOrder::rotated(int ranks, int first, std::uint64_t units) {
    std::vector<int> order = single_edges(ranks - 1);
    std::rotate(order.begin(), order.begin() + first, order.end());
    return {std::move(order), units};
}

Region BlockOrder::in_order(const Region& memory, const Run& run) const {
    Region region = memory;
    region.begin = static_cast<std::uint64_t>(run.first) * units_;
    region.length = static_cast<std::uint64_t>(run.end - run.first) * units_;
    return region;
}

Region BlockOrder::scratch(PlanBuilder& plan, const Run& run) const {
    return plan.scratch(in_order(plan.output(), run));
}

std::vector<Run> BlockOrder::consecutive(const Run& run) const {
    std::vector<Run> runs;
    for (int position = run.first; position < run.end; ++position) {
        const bool continues = position > run.first && rank(position) == rank(position - 1) + 1;
        if (continues)
            runs.back().end = position + 1;
        else
            runs.push_back({position, position + 1});
    }
    return runs;
}

Region BlockOrder::by_rank(Buffer buffer, const Run& run) const {
    const int first = rank(run.first);
    return in_order({.buffer = buffer}, {first, first + run.end - run.first});
}

void Subtree::add_level(const Tree& tree, std::span<const int> edges, int self) {
    const int size = static_cast<int>(edges.size()) - 1;
    // Members are numbered in preorder: a subtree ends with the last child's.
    const auto end_of = [&](int member) {
        for (TreeNode node = tree_node(tree, size, member, 0); !node.children.empty();) {
            member = node.children.back();
            node = tree_node(tree, size, member, 0);
        }
        return edges[static_cast<std::size_t>(member) + 1];
    };
    const TreeNode node = tree_node(tree, size, self, 0);
    if (node.parent >= 0) parent = edges[static_cast<std::size_t>(node.parent)];
    for (const int child : node.children) children.push_back({edges[static_cast<std::size_t>(child)], end_of(child)});
    run = {edges[static_cast<std::size_t>(self)], end_of(self)};
}

std::vector<int> single_edges(int count) {
    std::vector<int> edges(static_cast<std::size_t>(count) + 1);
    std::iota(edges.begin(), edges.end(), 0);
    return edges;
}

}  // namespace hcoll
