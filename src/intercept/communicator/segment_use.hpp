// SPDX-License-Identifier: BSD-3-Clause
// What a segment of shared memory holds for one communicator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "progress/node/memory_units.hpp"
#include "progress/node/node_collectives.hpp"
#include "progress/node/node_messages.hpp"
#include "progress/node/node_peers.hpp"

namespace hcoll {

// What the ranks of a node share memory for, the same on all ranks.
struct SegmentUse {
    bool collectives;  // of all ranks, on one node
    bool messages;     // of plans

    // For so many ranks: the bytes that each of them has for long messages, where messages begin, the bytes of both, and those of what
    // is known of the processes, which lies elsewhere.
    struct Shape {
        std::size_t collectives_buffer;
        std::size_t messages_buffer;
        std::size_t messages_offset;
        std::size_t bytes;
        std::size_t peers_bytes;
    };
    Shape shape(int ranks, bool oversubscribed, std::uint64_t setting) const {
        // A block stays in the cache that is closest. Where ranks share cores, a turn is to be good for many blocks, and all
        // that is under way for a cache that cores share.
        constexpr std::size_t usual = 512 << 10;
        constexpr std::size_t most = 4 << 20;
        constexpr std::size_t most_of_all = 16 << 20;
        const std::size_t shared_cores =
            std::clamp(most_of_all / static_cast<std::size_t>(ranks) / page_bytes * page_bytes, usual, most);
        Shape shape{.collectives_buffer = setting != 0     ? setting
                                          : oversubscribed ? shared_cores
                                                           : usual,
                    .messages_buffer = setting != 0 ? setting : usual,
                    .messages_offset = 0,
                    .bytes = 0,
                    .peers_bytes = NodePeers::segment_bytes(ranks)};
        if (collectives) shape.messages_offset = NodeCollectives::segment_bytes(ranks, shape.collectives_buffer);
        shape.bytes = shape.messages_offset;
        if (messages) shape.bytes += NodeMessages::segment_bytes(ranks, shape.messages_buffer);
        return shape;
    }
};

}  // namespace hcoll
