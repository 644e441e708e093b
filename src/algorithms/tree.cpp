#include "algorithms/tree.hpp"

namespace hcoll {

namespace {

TreeNode chain_node(int ranks, int vrank) {
    TreeNode node{.parent = vrank - 1, .children = {}};
    if (vrank + 1 < ranks) node.children.push_back(vrank + 1);
    return node;
}

// The root takes the first vrank of a run; its two subtrees take the halves of the rest, the first one the larger.
TreeNode binary_node(int ranks, int vrank) {
    TreeNode node;
    int first = 0;
    int size = ranks;
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

// The parent clears the lowest set bit; the children set one of the zeros below it.
TreeNode binomial_node(int ranks, int vrank) {
    TreeNode node;
    int bit = 1;
    for (; vrank + bit < ranks && (vrank & bit) == 0; bit <<= 1) node.children.push_back(vrank + bit);
    if (vrank != 0) node.parent = vrank & (vrank - 1);
    return node;
}

}  // namespace

TreeNode tree_node(TreeShape shape, int ranks, int vrank) {
    switch (shape) {
        case TreeShape::chain: return chain_node(ranks, vrank);
        case TreeShape::binary: return binary_node(ranks, vrank);
        case TreeShape::binomial: break;
    }
    return binomial_node(ranks, vrank);
}

TreeNode rooted_tree_node(TreeShape shape, int ranks, int rank, int root) {
    const auto to_rank = [&](int vrank) { return vrank < 0 ? -1 : (vrank + root) % ranks; };
    TreeNode node = tree_node(shape, ranks, (rank - root + ranks) % ranks);
    node.parent = to_rank(node.parent);
    for (int& child : node.children) child = to_rank(child);
    return node;
}

}  // namespace hcoll
