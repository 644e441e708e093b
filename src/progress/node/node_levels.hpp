// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a node divide a long message among them, along its packages, sockets and last-level caches: who combines which part of it at which
// level.
//
// Every rank has a share of each level. At level 0 the ranks of a cache combine their operands, each its share; at level 1 those of all caches of
// a socket combine what caches gave, in shares that are smaller by as much as there are caches; and so on. So each part of a message crosses
// a package's border once for each other package, however many ranks there are. 2 caches of 2 cores, a message of 4 parts:
//
//              rank 0     rank 1     rank 2     rank 3
//   level 0    [ # # . . ] [ . . # # ] [ # # . . ] [ . . # # ]    # of both ranks of its cache
//   level 1    [ # . . . ] [ . . # . ] [ . # . . ] [ . . . # ]    # of both caches
//
// Where parts are divided alike, a share of level s is within the one that its rank has of level s - 1, and nobody else reads that rank's part of it.
// Where parts differ in size, shares overlap those of several ranks in another part; each is then read in pieces.
//
// Parts of `undivided` ranks or fewer are not divided, whatever is between them, and levels at which nothing is divided are left out. A node whose ranks
// are all in one part has no levels.
//
// A broadcast goes from the root to the other parts of its outermost level, to who leads them, and within each to those of the next one; at level 0 to
// all ranks. From level 1 on each passes it on to two other parts of its level at most: parts have no cache in common, and what leaves a cache takes longest.
//
//   8 caches of a package     0 -> 1 2     1 -> 3 4     2 -> 5 6     3 -> 7
//
// Where every rank reads what every other one has (an allgather), each goes from part to part, from its own on, and in each part begins where it is in its
// own. So at any time the ranks of each cache are at another cache, and what comes from another package is fetched by a different cache of this one, for
// all of its caches. Were all to go by the numbers of ranks, one cache would fetch everything, and all others have it from there. The ranks after themselves,
// 2 packages of 2 caches of 2 cores:
//
//   rank 0    1 | 2 3 | 4 5 | 6 7        rank 2    3 | 0 1 | 6 7 | 4 5
//   rank 1    0 | 3 2 | 5 4 | 7 6        rank 3    2 | 1 0 | 7 6 | 5 4
//
// Operands are combined in the order of parts, and of ranks in them (nested_combination.hpp).
//
// Source: slices that are owned inside each NUMA node first: Luo 2020 (thesis), section 5.2.2 (SOLO); levels of the machine: XHC (Katevenis et al. 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// One rank's view; immutable. Its size goes with the members of its parts at each level, and 7 bytes for each rank.
class NodeLevels {
public:
    // [index / of, (index + 1) / of) of a message.
    struct Share {
        int index = 0;
        int of = 1;

        // In bytes, of `elements` elements: a whole number of cache lines where elements fit in them.
        std::size_t begin(std::size_t elements, std::size_t element_bytes) const {
            return border(index, elements, element_bytes);
        }
        std::size_t end(std::size_t elements, std::size_t element_bytes) const {
            return border(index + 1, elements, element_bytes);
        }
        bool overlaps(const Share& other) const {
            return std::int64_t{index} * other.of < std::int64_t{other.index + 1} * of &&
                   std::int64_t{other.index} * of < std::int64_t{index + 1} * other.of;
        }

    private:
        std::size_t border(int number, std::size_t elements, std::size_t element_bytes) const;
    };
    struct Source {
        int rank;
        Share share;
    };
    struct Level {
        Share share;  // this rank's
        // What is combined in it: of each part of the level's part, in their order, who has what of this rank's share, in the order of shares. At level
        // 0 parts are ranks, and each has all.
        std::vector<std::vector<Source>> operands;
        // Who has the result of this rank's share of the level below; at level 0, of all of the message.
        std::vector<Source> results;
        // Who leads each of those parts, by position the first; and which of them this rank is in.
        std::vector<int> leaders;
        std::size_t own_part = 0;
        // The positions of the ranks of the level's part.
        int begin = 0;
        int end = 0;
    };

