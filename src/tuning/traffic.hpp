// SPDX-License-Identifier: BSD-3-Clause
// How much is sent, over which links, and by whom most.
#pragma once

#include <algorithm>
#include <cstdint>

#include "topology/placement.hpp"

namespace hcoll {

struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;

    Traffic& operator+=(const Traffic& other) {
        messages += other.messages;
        bytes += other.bytes;
        return *this;
    }
    friend bool operator==(const Traffic&, const Traffic&) = default;
};

// What was sent over the links of one level. Most messages and most bytes may be of different ranks (or nodes).
struct LinkTraffic {
    Traffic total;
    Traffic busiest_rank;
    Traffic busiest_node;
};

// One message of a run, in the words of machine_model.hpp.
struct MessageTime {
    int from = 0;
    int to = 0;
    std::uint32_t tag = 0;  // message_tag: which of the messages between the two
    std::uint64_t bytes = 0;
    double start = 0;
    double arrival = 0;
};

// `sent(rank)` is what a rank has sent.
template <typename Sent>
LinkTraffic traffic_of(const Placement& placement, Sent&& sent) {
    LinkTraffic result;
    const auto raise = [](Traffic& most, const Traffic& one) {
        most = {std::max(most.messages, one.messages), std::max(most.bytes, one.bytes)};
    };
    for (int node = 0; node < placement.nodes(); ++node) {
        Traffic of_node;
        for (const int rank : placement.ranks_of_node(node)) {
            const Traffic of_rank = sent(rank);
            raise(result.busiest_rank, of_rank);
            of_node += of_rank;
        }
        raise(result.busiest_node, of_node);
        result.total += of_node;
    }
    return result;
}

}  // namespace hcoll
