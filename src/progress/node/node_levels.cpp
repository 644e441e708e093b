// SPDX-License-Identifier: BSD-3-Clause
#include "progress/node/node_levels.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "progress/node/memory_units.hpp"
#include "progress/node/node_order.hpp"

namespace hcoll {

namespace {

std::size_t at_index(int index) { return static_cast<std::size_t>(index); }

struct Range {
    int begin = 0;
    int end = 0;

    int size() const { return end - begin; }
    bool operator==(const Range&) const = default;
};

// By position: the part of a level that it is in, and which share of it the rank there has.
struct Division {
    std::vector<Range> parts;
    std::vector<int> indices;

    NodeLevels::Share share(int position) const {
        return {indices[at_index(position)], parts[at_index(position)].size()};
    }
};

bool begins_before(const NodeLevels::Share& one, const NodeLevels::Share& other) {
    return std::int64_t{one.index} * other.of < std::int64_t{other.index} * one.of;
}

// The parts within those of `around` whose ranks have the same first `known` numbers.
std::vector<Range> divide(const std::vector<Range>& around, const std::vector<NodeParts>& parts, std::size_t known,
                          int undivided) {
    std::vector<Range> finer(around);
    for (int begin = 0; begin < static_cast<int>(parts.size());) {
        const auto is_like_the_first = [&](int position) {
            return std::equal(parts[at_index(begin)].begin(),
                              parts[at_index(begin)].begin() + static_cast<std::ptrdiff_t>(known),
                              parts[at_index(position)].begin());
        };
        Range part = around[at_index(begin)];
        if (part.size() > undivided) {
            part = {begin, begin + 1};
            while (part.end < around[at_index(begin)].end && is_like_the_first(part.end)) ++part.end;
        }
        std::fill(finer.begin() + part.begin, finer.begin() + part.end, part);
        begin = part.end;
    }
    return finer;
}

// Neighbors in the order of what they have at the level below have neighboring shares; at level 0, where all have all, neighbors by position.
void deal_shares(Division& division, const Division* below) {
    const int ranks = static_cast<int>(division.parts.size());
    division.indices.resize(at_index(ranks));
    std::vector<int> in_order(at_index(ranks));
    std::iota(in_order.begin(), in_order.end(), 0);
    for (int begin = 0; begin < ranks; begin = division.parts[at_index(begin)].end) {
        const Range part = division.parts[at_index(begin)];
        if (below != nullptr)
            std::stable_sort(in_order.begin() + part.begin, in_order.begin() + part.end,
                             [&](int a, int b) { return begins_before(below->share(a), below->share(b)); });
        for (int index = 0; index < part.size(); ++index)
            division.indices[at_index(in_order[at_index(part.begin + index)])] = index;
    }
}

}  // namespace

std::size_t NodeLevels::Share::border(int number, std::size_t elements, std::size_t element_bytes) const {
    const std::size_t grain = cache_line_bytes % element_bytes == 0 ? cache_line_bytes / element_bytes : 1;
    const std::size_t grains = (elements + grain - 1) / grain;
    const std::size_t first = grains * static_cast<std::size_t>(number) / static_cast<std::size_t>(of) * grain;
    return std::min(first, elements) * element_bytes;
}

NodeLevels::NodeLevels(const Placement& placement, int rank, int undivided) : rank_(rank), ranks_(placement.ranks()) {
    const int ranks = ranks_;
    check(placement.nodes() == 1 && ranks > 1 && ranks <= std::numeric_limits<std::uint16_t>::max() && undivided > 0,
          "levels are of the ranks of one node");
    if (ranks <= undivided) return;
    const NodeOrder in_order(placement);
    const std::vector<int>& order = in_order.ranks;

    // From that of all ranks inwards.
    std::vector<Division> divisions{{std::vector<Range>(at_index(ranks), {0, ranks}), {}}};
    static_assert(most_levels == NodeParts{}.size() + 1);
    for (std::size_t known = 1; known <= NodeParts{}.size(); ++known) {
        std::vector<Range> finer = divide(divisions.back().parts, in_order.parts, known, undivided);
        if (finer != divisions.back().parts) divisions.push_back({std::move(finer), {}});
    }
    if (divisions.size() == 1) return;
    std::reverse(divisions.begin(), divisions.end());
    for (std::size_t level = 0; level < divisions.size(); ++level)
        deal_shares(divisions[level], level == 0 ? nullptr : &divisions[level - 1]);

    order_.assign(order.begin(), order.end());
    positions_.resize(at_index(ranks));
    last_.resize(at_index(ranks));
    for (int position = 0; position < ranks; ++position) {
        const auto at = at_index(order[at_index(position)]);
        positions_[at] = static_cast<std::uint16_t>(position);
        last_[at] = static_cast<std::uint16_t>(divisions.back().indices[at_index(position)]);
        std::uint8_t shared = 0;
        for (std::size_t level = 0; level + 1 < divisions.size() && position > 0; ++level)
            if (divisions[level].parts[at_index(position)].begin < position) ++shared;
        shared_.push_back(shared);
    }

    const int own = positions_[at_index(rank_)];
    const Share all;
    std::vector<bool> reads(at_index(ranks), false);  // what this rank has, by position
    for (std::size_t number = 0; number < divisions.size(); ++number) {
        const Division& division = divisions[number];
        const Division* below = number == 0 ? nullptr : &divisions[number - 1];
        const Range part = division.parts[at_index(own)];
        const auto share_below = [&](int position) { return below == nullptr ? all : below->share(position); };
        Level level{.share = division.share(own),
                    .operands = {},
                    .results = {},
                    .leaders = {},
                    .begin = part.begin,
                    .end = part.end};
        for (int position = part.begin; position < part.end; ++position) {
            const bool begins_part = below == nullptr || below->parts[at_index(position)].begin == position;
            if (begins_part) {
                if (position <= own) level.own_part = level.leaders.size();
                level.leaders.push_back(order[at_index(position)]);
                level.operands.emplace_back();
            }
            const Source source{order[at_index(position)], share_below(position)};
            if (source.share.overlaps(level.share)) level.operands.back().push_back(source);
            const Source result{source.rank, division.share(position)};
            if (result.share.overlaps(share_below(own))) level.results.push_back(result);
            // The same, seen from there.
            if (share_below(own).overlaps(result.share) || level.share.overlaps(source.share))
                reads[at_index(position)] = true;
        }
        const auto by_share = [](const Source& a, const Source& b) { return begins_before(a.share, b.share); };
        for (std::vector<Source>& of_part : level.operands) std::sort(of_part.begin(), of_part.end(), by_share);
        std::sort(level.results.begin(), level.results.end(), by_share);
        levels_.push_back(std::move(level));
    }
    for (int position = 0; position < ranks; ++position)
        if (reads[at_index(position)] && position != own) readers_.push_back(order[at_index(position)]);
}

std::size_t NodeLevels::part_of(const Level& level, int position) const {
    const auto begins_behind = [&](int leader) { return positions_[at_index(leader)] > position; };
    return at_index(static_cast<int>(std::find_if(level.leaders.begin(), level.leaders.end(), begins_behind) -
                                     level.leaders.begin()) -
                    1);
}

}  // namespace hcoll
