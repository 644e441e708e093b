// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/tree_levels.hpp"

#include <algorithm>
#include <cassert>

namespace hcoll {

namespace {

struct WholeTree {
    const NodeOf& node_of;

    // The level of the message from `child`, where its parent has handled the one before at `before`. It looks no further down
    // than the limit: chains are as deep as they have members.
    int next_level(int before, int child, int limit) const {
        if (before >= limit) return limit + 1;
        return std::max(before, last_level(child, limit - 1)) + 1;
    }
    // Of the messages from all children of `member`: 0 at a leaf.
    int last_level(int member, int limit) const {
        int level = 0;
        for (const int child : node_of(member).children) {
            level = next_level(level, child, limit);
            if (level > limit) break;
        }
        return level;
    }
};

}  // namespace

TreeLevels tree_levels(const NodeOf& node_of, int member, int limit) {
    assert(limit >= 1 && "levels are numbered from 1 on");
    const WholeTree whole{node_of};
    const TreeNode node = node_of(member);
    TreeLevels levels;
    levels.children.reserve(node.children.size());
    int level = 0;
    for (const int child : node.children) levels.children.push_back(level = whole.next_level(level, child, limit));
    if (node.parent < 0) return levels;
    for (const int sibling : node_of(node.parent).children) {
        levels.parent = whole.next_level(levels.parent, sibling, limit);
        if (sibling == member || levels.parent > limit) break;
    }
    return levels;
}

}  // namespace hcoll
