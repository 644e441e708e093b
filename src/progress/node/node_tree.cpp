// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/node_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "progress/node/node_order.hpp"

namespace hcoll {

namespace {

std::size_t at_index(int index) { return static_cast<std::size_t>(index); }

// Ranks in an order, and how ranges of it are divided.
class Division {
public:
    // Where the ranges of a division begin, ascending, and the end of the last one.
    using Cuts = std::vector<int>;

    Division(const Placement& placement, int widest) : widest_(widest), order_(placement) {}

    const std::vector<int>& ranks() const { return order_.ranks; }

    // Into the widest parts there are; ranks at the end.
    Cuts parts_of(int begin, int end) const {
        for (std::size_t level = 0; level < NodeParts{}.size() && end - begin > widest_; ++level) {
            Cuts cuts;
            for (int at = begin; at < end; ++at)
                if (at == begin || part(at, level) != part(at - 1, level)) cuts.push_back(at);
            if (cuts.size() == 1) continue;
            cuts.push_back(end);
            return cuts;
        }
        Cuts cuts(at_index(end - begin + 1));
        std::iota(cuts.begin(), cuts.end(), begin);
        return cuts;
    }

private:
    int part(int position, std::size_t level) const { return order_.parts[at_index(position)][level]; }

    int widest_;
    NodeOrder order_;
};

// The range that has a position.
std::size_t range_of(const Division::Cuts& cuts, int position) {
    return at_index(static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), position) - cuts.begin()) - 1);
}

int power(int base, int exponent) {
    int product = 1;
    for (int i = 0; i < exponent; ++i) product *= base;
    return product;
}

// How many groups more than `widest` parts are put together to: as few steps as that allows, all of about the same width.
int groups_for(int parts, int widest) {
    int steps = 1;
    while (power(widest, steps) < parts) ++steps;
    int groups = 2;
    while (power(groups, steps) < parts) ++groups;
    return groups;
}

// The parts, or where there are more than `widest`, what neighbors are put together to.
Division::Cuts joined(const Division::Cuts& cuts, int widest) {
    const int parts = static_cast<int>(cuts.size()) - 1;
    if (parts <= widest) return cuts;
    const int wanted = groups_for(parts, widest);
    Division::Cuts fewer;
    for (int i = 0; i <= wanted; ++i) fewer.push_back(cuts[at_index(i * parts / wanted)]);
    return fewer;
}

}  // namespace

NodeTree::NodeTree(const Placement& placement, int rank, int widest) : rank_(rank) {
    const int ranks = placement.ranks();
    check(placement.nodes() == 1 && ranks > 1 && ranks <= std::numeric_limits<std::uint16_t>::max() && widest > 1,
          "a tree is of the ranks of one node");
    const Division division(placement, widest);
    const std::vector<int>& in_order = division.ranks();
    if (!std::is_sorted(in_order.begin(), in_order.end())) {
        positions_.resize(at_index(ranks));
        for (int position = 0; position < ranks; ++position)
            positions_[at_index(in_order[at_index(position)])] = static_cast<std::uint16_t>(position);
    }

    // From the group of all ranks inwards.
    Division::Cuts parts = division.parts_of(0, ranks);
    for (;;) {
        const Division::Cuts cuts = joined(parts, widest);
        const std::size_t mine = range_of(cuts, position_of(rank_));
        const int begin = cuts[mine];
        const int end = cuts[mine + 1];
        if (cuts.size() > 2) {
            groups_.push_back({.members = {}, .begin = cuts.front(), .end = cuts.back()});
            for (auto cut = cuts.begin(); cut + 1 != cuts.end(); ++cut)
                groups_.back().members.push_back(in_order[at_index(*cut)]);
        }
        if (end - begin == 1) break;
        // What was put together is divided in the next turn.
        parts = cuts.size() == parts.size() ? division.parts_of(begin, end)
                                            : Division::Cuts(std::lower_bound(parts.begin(), parts.end(), begin),
                                                             std::upper_bound(parts.begin(), parts.end(), end));
    }
    std::reverse(groups_.begin(), groups_.end());
    while (led_ + 1 < groups_.size() && groups_[led_].leader() == rank_) ++led_;
    is_flat_ = groups_.back().members.size() == at_index(ranks);
}

}  // namespace hcoll
