// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a node talk to which: groups within groups, along its packages, sockets and last-level caches.
//
//   2 packages, each with 2 caches of 4 cores, in a tree that is 4 wide; who comes first in a group leads it, and is in the next one
//
//     all of the node            { 0  8 }
//     a package's caches      { 0  4 }     { 8  12 }
//     a cache's ranks       0 1 2 3  4 5 6 7  8 9 10 11  12 13 14 15
//
// A group's ranks are neighbors there, whatever their numbers. No group is wider than the tree may be: parts of which there are more are put
// together with their neighbors, in as few steps as that takes and steps of about the same width: the 72 ranks of one cache in groups of
// 5, 4, and 3 or 4. Where as many ranks as the tree is wide or fewer are left, they are one group, whatever divides them: a step less is worth more.
//
// An operation has a root for some: in each group that the root is in, it takes the place of the one that leads. So a message
// goes up, or down, as many steps as there are groups around a rank.
//
// Of l groups around a rank, none wider than w, it waits for l (w - 1) others at most. What it has for those that it leads it puts into a line for each:
// no such line has more than w - 1 readers (but for the innermost of more than most_tiers groups, which have one in common). Which line is a group's goes by its tier, which all of its members count alike: from the outermost group on.
//
// Sources: XHC (Katevenis et al. 2022) for groups that follow the machine; Jain et al. 2018 for the width of shared-memory trees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// One rank's view; immutable. Its size goes with the groups around the rank, and where ranks do not sit in their order, with theirs.
class NodeTree {
public:
    // Of the ranks that are below it, by their positions in the order, the half-open range [begin, end).
    struct Group {
        std::vector<int> members;  // in the order; the first one leads
        int begin = 0;
        int end = 0;

        int leader() const { return members.front(); }
    };

    // All ranks of the placement, of which there are two or more, are on one node. `widest` >= 2.
    NodeTree(const Placement& placement, int rank, int widest);

    // Around this rank, the innermost first; the last one has all ranks below it. All have two members or more.
    const std::vector<Group>& groups() const { return groups_; }
    // Where a rank is in the order, and whether that is the ranks' own.
    int position_of(int rank) const { return positions_.empty() ? rank : positions_[static_cast<std::size_t>(rank)]; }
    bool is_in_rank_order() const { return positions_.empty(); }
    // Positions that follow one another.
    struct Run {
        int begin = 0;
        int end = 0;

        bool has(int position) const { return begin <= position && position < end; }
        std::size_t size() const { return static_cast<std::size_t>(end - begin); }
    };
    // Those of a member and of the ranks below it. A leader's own position is the first.
    Run run_of(const Group& group, std::size_t member) const {
        const bool is_last = member + 1 == group.members.size();
        return {position_of(group.members[member]), is_last ? group.end : position_of(group.members[member + 1])};
    }
    // This rank's and those of the ranks below it in `led` groups that it leads.
    Run run_led(std::size_t led) const {
        if (led == 0) return {position_of(rank_), position_of(rank_) + 1};
        return {groups_[led - 1].begin, groups_[led - 1].end};
    }
    // All that `leader`, who leads this rank's group of that number, has of a root that is not below it.
    Run run_led_by(std::size_t group, int root) const {
        const int leader = groups_[group].leader();
        while (group + 1 < groups_.size() && groups_[group + 1].leader() == leader && !has(groups_[group + 1], root))
            ++group;
        return {groups_[group].begin, groups_[group].end};
    }
    // Are all ranks in one group? (One that is alone in its part may know of one group only in any case.)
    bool is_flat() const { return is_flat_; }
    bool has(const Group& group, int rank) const {
        const int position = position_of(rank);
        return group.begin <= position && position < group.end;
    }
    // How many of them this rank leads, but for the last one.
    std::size_t groups_led() const { return led_; }
    // Those that a root is in are not led by others.
    std::size_t groups_led(int root) const {
        std::size_t led = 0;
        while (led < led_ && !has(groups_[led], root)) ++led;
        return led;
    }
    // Of a group around this rank. The innermost ones of more have one in common.
    static constexpr std::size_t most_tiers = 4;
    std::size_t tier_of(std::size_t group) const { return std::min(groups_.size() - 1 - group, most_tiers - 1); }
    // From whom this rank has the message of another one, of which tier, and for how many that it leads it passes it on.
    struct Way {
        int source;
        std::size_t tier;
        std::size_t led;
    };
    Way way_from(int root) const {
        if (is_flat_) [[likely]]
            return {root, 0, 0};
        const std::size_t led = groups_led(root);
        return {has(groups_[led], root) ? root : groups_[led].leader(), tier_of(led), led};
    }

private:
    int rank_;
    std::vector<std::uint16_t> positions_;  // by rank, where they are not the ranks
    std::vector<Group> groups_;
    std::size_t led_ = 0;
    bool is_flat_ = false;
};

}  // namespace hcoll
