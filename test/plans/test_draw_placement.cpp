// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topology/draw_placement.hpp"
#include "topology/seats_of_places.hpp"
#include "topology/virtual_layout.hpp"

namespace hcoll {
namespace {

Placement layout(const char* text, int ranks) {
    VirtualLayout layout;
    EXPECT_FALSE(VirtualLayout::parse(text, layout)) << text;
    std::vector<Seat> seats;
    EXPECT_FALSE(layout.seats(ranks, seats)) << text;
    return Placement(seats);
}

TEST(NumbersText, IsShortAndReadable) {
    const auto text = [](std::vector<int> numbers) { return numbers_text(numbers); };
    EXPECT_EQ(text({}), "");
    EXPECT_EQ(text({4}), "4");
    EXPECT_EQ(text({0, 1}), "0,1");
    EXPECT_EQ(text({0, 1, 2}), "0-2");
    EXPECT_EQ(text({0, 1, 2, 5, 7, 8, 9}), "0-2,5,7-9");
    EXPECT_EQ(text({0, 4, 8, 12}), "0,4,8,12");
    EXPECT_EQ(text({0, 4, 8, 12, 16}), "0,4,...,16");
    EXPECT_EQ(text({7, 6, 5, 4, 3}), "7,6,...,3");
    EXPECT_EQ(text({0, 0, 0, 0, 0, 0}), "0,0,0,0,0,0");
    EXPECT_EQ(text({2, 1, 0, -1}), "2,1,0,any");
    EXPECT_EQ(text({-1, 0, 1, 2}), "any,0-2");
}

TEST(PlacementSummary, SaysWhatIsEvenAndWhatIsNot) {
    EXPECT_EQ(placement_summary(layout("2x2x2", 8)), "2 nodes, 2 sockets each, 4 ranks per node, in rank order");
    EXPECT_EQ(placement_summary(layout("4x1x2:cyclic", 8)),
              "4 nodes, 1 socket each, 2 ranks per node, not in rank order");
    EXPECT_EQ(placement_summary(layout("4x1", 4)), "4 nodes, 1 socket each, 1 rank per node, in rank order");
    EXPECT_EQ(placement_summary(layout("3x2x2", 9)),
              "3 nodes, 1 to 2 sockets each, 1 to 4 ranks per node, in rank order");
    EXPECT_EQ(placement_summary(Placement::one_node(1)), "1 node, 1 socket, 1 rank, in rank order");
    EXPECT_EQ(placement_summary(layout("1x2x2", 4)), "1 node, 2 sockets, 4 ranks, in rank order");
}

TEST(DrawPlacement, ShowsNodesSocketsRanksAndCores) {
    const std::vector<std::string> hosts = {"a", "a", "a", "a", "b"};
    EXPECT_EQ(draw_placement(layout("2x2x2", 5), hosts),
              "node 0 (host a): 4 ranks\n"
              "  socket 0: ranks 0,1 on cores 0,1\n"
              "  socket 1: ranks 2,3 on cores 2,3\n"
              "node 1 (host b): 1 rank\n"
              "  socket 0: rank 4 on core 0\n"
              "\n"
              "2 nodes, 1 to 2 sockets each, 1 to 4 ranks per node, in rank order\n");
    EXPECT_EQ(draw_placement(layout("2x5:cyclic", 10), {}),
              "node 0: 5 ranks\n"
              "  socket 0: ranks 0,2,...,8 on cores 0-4\n"
              "node 1: 5 ranks\n"
              "  socket 0: ranks 1,3,...,9 on cores 0-4\n"
              "\n"
              "2 nodes, 1 socket each, 5 ranks per node, not in rank order\n");
    EXPECT_EQ(draw_placement(Placement::one_node(2), {}),
              "node 0: 2 ranks\n  socket 0: ranks 0,1 on any core\n\n1 node, 1 socket, 2 ranks, in rank order\n");
}

Placement placed(const std::vector<RankPlace>& places) { return Placement(seats_of_places(places)); }

TEST(DrawPlacement, ShowsPackagesAndCachesWhereTheyAreNotTheSockets) {
    EXPECT_EQ(draw_placement(layout("1x1x2x2x2", 7), {}),
              "node 0: 7 ranks\n"
              "  package 0:\n"
              "    socket 0: ranks 0-3\n"
              "      cache 0: ranks 0,1 on cores 0,1\n"
              "      cache 1: ranks 2,3 on cores 2,3\n"
              "    socket 1: ranks 4-6\n"
              "      cache 2: ranks 4,5 on cores 4,5\n"
              "      cache 3: rank 6 on core 6\n"
              "\n"
              "1 node, 1 package, 2 sockets, 4 caches, 7 ranks, in rank order\n");
    EXPECT_EQ(placement_summary(layout("2x2x1x4x2", 20)),
              "2 nodes, 1 to 2 sockets each, 2 to 8 caches each, 4 to 16 ranks per node, in rank order");
}

TEST(SeatsOfPlaces, CachesDivideASocketWhoseRanksAreAllBoundInsideOne) {
    std::vector<RankPlace> places = {{.node = 0, .package = 0, .numa = 0, .core = 0, .cache = 0},
                                     {.node = 0, .package = 0, .numa = 0, .core = 4, .cache = 1},
                                     {.node = 0, .package = 1, .numa = 1, .core = 8, .cache = 2}};
    EXPECT_EQ(placed(places).caches_of_node(0), 3);
    EXPECT_EQ(placed(places).sockets_of_node(0), 2);
    places.push_back({.node = 0, .package = 1, .numa = 1, .core = -1, .cache = -1});
    EXPECT_EQ(placed(places).caches_of_node(0), 2);
    // A cache that several NUMA nodes share divides none of them.
    for (RankPlace& place : places) place.cache = 0;
    EXPECT_EQ(placed(places).caches_of_node(0), 2);
}

TEST(SeatsOfPlaces, APackageIsASocket) {
    const Placement placement = placed({{.node = 0, .package = 0, .numa = 0, .core = 0},
                                        {.node = 0, .package = 0, .numa = 0, .core = -1},
                                        {.node = 0, .package = 1, .numa = 1, .core = 8},
                                        {.node = 3, .package = 1, .numa = -1, .core = -1}});
    EXPECT_EQ(placement.nodes(), 2);
    EXPECT_EQ(placement.sockets_of_node(0), 2);
    EXPECT_EQ(placement.link(0, 1), Link::socket);
    EXPECT_EQ(placement.link(1, 2), Link::node);
    EXPECT_EQ(placement.link(2, 3), Link::network);
}

TEST(SeatsOfPlaces, NumaNodesDivideAPackageWhoseRanksAreAllBoundInsideOne) {
    std::vector<RankPlace> places = {{.node = 0, .package = 0, .numa = 0, .core = 0},
                                     {.node = 0, .package = 0, .numa = 1, .core = 4},
                                     {.node = 0, .package = 1, .numa = 2, .core = 8},
                                     {.node = 0, .package = 1, .numa = 3, .core = 12}};
    EXPECT_EQ(placed(places).sockets_of_node(0), 4);
    places.push_back({.node = 0, .package = 1, .numa = -1, .core = -1});  // bound to the whole package
    const Placement placement = placed(places);
    EXPECT_EQ(placement.sockets_of_node(0), 3);
    EXPECT_EQ(placement.link(2, 3), Link::socket);
    EXPECT_EQ(placement.link(0, 1), Link::node);
}

TEST(SeatsOfPlaces, PackagesOfOneNumaNodeAreSockets) {
    const Placement placement = placed({{.node = 0, .package = 0, .numa = 0, .core = 0},
                                        {.node = 0, .package = 1, .numa = 0, .core = 4},
                                        {.node = 0, .package = 1, .numa = 0, .core = 5}});
    EXPECT_EQ(placement.sockets_of_node(0), 2);
    EXPECT_EQ(placement.link(0, 1), Link::node);
    EXPECT_EQ(placement.link(1, 2), Link::socket);
}

TEST(SeatsOfPlaces, ARankThatIsNotBoundMakesItsNodeOneSocket) {
    const Placement placement = placed({{.node = 0, .package = 0, .numa = 0, .core = 0},
                                        {.node = 0, .package = 1, .numa = 1, .core = 4},
                                        {.node = 0, .package = -1, .numa = -1, .core = -1}});
    EXPECT_EQ(placement.sockets_of_node(0), 1);
}

}  // namespace
}  // namespace hcoll
