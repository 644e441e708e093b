// SPDX-License-Identifier: BSD-3-Clause
// Memory that is there before messages need it: who is told to touch it does, as far as it is its own, and nothing in it changes.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "progress/node/memory_units.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/node_messages.hpp"
#include "progress/node/shared_segment.hpp"
#include "progress/node/touch_pages.hpp"

namespace hcoll::test {
namespace {

// For how many pages of a part of a segment has the system memory?
std::size_t pages_there(const SharedSegment& segment, std::size_t offset, std::size_t bytes) {
    std::vector<unsigned char> there(bytes / page_bytes);
    EXPECT_EQ(mincore(segment.data() + offset, bytes, there.data()), 0);
    return static_cast<std::size_t>(
        std::count_if(there.begin(), there.end(), [](auto each) { return (each & 1) != 0; }));
}

TEST(TouchPages, FindsMemoryAndLeavesWhatIsInIt) {
    constexpr std::size_t pages = 20;
    SharedSegment segment;
    ASSERT_EQ(segment.create(pages * page_bytes), 0);
    segment.data()[7 * page_bytes] = std::byte{7};
    touch_pages(segment.data() + 5 * page_bytes, 6 * page_bytes);
    EXPECT_EQ(pages_there(segment, 5 * page_bytes, 6 * page_bytes), 6);
    EXPECT_EQ(segment.data()[7 * page_bytes], std::byte{7});
    // What begins and ends within a page.
    touch_pages(segment.data() + 13 * page_bytes - 1, 2 * page_bytes + 2);
    EXPECT_EQ(pages_there(segment, 12 * page_bytes, 4 * page_bytes), 4);
    touch_pages(segment.data() + 18 * page_bytes, 0);
    EXPECT_EQ(pages_there(segment, 16 * page_bytes, 4 * page_bytes), 0);
    EXPECT_EQ(pages_there(segment, page_bytes, 4 * page_bytes), 0);
}

TEST(TouchPages, OfCollectivesByTheLengthOfMessages) {
    constexpr std::size_t buffer_bytes = 512 << 10;
    constexpr int ranks = 2;
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeCollectives::segment_bytes(ranks, buffer_bytes)), 0);
    const auto drive = [](void*) { return 0; };
    NodeCollectives node(segment.data(), buffer_bytes, Placement::one_node(ranks), 1, Waiting(true, drive, nullptr));
    const NodeCollectives::Part own = NodeCollectives::own_part(1, buffer_bytes);
    const NodeCollectives::Part others = NodeCollectives::own_part(0, buffer_bytes);
    const auto bytes_there = [&] { return pages_there(segment, own.offset, own.bytes) * page_bytes; };
    node.touch_places(0);
    EXPECT_EQ(bytes_there(), 0);
    node.touch_places(100);
    const std::size_t of_short = bytes_there();
    EXPECT_GE(of_short, 32 * 960 + 8 * NodeCollectives::short_bytes);
    EXPECT_LE(of_short, own.bytes - buffer_bytes);
    // As much of each block as such a message has, and of each slice its half and the pages at its ends.
    constexpr std::size_t message = 12 << 10;
    node.touch_places(message);
    EXPECT_GE(bytes_there() - of_short, NodeCollectives::depth * (message + message / 2));
    EXPECT_LE(bytes_there() - of_short, NodeCollectives::depth * (message + message / 2 + 2 * page_bytes));
    node.touch_places(1000);
    node.touch_places(100'000);
    EXPECT_EQ(bytes_there(), own.bytes);
    EXPECT_EQ(pages_there(segment, others.offset, others.bytes), 0);
}

TEST(TouchPages, OfMessages) {
    constexpr std::size_t buffer_bytes = 256 << 10;
    constexpr int ranks = 3;
    SharedSegment segment;
    ASSERT_EQ(segment.create(NodeMessages::segment_bytes(ranks, buffer_bytes)), 0);
    NodeMessages node(segment.data(), buffer_bytes, ranks, 1);
    node.touch_cells();
    const NodeMessages::Part own = NodeMessages::own_part(ranks, 1, buffer_bytes);
    EXPECT_GE(pages_there(segment, own.offset, own.bytes) * page_bytes, buffer_bytes);
    const NodeMessages::Part next = NodeMessages::own_part(ranks, 2, buffer_bytes);
    EXPECT_EQ(pages_there(segment, next.offset, next.bytes), 0);
}

}  // namespace
}  // namespace hcoll::test
