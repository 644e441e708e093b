// SPDX-License-Identifier: BSD-3-Clause
// Long messages along the levels of a node: how ranks divide them among them, and that whatever way a reduction goes, it combines in one order.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "../support/seed.hpp"
#include "failing_memory.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/node_levels.hpp"
#include "rank_threads.hpp"
#include "topology/virtual_layout.hpp"

namespace hcoll::test {
namespace {

constexpr int undivided = NodeCollectives::flat_ranks;

std::size_t at_index(int index) { return static_cast<std::size_t>(index); }

Placement placed(const std::string& layout) {
    VirtualLayout parsed;
    EXPECT_EQ(VirtualLayout::parse(layout, parsed).value_or(""), "");
    std::vector<Seat> seats;
    EXPECT_EQ(parsed.seats(parsed.places(), seats), std::nullopt);
    return Placement(seats);
}

Placement random_placement(int ranks, std::mt19937_64& random) {
    const int packages = 1 + static_cast<int>(random() % 3);
    const int sockets = packages * (1 + static_cast<int>(random() % 2));
    const int caches = sockets * (1 + static_cast<int>(random() % 4));
    const bool in_order = random() % 2 == 0;
    std::vector<int> cache_of(at_index(ranks));
    for (int& each : cache_of) each = static_cast<int>(random() % static_cast<unsigned>(caches));
    if (in_order) std::sort(cache_of.begin(), cache_of.end());
    std::vector<Seat> seats;
    for (const int cache : cache_of) {
        const int socket = cache * sockets / caches;
        seats.push_back({.node = 0, .socket = socket, .package = socket * packages / sockets, .cache = cache});
    }
    return Placement(seats);
}

std::vector<NodeLevels> levels_of(const Placement& placement, int undivided_ranks) {
    std::vector<NodeLevels> all;
    for (int rank = 0; rank < placement.ranks(); ++rank) all.emplace_back(placement, rank, undivided_ranks);
    return all;
}

// Who has a byte of a level's result, or at level -1 of the operands, among those of a part: one has it.
std::vector<int> holders(const std::vector<NodeLevels>& all, const NodeLevels::Level& part, std::size_t level,
                         std::size_t byte, std::size_t bytes) {
    std::vector<int> found;
    for (int position = part.begin; position < part.end; ++position) {
        const int rank = all.front().rank_at(position);
        const NodeLevels::Share& share = all[at_index(rank)].levels()[level].share;
        if (share.begin(bytes, 1) <= byte && byte < share.end(bytes, 1)) found.push_back(rank);
    }
    return found;
}

void expect_levels_to_fit(const std::vector<NodeLevels>& all) {
    const std::size_t count = all.front().levels().size();
    constexpr std::size_t bytes = 64 * 7 * 11 + 5;
    std::vector<std::set<int>> read_by(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        ASSERT_EQ(all[rank].levels().size(), count);
        for (std::size_t number = 0; number < count; ++number) {
            const NodeLevels::Level& level = all[rank].levels()[number];
            EXPECT_EQ(level.operands.size(), level.leaders.size());
            for (const auto& part : level.operands)
                for (const auto& source : part) read_by[at_index(source.rank)].insert(static_cast<int>(rank));
            for (const auto& source : level.results) read_by[at_index(source.rank)].insert(static_cast<int>(rank));
            for (std::size_t byte = 0; byte < bytes; byte += 61) {
                ASSERT_EQ(holders(all, level, number, byte, bytes).size(), 1U) << "byte " << byte;
                if (level.share.begin(bytes, 1) > byte || byte >= level.share.end(bytes, 1)) continue;
                for (const auto& part : level.operands)
                    EXPECT_EQ(std::count_if(part.begin(), part.end(),
                                            [&](const NodeLevels::Source& source) {
                                                return source.share.begin(bytes, 1) <= byte &&
                                                       byte < source.share.end(bytes, 1);
                                            }),
                              1)
                        << "byte " << byte << " of level " << number;
            }
        }
        const NodeLevels::Level& last = all[rank].levels().back();
        EXPECT_EQ(last.end - last.begin, static_cast<int>(all.size()));
        const NodeLevels::Share share = all.front().last_share(static_cast<int>(rank));
        EXPECT_EQ(share.index, last.share.index);
        EXPECT_EQ(share.of, last.share.of);
    }
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        read_by[rank].erase(static_cast<int>(rank));
        const std::set<int> readers(all[rank].readers().begin(), all[rank].readers().end());
        EXPECT_EQ(readers, read_by[rank]) << "of rank " << rank;
    }
}

// From any root to all, and who is passed a message knows from whom.
void expect_ways(const std::vector<NodeLevels>& all) {
    const int ranks = static_cast<int>(all.size());
    for (int root = 0; root < ranks; ++root) {
        std::vector<int> sources(all.size(), -1);
        for (int rank = 0; rank < ranks; ++rank) {
            all[at_index(rank)].pass_on(root, [&](int reader) {
                EXPECT_EQ(sources[at_index(reader)], -1);
                sources[at_index(reader)] = rank;
            });
        }
        const auto source_of = [&](int rank) { return all[at_index(rank)].pass_on(root, [](int) {}); };
        for (int rank = 0; rank < ranks; ++rank) {
            EXPECT_EQ(source_of(rank), rank == root ? root : sources[at_index(rank)]);
            int at = rank;
            for (int steps = 0; at != root; ++steps) {
                ASSERT_LT(steps, ranks);
                at = source_of(at);
            }
        }
    }
}

std::vector<int> visited_by(const NodeLevels& levels) {
    std::vector<int> others;
    levels.visit_others([&](int other) { others.push_back(other); });
    return others;
}

void expect_to_visit_all_others(const std::vector<NodeLevels>& all) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        std::vector<int> visited = visited_by(all[rank]);
        visited.push_back(static_cast<int>(rank));
        std::sort(visited.begin(), visited.end());
        for (std::size_t other = 0; other < all.size(); ++other) ASSERT_EQ(visited.at(other), static_cast<int>(other));
        EXPECT_EQ(visited.size(), all.size());
    }
}

