// SPDX-License-Identifier: BSD-3-Clause
// The figures of a machine (tuning/machine_model.hpp), fitted from short measurements between a few ranks.
//
//   t(m)   half of a round trip of m bytes               L + 2 o + m G;  eager: + 2 m copy
//   p      what one more short message takes, the one before being long gone   o
//   b      what one more short message of a burst takes                        g, where that is clearly longer than o
//   G      (t(1 MB) - t(256 KB)) / 768 KB
//   e      the fewest bytes that wait for the receiver   of each level
//   copy   what t is above that line right below the longest eager message, at each side
//   k      messages of one rank to eight others of its node that move as fast as one
//   R_N    bytes per second of all ranks of a node to those of another one; the same inside a node
//
// Sources: Hoefler, Lichei, Rehm 2007 (LogGP from round trips and bursts); Gropp, Olson, Samfass 2016 (max-rate).
#pragma once

#include <cstdint>

#include "tuner/laboratory.hpp"
#include "tuning/machine_model.hpp"

namespace hcoll {

// So much memory a laboratory needs for it on each rank.
inline constexpr std::uint64_t bytes_to_fit_machine = 2 << 20;

// By all ranks of the laboratory; takes some thousand messages. A link that no two ranks have gets the figures of the next longer one, or
// where there is none, of the next shorter.
MachineModel fit_machine(Laboratory& laboratory);

}  // namespace hcoll
