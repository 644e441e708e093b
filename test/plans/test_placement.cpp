// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "topology/placement.hpp"
#include "topology/shared_placements.hpp"

namespace hcoll {
namespace {

std::vector<int> list(const RankList& ranks) { return {ranks.begin(), ranks.end()}; }

// Of a node's ranks, parts within sockets: packages, or caches. `is_known`: are all of them? Otherwise they are the sockets.
void check_parts(const Placement& placement, const std::vector<int>& members, bool is_known, int count,
                 int (Placement::*part_of)(int) const, const std::function<bool(int, int)>& are_one) {
    int next = 0;
    for (const int rank : members) {
        const int part = (placement.*part_of)(rank);
        EXPECT_LE(part, next) << "they are numbered by their lowest ranks";
        next = std::max(next, part + 1);
        for (const int other : members) {
            const bool expected =
                is_known ? are_one(rank, other) : placement.socket_of(rank) == placement.socket_of(other);
            EXPECT_EQ(part == (placement.*part_of)(other), expected) << rank << " and " << other;
        }
    }
    EXPECT_EQ(count, next);
}

// What holds for any placement: every view of it tells the same.
void check_consistency(const std::vector<Seat>& seats, const Placement& placement) {
    const int ranks = static_cast<int>(seats.size());
    ASSERT_EQ(placement.ranks(), ranks);
    std::vector<int> order;
    int lowest_before = -1;
    int fewest = ranks;
    int most = 0;
    bool consecutive = true;
    for (int node = 0; node < placement.nodes(); ++node) {
        const std::vector<int> members = list(placement.ranks_of_node(node));
        ASSERT_FALSE(members.empty());
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
        EXPECT_GT(members.front(), lowest_before) << "nodes are numbered by their lowest ranks";
        lowest_before = members.front();
        fewest = std::min(fewest, static_cast<int>(members.size()));
        most = std::max(most, static_cast<int>(members.size()));
        consecutive = consecutive && members.back() - members.front() + 1 == static_cast<int>(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            EXPECT_EQ(placement.node_of(members[i]), node);
            EXPECT_EQ(placement.index_on_node(members[i]), static_cast<int>(i));
            EXPECT_EQ(placement.core_of(members[i]), seats[static_cast<std::size_t>(members[i])].core);
            EXPECT_EQ(seats[static_cast<std::size_t>(members[i])].node,
                      seats[static_cast<std::size_t>(members[0])].node);
        }
        const auto seat = [&](int rank) { return seats[static_cast<std::size_t>(rank)]; };
        const auto socket_of_seat = [&](int rank) {
            const int socket = seat(rank).socket;
            return socket < 0 ? -1 : (seat(rank).package + 1) * 1000 + socket;
        };
        const bool are_sockets_known =
            std::none_of(members.begin(), members.end(), [&](int rank) { return socket_of_seat(rank) < 0; });
        const auto all_know = [&](int Seat::*part) {
            return are_sockets_known &&
                   std::none_of(members.begin(), members.end(), [&](int rank) { return seat(rank).*part < 0; });
        };
        check_parts(placement, members, all_know(&Seat::package), placement.packages_of_node(node),
                    &Placement::package_of, [&](int a, int b) { return seat(a).package == seat(b).package; });
        check_parts(
            placement, members, all_know(&Seat::cache), placement.caches_of_node(node), &Placement::cache_of,
            [&](int a, int b) { return seat(a).cache == seat(b).cache && socket_of_seat(a) == socket_of_seat(b); });
        for (const int rank : members) {
            const bool is_first_s = socket_of_seat(rank) == socket_of_seat(members[0]) || !are_sockets_known;
            EXPECT_EQ(placement.socket_of(rank) == 0, is_first_s);
            EXPECT_EQ(placement.seat_of(rank).socket < 0, socket_of_seat(rank) < 0);
        }
        int lowest_of_socket_before = -1;
        std::size_t on_sockets = 0;
        for (int socket = 0; socket < placement.sockets_of_node(node); ++socket) {
            const std::vector<int> here = list(placement.ranks_of_socket(node, socket));
            ASSERT_FALSE(here.empty());
            EXPECT_TRUE(std::is_sorted(here.begin(), here.end()));
            EXPECT_GT(here.front(), lowest_of_socket_before) << "sockets are numbered by their lowest ranks";
            lowest_of_socket_before = here.front();
            consecutive = consecutive && here.back() - here.front() + 1 == static_cast<int>(here.size());
            for (const int rank : here) EXPECT_EQ(placement.socket_of(rank), socket);
            on_sockets += here.size();
            order.insert(order.end(), here.begin(), here.end());
        }
        EXPECT_EQ(on_sockets, members.size());
    }
    EXPECT_EQ(list(placement.node_order()), order);
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), seats.size());
    for (std::size_t position = 0; position < order.size(); ++position)
        EXPECT_EQ(placement.position_in_node_order(order[position]), static_cast<int>(position));
    EXPECT_EQ(placement.fewest_ranks_of_a_node(), fewest);
    EXPECT_EQ(placement.most_ranks_of_a_node(), most);
    EXPECT_EQ(placement.is_in_rank_order(), consecutive);
    for (int a = 0; a < ranks; ++a)
        for (int b = 0; b < ranks; ++b) {
            const Link expected = placement.node_of(a) != placement.node_of(b)       ? Link::network
                                  : placement.socket_of(a) != placement.socket_of(b) ? Link::node
                                                                                     : Link::socket;
            EXPECT_EQ(placement.link(a, b), expected);
        }
}