TEST(NodeLevels, AreTheSameForAllRanksOfAnyPlacement) {
    std::mt19937_64 random(test_seed());
    int divided = 0;
    for (int i = 0; i < 150; ++i) {
        const int ranks = 2 + static_cast<int>(random() % 40);
        const int undivided_ranks = 1 + static_cast<int>(random() % 8);
        const std::vector<NodeLevels> all = levels_of(random_placement(ranks, random), undivided_ranks);
        expect_to_visit_all_others(all);
        if (!all.front().is_divided()) continue;
        ++divided;
        expect_levels_to_fit(all);
        expect_ways(all);
        if (testing::Test::HasFailure()) FAIL() << "case " << i << ": " << ranks << " ranks";
    }
    EXPECT_GT(divided, 50);
}

TEST(NodeLevels, FollowCachesSocketsAndPackages) {
    const auto parts_of = [](const char* layout, int rank) {
        std::vector<int> parts;
        const NodeLevels levels(placed(layout), rank, undivided);
        for (const NodeLevels::Level& level : levels.levels()) parts.push_back(static_cast<int>(level.operands.size()));
        return parts;
    };
    using Parts = std::vector<int>;
    EXPECT_EQ(parts_of("1x2x1x8x8", 77), (Parts{8, 8, 2}));
    EXPECT_EQ(parts_of("1x2x4x2x8", 77), (Parts{8, 2, 4, 2}));
    EXPECT_EQ(parts_of("1x2x48", 50), (Parts{48, 2}));
    EXPECT_EQ(parts_of("1x2x2x1x18", 20), (Parts{18, 2, 2}));
    EXPECT_EQ(parts_of("1x72", 20), (Parts{}));
    EXPECT_EQ(parts_of("1x2x4", 1), (Parts{}));          // 8 ranks are not divided
    EXPECT_EQ(parts_of("1x2x1x2x3", 1), (Parts{6, 2}));  // nor those of a package that has no more
}

