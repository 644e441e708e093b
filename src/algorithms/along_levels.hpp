// SPDX-License-Identifier: BSD-3-Clause
// A broadcast and a reduction through the levels of a hierarchy: what HAN and the topology-aware tree are made of.
#pragma once

#include "algorithms/along_tree.hpp"
#include "algorithms/hierarchy.hpp"

namespace hcoll {

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