Placement checked(const std::vector<Seat>& seats) {
    Placement placement(seats);
    check_consistency(seats, placement);
    return placement;
}

std::vector<Seat> seats_of(const Placement& placement) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < placement.ranks(); ++rank) seats.push_back(placement.seat_of(rank));
    return seats;
}

// The seats of nodes x sockets x cores, node after node.
std::vector<Seat> block(int nodes, int sockets, int cores) {
    std::vector<Seat> seats;
    for (int node = 0; node < nodes; ++node)
        for (int socket = 0; socket < sockets; ++socket)
            for (int core = 0; core < cores; ++core)
                seats.push_back({.node = node, .socket = socket, .core = socket * cores + core});
    return seats;
}

TEST(Placement, BlockIsInRankOrder) {
    const Placement placement = checked(block(2, 2, 2));
    EXPECT_EQ(placement.nodes(), 2);
    EXPECT_EQ(placement.sockets_of_node(1), 2);
    EXPECT_EQ(list(placement.ranks_of_node(1)), (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(list(placement.ranks_of_socket(1, 1)), (std::vector<int>{6, 7}));
    EXPECT_EQ(list(placement.node_order()), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(placement.fewest_ranks_of_a_node(), 4);
    EXPECT_EQ(placement.most_ranks_of_a_node(), 4);
    EXPECT_TRUE(placement.is_in_rank_order());
    EXPECT_EQ(placement.core_of(7), 3);
    EXPECT_EQ(placement.link(0, 0), Link::socket);
    EXPECT_EQ(placement.link(0, 1), Link::socket);
    EXPECT_EQ(placement.link(1, 2), Link::node);
    EXPECT_EQ(placement.link(3, 4), Link::network);
}

TEST(Placement, CyclicRanksAreGatheredByNode) {
    std::vector<Seat> seats;
    seats.reserve(7);
    for (int rank = 0; rank < 7; ++rank) seats.push_back({.node = rank % 3, .socket = 0, .core = rank / 3});
    const Placement placement = checked(seats);
    EXPECT_EQ(placement.nodes(), 3);
    EXPECT_EQ(list(placement.node_order()), (std::vector<int>{0, 3, 6, 1, 4, 2, 5}));
    EXPECT_EQ(placement.position_in_node_order(1), 3);
    EXPECT_EQ(placement.index_on_node(6), 2);
    EXPECT_FALSE(placement.is_in_rank_order());
}

TEST(Placement, SocketsThatAlternateAreNotInRankOrder) {
    std::vector<Seat> seats;
    seats.reserve(8);
    for (int rank = 0; rank < 8; ++rank) seats.push_back({.node = rank / 4, .socket = rank % 2, .core = rank % 4});
    const Placement placement = checked(seats);
    EXPECT_EQ(list(placement.ranks_of_node(0)), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(list(placement.ranks_of_socket(0, 1)), (std::vector<int>{1, 3}));
    EXPECT_EQ(list(placement.node_order()), (std::vector<int>{0, 2, 1, 3, 4, 6, 5, 7}));
    EXPECT_FALSE(placement.is_in_rank_order());
}

// Rank 0's node is node 0, wherever it is.
TEST(Placement, ReversedIsNumberedAnewByLowestRank) {
    std::vector<Seat> seats = block(3, 2, 2);
    std::reverse(seats.begin(), seats.end());
    const Placement placement = checked(seats);
    EXPECT_EQ(placement.node_of(0), 0);
    EXPECT_EQ(placement.socket_of(0), 0);
    EXPECT_EQ(placement.core_of(0), 3);
    EXPECT_EQ(placement.node_of(11), 2);
    EXPECT_TRUE(placement.is_in_rank_order());
}

TEST(Placement, UnevenNodesAndSockets) {
    // Nodes of 1, 4 and 2 ranks; the second has sockets of 3 and 1. Numbers are not dense.
    const Placement placement = checked({{.node = 70, .socket = 9, .core = 0},
                                         {.node = 5, .socket = 8, .core = 1},
                                         {.node = 5, .socket = 8, .core = 2},
                                         {.node = 5, .socket = 2, .core = 0},
                                         {.node = 5, .socket = 8, .core = 3},
                                         {.node = 6, .socket = 0, .core = 0},
                                         {.node = 6, .socket = 0, .core = 1}});
    EXPECT_EQ(placement.nodes(), 3);
    EXPECT_EQ(placement.fewest_ranks_of_a_node(), 1);
    EXPECT_EQ(placement.most_ranks_of_a_node(), 4);
    EXPECT_EQ(placement.sockets_of_node(0), 1);
    EXPECT_EQ(placement.sockets_of_node(1), 2);
    EXPECT_EQ(list(placement.ranks_of_socket(1, 0)), (std::vector<int>{1, 2, 4}));
    EXPECT_EQ(list(placement.ranks_of_socket(1, 1)), (std::vector<int>{3}));
    EXPECT_FALSE(placement.is_in_rank_order()) << "socket 0 of node 1 is broken by rank 3";
}

TEST(Placement, OneRankPerNode) {
    std::vector<Seat> seats;
    seats.reserve(5);
    for (int rank = 0; rank < 5; ++rank) seats.push_back({.node = 4 - rank});
    const Placement placement = checked(seats);
    EXPECT_EQ(placement.nodes(), 5);
    EXPECT_EQ(placement.most_ranks_of_a_node(), 1);
    EXPECT_TRUE(placement.is_in_rank_order());
    EXPECT_EQ(placement.link(0, 4), Link::network);
    EXPECT_EQ(placement.link(2, 2), Link::socket);
}

TEST(Placement, OneNode) {
    const Placement placement = Placement::one_node(6);
    check_consistency(std::vector<Seat>(6), placement);
    EXPECT_EQ(placement.nodes(), 1);
    EXPECT_EQ(placement.sockets_of_node(0), 1);
    EXPECT_EQ(placement.core_of(3), -1);
    EXPECT_TRUE(placement.is_in_rank_order());
    EXPECT_EQ(Placement::one_node(1).node_order().size(), 1U);
}

TEST(Placement, ANodeWithARankOfUnknownSocketIsOneSocket) {
    const Placement placement = checked({{.node = 0, .socket = 0, .core = 0},
                                         {.node = 0, .socket = -1, .core = -1},
                                         {.node = 0, .socket = 1, .core = 4},
                                         {.node = 1, .socket = 0, .core = 0},
                                         {.node = 1, .socket = 1, .core = 4}});
    EXPECT_EQ(placement.sockets_of_node(0), 1);
    EXPECT_EQ(placement.link(0, 2), Link::socket);
    EXPECT_EQ(placement.core_of(2), 4);
    EXPECT_EQ(placement.sockets_of_node(1), 2) << "the other node's sockets are known";
    EXPECT_EQ(placement.link(3, 4), Link::node);
}

TEST(Placement, EqualWhereNumbersMeanTheSame) {
    const std::vector<Seat> a = {{.node = 8, .socket = 3, .core = 0}, {.node = 2, .socket = 1, .core = 0}};
    const std::vector<Seat> b = {{.node = 0, .socket = 0, .core = 0}, {.node = 1, .socket = 7, .core = 0}};
    EXPECT_EQ(Placement(a), Placement(b));
    EXPECT_FALSE(Placement(a) == Placement::one_node(2));
}

TEST(Placement, RandomSeatsAreConsistent) {
    std::uint32_t state = 12345;
    const auto next = [&](int bound) {
        state = state * 1664525U + 1013904223U;
        return static_cast<int>((state >> 16U) % static_cast<std::uint32_t>(bound));
    };
    for (int round = 0; round < 200; ++round) {
        std::vector<Seat> seats(static_cast<std::size_t>(1 + next(40)));
        for (Seat& seat : seats) {
            seat = {.node = next(6), .socket = next(4) - (round % 2), .core = next(16)};
            if (round % 3 == 0) seat.package = seat.socket < 0 ? -1 : seat.socket / 2;
            if (round % 5 < 2) seat.cache = next(3) - (round % 5);
        }
        const Placement placement = checked(seats);
        EXPECT_EQ(Placement(seats_of(placement)), placement) << "round " << round;
    }
}

// Of what is a socket each, nothing more is kept.
TEST(Placement, PackagesAndCachesThatAreTheSocketsAreNotKept) {
    std::vector<Seat> plain = block(3, 2, 4);
    std::vector<Seat> told = plain;
    for (Seat& seat : told) {
        seat.package = seat.socket + 7;
        seat.cache = 2 * seat.socket;
    }
    EXPECT_EQ(checked(told), checked(plain));
    for (Seat& seat : told) seat.cache = seat.core / 2;
    const Placement divided = checked(told);
    EXPECT_FALSE(divided == Placement(plain));
    EXPECT_TRUE(divided.is_regular());
    EXPECT_EQ(divided.caches_of_node(2), 4);
    EXPECT_EQ(divided.packages_of_node(2), 2);
}

// Every k-th of the seats, from `first` on.
std::vector<Seat> every(const std::vector<Seat>& seats, std::size_t k, std::size_t first = 0) {
    std::vector<Seat> some;
    for (std::size_t i = first; i < seats.size(); i += k) some.push_back(seats[i]);
    return some;
}

std::vector<Seat> in_turn(const std::vector<Seat>& blocks, int nodes) {
    std::vector<Seat> seats;
    const std::size_t ranks_of_node = blocks.size() / static_cast<std::size_t>(nodes);
    for (std::size_t i = 0; i < ranks_of_node; ++i)
        for (const Seat& seat : every(blocks, ranks_of_node, i)) seats.push_back(seat);
    return seats;
}

std::vector<Seat> shuffled(std::vector<Seat> seats) {
    std::shuffle(seats.begin(), seats.end(), std::mt19937(7));
    return seats;
}

TEST(Placement, RegularLayoutsAreOneNodesPattern) {
    const std::vector<Seat> blocks = block(6, 2, 4);
    std::vector<Seat> alternating;  // sockets in turn
    for (int rank = 0; rank < 48; ++rank)
        alternating.push_back({.node = rank / 8, .socket = rank % 2, .core = rank % 8});
    std::vector<std::vector<Seat>> layouts;
    for (const std::vector<Seat>& whole : {blocks, alternating})
        for (const std::vector<Seat>& dealt : {whole, in_turn(whole, 6)}) {
            layouts.push_back(dealt);
            layouts.push_back(every(dealt, 2));
            layouts.emplace_back(dealt.begin(), dealt.begin() + 8);
            for (const int cut : {1, 3, 5, 7}) layouts.emplace_back(dealt.begin(), dealt.end() - cut);
        }
    layouts.push_back(every(blocks, 8, 3));              // a rank of each node
    layouts.push_back(every(in_turn(blocks, 6), 6, 3));  // a node's ranks
    for (const std::vector<Seat>& seats : layouts) {
        const Placement placement = checked(seats);
        EXPECT_TRUE(placement.is_regular()) << seats.size();
        EXPECT_EQ(Placement(seats_of(placement)), placement);
    }
}

// The same nodes, of which one differs, or the same ranks in another order: no pattern tells that.
TEST(Placement, OtherLayoutsAreListed) {
    std::vector<Seat> other_core = block(3, 2, 2);
    other_core[6].core = 9;
    std::vector<Seat> other_socket = block(3, 2, 2);
    other_socket[5].socket = 1;
    std::vector<Seat> exchanged = block(3, 2, 2);
    std::swap(exchanged[3], exchanged[8]);
    std::vector<Seat> short_one = block(3, 2, 2);
    short_one.erase(short_one.begin() + 5);
    for (const std::vector<Seat>& seats : {other_core, other_socket, exchanged, short_one, shuffled(block(5, 3, 4))}) {
        const Placement placement = checked(seats);
        EXPECT_EQ(Placement(seats_of(placement)), placement);
        EXPECT_FALSE(placement.is_regular());
        EXPECT_FALSE(placement == Placement(block(3, 2, 2)));
    }
}

TEST(Placement, IsTheSameInSharedMemory) {
    for (const std::vector<Seat>& seats : {block(4, 2, 3), shuffled(block(4, 2, 3))}) {
        const Placement own(seats);
        const auto copy = std::make_shared<std::byte[]>(own.bytes().size());
        std::memcpy(copy.get(), own.bytes().data(), own.bytes().size());
        const Placement shared = Placement::in_shared_memory({copy, copy.get()});
        check_consistency(seats, shared);
        EXPECT_EQ(shared, own);
        EXPECT_LT(shared.private_bytes(), own.private_bytes());
    }
}

TEST(Placement, ACommunicatorWithoutTheRankOfUnknownSocketHasItsSockets) {
    const Placement world = checked({{.node = 0, .socket = 4, .core = 0},
                                     {.node = 0, .socket = -1, .core = -1},
                                     {.node = 0, .socket = 2, .core = 4}});
    EXPECT_EQ(world.sockets_of_node(0), 1);
    EXPECT_EQ(checked(every(seats_of(world), 2)).sockets_of_node(0), 2);
}

TEST(Placement, RankListsAreRangesOfRandomAccess) {
    const Placement placement(in_turn(block(3, 2, 2), 3));
    const RankList ranks = placement.ranks_of_node(1);
    EXPECT_EQ(list(ranks), (std::vector<int>{1, 4, 7, 10}));
    EXPECT_EQ(list(ranks.subspan(1)), (std::vector<int>{4, 7, 10}));
    EXPECT_EQ(list(ranks.subspan(1, 2)), (std::vector<int>{4, 7}));
    EXPECT_EQ(ranks.front(), 1);
    EXPECT_EQ(ranks.back(), 10);
    EXPECT_EQ(ranks[2], 7);
    EXPECT_EQ(ranks.end() - ranks.begin(), 4);
    EXPECT_EQ(*std::lower_bound(ranks.begin(), ranks.end(), 5), 7);
    EXPECT_EQ(list(placement.node_order().subspan(4, 4)), (std::vector<int>{1, 4, 7, 10}));
    EXPECT_TRUE(RankList().empty());
}

// Of the heap, with what it keeps for the next allocations.
std::size_t allocated_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// 784 nodes of 2 x 64 cores.
TEST(Placement, MemoryAt100352RanksIsBounded) {
    constexpr std::size_t of_process = 256 << 10;
    constexpr std::size_t of_node = 6 << 20;
    const std::vector<Seat> blocks = block(784, 2, 64);
    ASSERT_EQ(blocks.size(), 100352U);
    std::vector<Seat> uneven = shuffled(blocks);
    uneven.resize(100000);
    const auto bytes_of = [](const std::vector<Seat>& seats) {
        const std::size_t before = allocated_bytes();
        const Placement placement(seats);
        const std::size_t bytes = allocated_bytes() - before;
        EXPECT_LE(bytes, placement.private_bytes() + (16 << 10)) << "it holds more than it says";
        return std::max(bytes, placement.private_bytes());
    };
    EXPECT_LE(bytes_of(blocks), of_process / 8);
    EXPECT_LE(bytes_of(in_turn(blocks, 784)), of_process / 8);
    EXPECT_LE(bytes_of({blocks.begin(), blocks.end() - 100}), of_process / 8);
    EXPECT_LE(bytes_of(every(blocks, 4)), of_process / 8);
    EXPECT_LE(bytes_of(every(blocks, 128)), of_process / 8);
    EXPECT_LE(bytes_of(std::vector<Seat>(100352)), of_process / 8);

    const Placement table(uneven);
    EXPECT_LE(table.bytes().size(), of_node);
    const auto shared = std::shared_ptr<const std::byte>(std::make_shared<int>(0), table.bytes().data());
    EXPECT_LE(Placement::in_shared_memory(shared).private_bytes(), of_process / 8);
    bytes_of(uneven);
}

TEST(SharedPlacements, SeatsAlikeHaveOneUntilNobodyHasIt) {
    SharedPlacements shared;
    auto world = shared.get(Placement(block(2, 2, 2)));
    auto duplicate = shared.get(Placement(block(2, 2, 2)));
    const auto half = shared.get(Placement(block(1, 2, 2)));
    EXPECT_EQ(world, duplicate);
    EXPECT_NE(world, half);
    EXPECT_EQ(*world, Placement(block(2, 2, 2)));
    EXPECT_EQ(shared.size(), 2U);
    world.reset();
    EXPECT_EQ(shared.size(), 2U);
    duplicate.reset();
    EXPECT_EQ(shared.size(), 1U);
    EXPECT_EQ(shared.get(Placement(block(2, 2, 2)))->nodes(), 2);
}

TEST(SharedPlacements, ThreadsThatAskAtOnceGetTheSame) {
    SharedPlacements shared;
    std::vector<std::shared_ptr<const Placement>> found(8);
    {
        std::vector<std::jthread> threads;
        for (auto& placement : found) threads.emplace_back([&] { placement = shared.get(Placement(block(4, 2, 8))); });
    }
    for (const auto& placement : found) EXPECT_EQ(placement, found.front());
    EXPECT_EQ(shared.size(), 1U);
}

}  // namespace
}  // namespace hcoll