// So that none is in another's way: at any time each rank is visited by one, and the ranks of a cache are at one cache.
TEST(NodeLevels, LetRanksVisitOneAnotherWithoutMeeting) {
    const std::vector<NodeLevels> small = levels_of(placed("1x2x1x2x2"), 1);
    EXPECT_EQ(visited_by(small[0]), (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(visited_by(small[1]), (std::vector<int>{0, 3, 2, 5, 4, 7, 6}));
    EXPECT_EQ(visited_by(small[2]), (std::vector<int>{3, 0, 1, 6, 7, 4, 5}));
    EXPECT_EQ(visited_by(small[3]), (std::vector<int>{2, 1, 0, 7, 6, 5, 4}));
    for (const char* layout : {"1x2x1x8x8", "1x2x4x2x8", "1x2x48", "1x2x2x1x18", "1x3x1x5x7"}) {
        const Placement placement = placed(layout);
        std::vector<std::vector<int>> ways;
        for (const NodeLevels& levels : levels_of(placement, undivided)) ways.push_back(visited_by(levels));
        for (std::size_t step = 0; step < ways.front().size(); ++step) {
            std::vector<bool> is_visited(ways.size(), false);
            std::vector<int> cache_at(at_index(placement.caches_of_node(0)), -1);
            for (std::size_t rank = 0; rank < ways.size(); ++rank) {
                const int other = ways[rank].at(step);
                EXPECT_FALSE(is_visited[at_index(other)]) << layout << ", step " << step;
                is_visited[at_index(other)] = true;
                int& cache = cache_at[at_index(placement.cache_of(static_cast<int>(rank)))];
                if (cache < 0) cache = placement.cache_of(other);
                EXPECT_EQ(cache, placement.cache_of(other)) << layout << ", step " << step;
            }
        }
    }
}

// Where parts are alike, what a rank combines is of its own share of the level below, and it is the only one that reads that.
TEST(NodeLevels, OfPartsThatAreAlikeAreWithinOneAnother) {
    for (const NodeLevels& levels : levels_of(placed("1x2x3x2x4"), 2)) {
        ASSERT_EQ(levels.levels().size(), 4U);
        for (const NodeLevels::Level& level : levels.levels())
            for (const auto& part : level.operands) EXPECT_EQ(part.size(), 1U);
    }
}

// Neither associative nor commutative: only the same operands in the same order and nesting give the same.
std::uint64_t joined(std::uint64_t left, std::uint64_t right) {
    std::uint64_t mixed = left * 0x9e3779b97f4a7c15U + (right ^ right >> 29U) * 0xbf58476d1ce4e5b9U;
    return mixed ^ mixed >> 31U;
}
struct Join : Combine {
    Join() : Combine(sizeof(std::uint64_t)) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        for (std::size_t i = 0; i < elements; ++i) {
            std::uint64_t one = 0;
            std::uint64_t other = 0;
            std::memcpy(&one, left + i * sizeof one, sizeof one);
            std::memcpy(&other, right + i * sizeof other, sizeof other);
            one = joined(one, other);
            std::memcpy(result + i * sizeof one, &one, sizeof one);
        }
    }
};

std::uint64_t operand(int rank, std::size_t i, std::uint64_t call) {
    return (call << 40U) + (static_cast<std::uint64_t>(rank) << 32U) + i;
}

// What the parts of a node give, from its packages inwards.
std::uint64_t joined_by_parts(const Placement& placement, std::vector<int> ranks, int level, std::size_t i,
                              std::uint64_t call) {
    const auto part_of = [&](int rank) {
        if (level == 0) return placement.package_of(rank);
        return level == 1 ? placement.socket_of(rank) : placement.cache_of(rank);
    };
    std::uint64_t result = 0;
    if (level == 3 || static_cast<int>(ranks.size()) <= undivided) {
        result = operand(ranks.front(), i, call);
        for (std::size_t at = 1; at < ranks.size(); ++at) result = joined(result, operand(ranks[at], i, call));
        return result;
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) { return part_of(a) < part_of(b); });
    for (auto begin = ranks.begin(); begin != ranks.end();) {
        const auto end = std::find_if(begin, ranks.end(), [&](int rank) { return part_of(rank) != part_of(*begin); });
        const std::uint64_t part = joined_by_parts(placement, {begin, end}, level + 1, i, call);
        result = begin == ranks.begin() ? part : joined(result, part);
        begin = end;
    }
    return result;
}

// Ranks by place: those of a part are neighbors, whether it is divided or not.
std::vector<int> order_of(const Placement& placement) {
    std::vector<int> ranks(at_index(placement.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (NodeLevels(placement, 0, undivided).is_divided())
        std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
            return std::array{placement.package_of(a), placement.socket_of(a), placement.cache_of(a)} <
                   std::array{placement.package_of(b), placement.socket_of(b), placement.cache_of(b)};
        });
    return ranks;
}

struct Way {
    const char* name;
    bool oversubscribed;  // a Reduce's root combines all
    bool copies_once;
    bool copies_fail;
};
constexpr Way ways[] = {{"blocks", false, false, false},
                        {"blocks, few cores", true, false, false},
                        {"single copies", false, true, false},
                        {"single copies, few cores", true, true, false},
                        {"single copies that fail", false, true, true}};

