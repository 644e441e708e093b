// SPDX-License-Identifier: BSD-3-Clause
// Which ranks are on a node, and where there: of consecutive ones and of any others.
#include <gtest/gtest.h>

#include "../plans/plan_cases.hpp"
#include "progress/node/node_ranks.hpp"

namespace hcoll::test {
namespace {

TEST(NodeRanks, AreWhatThePlacementSays) {
    for (int ranks = 1; ranks <= 12; ++ranks)
        for (const Layout& layout : layouts_of(ranks)) {
            const Placement& placement = *layout.placement;
            for (int node = 0; node < placement.nodes(); ++node) {
                const NodeRanks here(placement, node);
                for (int rank = 0; rank < ranks; ++rank)
                    EXPECT_EQ(here.index_of(rank),
                              placement.node_of(rank) == node ? placement.index_on_node(rank) : NodeRanks::elsewhere)
                        << layout.name << ", node " << node << ", rank " << rank;
            }
        }
}

TEST(NodeRanks, OfNoNodeAreNone) { EXPECT_EQ(NodeRanks().index_of(0), NodeRanks::elsewhere); }

}  // namespace
}  // namespace hcoll::test