    // All ranks of the placement, of which there are two or more, are on one node.
    NodeLevels(const Placement& placement, int rank, int undivided);

    // The first one is innermost; the last one's part has all ranks.
    const std::vector<Level>& levels() const { return levels_; }
    bool is_divided() const { return !levels_.empty(); }
    static constexpr std::size_t most_levels = 4;

    // Who reads what this rank has, besides itself.
    const std::vector<int>& readers() const { return readers_; }
    // Of the last level.
    Share last_share(int rank) const { return {last_[static_cast<std::size_t>(rank)], static_cast<int>(last_.size())}; }

    // From whom this rank has a message of `root`, or itself if it is the root; visits those to whom it passes it on.
    template <typename Visit>
    int pass_on(int root, Visit&& visit) const;

    // Visits all other ranks, each in an order of its own; where nothing is divided, in that of ranks.
    template <typename Visit>
    void visit_others(Visit&& visit) const;

    // By position; of how many levels, not counting the one of all ranks, the rank there shares a part with the one before it.
    int rank_at(int position) const { return order_[static_cast<std::size_t>(position)]; }
    std::size_t parts_shared(int position) const { return shared_[static_cast<std::size_t>(position)]; }

private:
    // Which of a level's parts has that position.
    std::size_t part_of(const Level& level, int position) const;

    // The positions [begin, end) are a part around which there are `around` others; begins with the part within it that has position `from`.
    template <typename Visit>
    void visit_part(int begin, int end, std::size_t around, int from, Visit& visit) const;

    int rank_;
    int ranks_;
    std::vector<Level> levels_;
    std::vector<int> readers_;
    std::vector<std::uint16_t> order_;
    std::vector<std::uint16_t> positions_;  // by rank
    std::vector<std::uint16_t> last_;       // by rank
    std::vector<std::uint8_t> shared_;      // by position
};

template <typename Visit>
int NodeLevels::pass_on(int root, Visit&& visit) const {
    const int at = positions_[static_cast<std::size_t>(root)];
    for (std::size_t number = 0; number < levels_.size(); ++number) {
        const Level& level = levels_[number];
        const bool has_root = level.begin <= at && at < level.end;
        const int leader = has_root ? root : level.leaders.front();
        const std::size_t parts = level.leaders.size();
        const std::size_t first = has_root ? part_of(level, at) : 0;
        if (number == 0) {
            if (leader != rank_) return leader;
            for (std::size_t part = 0; part < parts; ++part)
                if (part != level.own_part) visit(level.leaders[part]);
            continue;
        }
        // This rank is the first of its part to have it.
        const std::size_t own = (level.own_part + parts - first) % parts;
        for (const std::size_t reader : {2 * own + 1, 2 * own + 2})
            if (reader < parts) visit(level.leaders[(first + reader) % parts]);
        if (own > 0) return own <= 2 ? leader : level.leaders[(first + (own - 1) / 2) % parts];
    }
    return rank_;
}

template <typename Visit>
void NodeLevels::visit_others(Visit&& visit) const {
    if (is_divided()) return visit_part(0, ranks_, 0, positions_[static_cast<std::size_t>(rank_)], visit);
    for (int step = 1; step < ranks_; ++step) visit((rank_ + step) % ranks_);
}

template <typename Visit>
void NodeLevels::visit_part(int begin, int end, std::size_t around, int from, Visit& visit) const {
    if (end - begin == 1) {
        if (rank_at(begin) != rank_) visit(rank_at(begin));
        return;
    }
    const auto end_of = [&](int part) {
        do ++part;
        while (part < end && parts_shared(part) > around);
        return part;
    };
    int first = from;
    while (first > begin && parts_shared(first) > around) --first;
    const int first_size = end_of(first) - first;
    int part = first;
    do {
        const int part_end = end_of(part);
        visit_part(part, part_end, around + 1, part + (from - first) * (part_end - part) / first_size, visit);
        part = part_end == end ? begin : part_end;
    } while (part != first);
}

}  // namespace hcoll
