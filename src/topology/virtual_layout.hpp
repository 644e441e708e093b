// SPDX-License-Identifier: BSD-3-Clause
// A layout that a user imposes in place of the real one, so that any machine can be tested on one. No MPI, no hwloc.
//
//   4x2x4           4 nodes of 2 sockets of 4 cores; ranks fill node after node
//   4x8             4 nodes of 8 cores, one socket each
//   4x2x4x2x8       4 nodes of 2 sockets of 4 NUMA nodes, each with 2 last-level caches of 8 cores
//   4x2x4:cyclic    rank 0 on node 0, rank 1 on node 1, ..., round robin
//   4x2x4:reverse   the last rank in the first place
//   0.0.0,0.1.4,1   a seat for each rank: node.socket.core; socket, or both, may be left out where not known; or all five,
//                   node.socket.numa.cache.core
//   ./layout        a file (a name with a /): a line `node [socket [core]]` or `node socket numa cache core` for each rank,
//                   with # comments
//   auto            none: where the ranks really are
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/placement.hpp"

namespace hcoll {

// Immutable once parsed; a value.
class VirtualLayout {
public:
    // No number in a layout is larger, and no layout has more places.
    static constexpr std::uint64_t bound = 1ULL << 20U;

    // A mistake is described in one sentence, and `layout` stays as it was. Reads the file where the text names one.
    static std::optional<std::string> parse(std::string_view text, VirtualLayout& layout);
    // What parse reads back, wherever it is done: of a file, what it says rather than its name.
    std::string text() const;

    // Is there none? Then there is nothing to seat ranks by.
    bool is_automatic() const { return kind_ == Kind::automatic; }
    int places() const;
    // Seats of ranks 0, 1, ...; cores are numbered through the node, as hwloc does. Where there are more places than
    // ranks, the last ones stay free. A problem, in one sentence, where there are fewer.
    std::optional<std::string> seats(int ranks, std::vector<Seat>& seats) const;

private:
    enum class Kind : std::uint8_t { automatic, block, cyclic, reverse, list };

    static std::optional<std::string> parse_grid(std::string_view text, VirtualLayout& layout);
    static std::optional<std::string> parse_list(std::string_view text, VirtualLayout& layout);
    static std::optional<std::string> parse_file(const std::string& name, VirtualLayout& layout);
    Seat place(int index) const;  // of a grid, in block order

    Kind kind_ = Kind::automatic;
    struct Grid {
        int nodes = 0;
        int sockets = 1;  // of a node
        int numas = 1;    // of a socket
        int caches = 1;   // of a NUMA node
        int cores = 1;    // of a cache

        int places_of_node() const { return sockets * numas * caches * cores; }
    };
    Grid grid_;
    std::vector<Seat> list_;
};

}  // namespace hcoll
