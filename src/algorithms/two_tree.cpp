// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/two_tree.hpp"

namespace hcoll {

namespace {

// A tree numbered in order, over the places 1 ... last: a place's lowest set bit is its height, odd places are leaves.
// Where a right subtree would lie beyond the end, its largest part that does not takes its place.
TreeNode in_order_node(int place, int last) {
    TreeNode node;
    const int bit = place & -place;
    if (bit > 1) {
        node.children.push_back(place - bit / 2);
        int right = place + bit / 2;
        while (right > last && right % 2 == 0) right -= (right & -right) / 2;
        if (right <= last) node.children.push_back(right);
    }
    node.lower = bit > 1 ? 1 : 0;
    node.parent = (place ^ bit) | (bit << 1);
    if (node.parent > last) node.parent = place ^ bit;
    return node;
}

}  // namespace

std::array<TreeNode, 2> two_tree_nodes(const RankGroup& group, int root) {
    const int size = group.size();
    const int last = size - 1;
    const int vrank = (group.self() - root + size) % size;
    const bool mirrored = last % 2 == 0;
    const auto to_place = [&](int v) { return mirrored ? size - v : v % last + 1; };
    const auto to_vrank = [&](int place) { return mirrored ? size - place : (place + last - 2) % last + 1; };
    int top = 1;
    while (top * 2 <= last) top *= 2;

    std::array<TreeNode, 2> nodes;
    for (std::size_t tree = 0; tree < 2 && last > 0; ++tree) {
        const auto rank_at = [&](int place) {
            return group.rank(((tree == 0 ? place : to_vrank(place)) + root) % size);
        };
        TreeNode& node = nodes[tree];
        if (vrank == 0) {
            node.children.push_back(rank_at(top));
            continue;
        }
        node = in_order_node(tree == 0 ? vrank : to_place(vrank), last);
        node.parent = node.parent == 0 ? group.rank(root) : rank_at(node.parent);
        for (int& child : node.children) child = rank_at(child);
    }
    return nodes;
}

}  // namespace hcoll
