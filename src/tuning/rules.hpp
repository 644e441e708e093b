// SPDX-License-Identifier: BSD-3-Clause
// The built-in rules: what runs where nothing was set.
//
// A rule exists where, and only where, an algorithm was measured to be faster than the vendor's. Besides, there is what the cost model
// chooses over several nodes (model_rules.hpp), from default parameters: for those who ask for it (LIBHCOLL_RULES=model).
#pragma once

#include <span>

#include "tuning/selection.hpp"

namespace hcoll {

// Rules are looked through in order of size; what no rule covers stays with the vendor (rule 9 of docs/architecture.md).
struct MeasuredRule {
    VendorKind vendor;
    Collective collective;
    int nodes;
    int fewest_ranks;  // of a node
    int most_ranks;
    std::uint64_t largest_bytes;  // of the message; ranges of equal ranks stand in ascending order
    std::string_view choice;      // as a setting would give it
};

std::span<const MeasuredRule> measured_rules();
// May one of them take such a call from the vendor on a communicator of that many ranks, if it is on one node?
bool may_have_rule_on_a_node(VendorKind vendor, Collective collective, int ranks);

// For several nodes. The first that covers a place and a size holds.
struct ModelledRule {
    Collective collective;
    int most_nodes;
    int most_ranks_per_node;  // on average, rounded up
    std::uint64_t largest_bytes;
    std::string_view choice;
};

std::span<const ModelledRule> modelled_rules();

}  // namespace hcoll
