// SPDX-License-Identifier: BSD-3-Clause
// A placement as text, for people.
//
//   node 0 (host a): 4 ranks
//     socket 0: ranks 0,1 on cores 0,1
//     socket 1: ranks 2,3 on cores 4,5
//   node 1 (host b): 1 rank
//     socket 0: rank 4 on core 0
//
//   2 nodes, 1 to 2 sockets each, 1 to 4 ranks per node, in rank order
//
// Where a package has several sockets, or a socket several caches, they have lines of their own:
//
//   node 0: 8 ranks
//     package 0:
//       socket 0: ranks 0-3
//         cache 0: ranks 0,1 on cores 0,1
//         cache 1: ranks 2,3 on cores 2,3
#pragma once

#include <span>
#include <string>

#include "topology/placement.hpp"

namespace hcoll {

// In one line without an end: "2 nodes, 2 sockets each, 4 ranks per node, in rank order"; with packages or caches, where these are
// not the sockets: "1 node, 2 packages, 4 sockets, 16 caches, 128 ranks, in rank order".
std::string placement_summary(const Placement& placement);

// Lines, the summary last. `hosts` has the name of each rank's host, or nothing where there is none.
std::string draw_placement(const Placement& placement, std::span<const std::string> hosts);

// Numbers with commas; three and more that follow one another as 0-2, five and more at equal distances as 0,4,...,16; what
// is negative as `any`.
std::string numbers_text(std::span<const int> numbers);

}  // namespace hcoll