// Other ranks' memory, which is this process's.
class OwnMemory : public PeerMemory {
public:
    [[nodiscard]] Key key() const override { return {}; }
    int connect(int /*rank*/, const Key& /*key*/) override { return 0; }
    int read(int /*rank*/, std::uint64_t address, std::byte* to, std::size_t bytes) override {
        std::memcpy(to, reinterpret_cast<const std::byte*>(address), bytes);
        return 0;
    }
    int write(int /*rank*/, std::uint64_t address, const std::byte* from, std::size_t bytes) override {
        std::memcpy(reinterpret_cast<std::byte*>(address), from, bytes);
        return 0;
    }
    const std::byte* look(int /*rank*/, std::uint64_t address, std::size_t bytes, std::byte* place) override {
        std::memcpy(place, reinterpret_cast<const std::byte*>(address), bytes);
        return place;
    }
};

// Reduce, Allreduce and Bcast of several sizes in turn, with nothing between them. The first thing that is wrong, or "".
std::string run_calls(NodeCollectives& node, const Placement& placement, int rank, std::size_t from,
                      std::uint64_t seed) {
    const std::vector<int> order = order_of(placement);
    std::mt19937_64 random(seed);  // the same on all ranks
    for (std::uint64_t call = 0; call < 18; ++call) {
        constexpr std::size_t sizes[] = {8'200, 12'296, 20'000, 33'000, 70'008};
        const std::size_t elements = sizes[random() % std::size(sizes)] / sizeof(std::uint64_t);
        const int root = static_cast<int>(random() % at_index(placement.ranks()));
        const bool in_place = random() % 2 == 0;
        const bool is_late = random() % at_index(placement.ranks()) == at_index(rank);
        for (int i = 0; i < 20 && is_late; ++i) sched_yield();
        std::vector<std::uint64_t> own(elements);
        std::vector<std::uint64_t> output(elements + 1, 1);
        for (std::size_t i = 0; i < elements; ++i) own[i] = operand(rank, i, call);
        const auto kind = call % 3;
        if (in_place || (kind == 2 && rank == root)) std::copy(own.begin(), own.end(), output.begin());
        const auto* input = reinterpret_cast<const std::byte*>(in_place ? output.data() : own.data());
        auto* result = reinterpret_cast<std::byte*>(output.data());
        const Join join;
        if (kind == 0)
            node.allreduce(input, result, elements, join, from);
        else if (kind == 1)
            node.reduce(root, input, rank == root ? result : nullptr, elements, join, from);
        else
            node.bcast(root, result, elements * sizeof(std::uint64_t), from);
        if (output.back() != 1) return "wrote behind its end";
        if (kind == 1 && rank != root) continue;
        for (std::size_t i = 0; i < elements; i += i + 9 < elements ? 7 : 1)
            if (output[i] != (kind == 2 ? operand(root, i, call) : joined_by_parts(placement, order, 0, i, call)))
                return "element " + std::to_string(i) + " of " + std::to_string(elements) + " of call " +
                       std::to_string(call) + ", root " + std::to_string(root) + (in_place ? ", in place" : "");
    }
    return "";
}

TEST(NodeLevels, CombineInOneOrderWhicheverWayAMessageGoes) {
    std::mt19937_64 random(test_seed());
    int divided = 0;
    for (int i = 0; i < 12 || divided < 5; ++i) {
        const int ranks = undivided + 1 + static_cast<int>(random() % 16);
        const Placement placement = random_placement(ranks, random);
        if (NodeLevels(placement, 0, undivided).is_divided()) ++divided;
        const Way& way = ways[at_index(i) % std::size(ways)];
        const std::size_t buffer_bytes = std::size_t{64 << 10} << random() % 4;  // in 16 blocks
        const std::uint64_t seed = random();
        std::atomic<bool> is_armed{true};
        std::atomic<int> failures{0};
        std::vector<std::string> problems(at_index(ranks));
        run_ranks(placement, buffer_bytes, way.oversubscribed, [&](NodeCollectives& node, int rank) {
            if (way.copies_fail)
                node.adopt_single_copy(std::make_shared<FailingMemory>(
                    std::make_unique<OwnMemory>(), seed + static_cast<std::uint64_t>(rank), is_armed, failures));
            else if (way.copies_once)
                node.adopt_single_copy(std::make_shared<OwnMemory>());
            problems[at_index(rank)] =
                run_calls(node, placement, rank, way.copies_once ? 1 : NodeCollectives::never, seed);
        });
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(problems[at_index(rank)], "")
                << "rank " << rank << " of " << ranks << ", case " << i << ", " << way.name;
        EXPECT_EQ(failures > 0, way.copies_fail);
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace hcoll::test
