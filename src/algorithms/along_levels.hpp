// A broadcast and a reduction through the levels of a hierarchy: what HAN and the topology-aware tree are made of.
#pragma once

#include "algorithms/along_tree.hpp"
#include "algorithms/hierarchy.hpp"

namespace hcoll {

// The tree of each level.
struct LevelTrees {
    Tree network;
    Tree node;
    Tree socket;
};

inline bool has_two_trees(const LevelTrees& trees) {
    const auto is_two = [](const Tree& tree) { return tree.shape == TreeShape::two_tree; };
    return is_two(trees.network) || is_two(trees.node) || is_two(trees.socket);
}

// The one tree that the levels are together, rooted at `root`, as the node of a rank. Not of two trees.
inline TreeNode node_of_levels(const Placement& placement, int rank, int root, bool with_sockets,
                               const LevelTrees& trees) {
    const Hierarchy levels = hierarchy_of(placement, rank, root, with_sockets);
    TreeNode whole;
    const auto add = [&](const RankGroup& group, const Tree& tree) {
        if (!group.has_self()) return;
        const TreeNode node = tree_node(tree, group, 0);
        whole.parent = node.parent;
        whole.children.insert(whole.children.end(), node.children.begin(), node.children.end());
    };
    add(levels.socket, trees.socket);
    add(levels.node, trees.node);
    add(levels.network, trees.network);
    return whole;
}

// From the leader of a node to all its ranks.
inline void bcast_on_node(PlanBuilder& plan, const Hierarchy& levels, const LevelTrees& trees, const Region& data) {
    bcast_along(plan, levels.node, 0, trees.node, data);
    bcast_along(plan, levels.socket, 0, trees.socket, data);
}

// From all ranks of a node to its leader: returns where the caller's operand, combined with those below it, is; in
// `result` unless nobody is below it.
inline Region reduce_on_node(PlanBuilder& plan, const Hierarchy& levels, const LevelTrees& trees, bool ordered,
                             const Region& own, const Region& result) {
    Region value = own;
    const auto up = [&](const RankGroup& group, const Tree& tree) {
        if (!group.has_self() || group.size() == 1) return;
        reduce_along(plan, group, 0, tree, ordered, value, result);
        if (group.self() == 0) value = result;
    };
    up(levels.socket, trees.socket);
    up(levels.node, trees.node);
    return value;
}

// A leader's operand for the MPI library's collective: never the memory of the result, since all leaders must be alike in
// whether they call in place, and some have nobody below them and their operand where the application gave it.
inline Region operand_of_leader(PlanBuilder& plan, const Region& value, const Region& result) {
    if (!(value == result)) return value;
    const Region operand = plan.scratch();
    plan.copy(value, operand);
    return operand;
}

}  // namespace hcoll
