// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/tree.hpp"

#include "base/check.hpp"

namespace hcoll {

namespace {

// Whoever the root is, it lists the others in the order of indices.
TreeNode flat_node(int size, int index, int root) {
    TreeNode node{.parent = index == root ? -1 : root, .children = {}, .lower = 0};
    if (index != root) return node;
    for (int child = 0; child < size; ++child)
        if (child != root) node.children.push_back(child);
    node.lower = root;
    return node;
}

TreeNode chain_node(int size, int vrank) {
    TreeNode node{.parent = vrank - 1, .children = {}};
    if (vrank + 1 < size) node.children.push_back(vrank + 1);
    return node;
}

// Two arms from the root, one in each direction; the upper one is longer where they cannot be equal.
TreeNode ring_node(int size, int vrank) {
    const int end_of_upper = size / 2;
    TreeNode node;
    if (vrank <= end_of_upper) {
        node.parent = vrank - 1;
        if (vrank + 1 <= end_of_upper) node.children.push_back(vrank + 1);
        if (vrank == 0 && size - 1 > end_of_upper) node.children.push_back(size - 1);
        return node;
    }
    node.parent = (vrank + 1) % size;
    if (vrank - 1 > end_of_upper) node.children.push_back(vrank - 1);
    node.lower = static_cast<int>(node.children.size());
    return node;
}

// The same along the line of indices, without the link between its ends.
TreeNode linear_node(int size, int index, int root) {
    TreeNode node;
    if (index < root) node.parent = index + 1;
    if (index > root) node.parent = index - 1;
    if (index <= root && index > 0) node.children.push_back(index - 1);
    node.lower = static_cast<int>(node.children.size());
    if (index >= root && index + 1 < size) node.children.push_back(index + 1);
    return node;
}

// The root takes the first vrank of a run; its two subtrees take the halves of the rest, the first one the larger.
TreeNode binary_node(int size, int vrank) {
    TreeNode node;
    int first = 0;
    while (true) {
        const int left_size = size / 2;
        const int left = first + 1;
        const int right = left + left_size;
        const int end = first + size;
        if (vrank == first) {
            if (left_size > 0) node.children.push_back(left);
            if (right < end) node.children.push_back(right);
            return node;
        }
        node.parent = first;
        size = vrank < right ? left_size : end - right;
        first = vrank < right ? left : right;
    }
}

// In digits to the base `radix`: the parent clears the lowest one that is not 0; the children set one of the zeros below.
TreeNode k_nomial_node(int size, int vrank, int radix) {
    TreeNode node;
    std::int64_t place = 1;
    for (; place < size && vrank / place % radix == 0; place *= radix)
        for (int digit = 1; digit < radix && vrank + digit * place < size; ++digit)
            node.children.push_back(static_cast<int>(vrank + digit * place));
    if (vrank != 0) node.parent = static_cast<int>(vrank - vrank / place % radix * place);
    return node;
}

TreeNode vrank_node(const Tree& tree, int size, int vrank) {
    switch (tree.shape) {
        case TreeShape::chain: return chain_node(size, vrank);
        case TreeShape::ring: return ring_node(size, vrank);
        case TreeShape::binary: return binary_node(size, vrank);
        case TreeShape::binomial: return k_nomial_node(size, vrank, 2);
        case TreeShape::k_nomial: return k_nomial_node(size, vrank, tree.radix);
        case TreeShape::flat:
        case TreeShape::linear:
        case TreeShape::two_tree: break;
    }
    stop("not one tree in vranks");
}

}  // namespace

TreeNode tree_node(const Tree& tree, int size, int index, int root) {
    if (tree.shape == TreeShape::flat) return flat_node(size, index, root);
    if (tree.shape == TreeShape::linear) return linear_node(size, index, root);
    const auto to_index = [&](int vrank) { return vrank < 0 ? -1 : (vrank + root) % size; };
    TreeNode node = vrank_node(tree, size, (index - root + size) % size);
    node.parent = to_index(node.parent);
    for (int& child : node.children) child = to_index(child);
    return node;
}

TreeNode tree_node(const Tree& tree, const RankGroup& group, int root) {
    TreeNode node = tree_node(tree, group.size(), group.self(), root);
    if (node.parent >= 0) node.parent = group.rank(node.parent);
    for (int& child : node.children) child = group.rank(child);
    return node;
}

}  // namespace hcoll
