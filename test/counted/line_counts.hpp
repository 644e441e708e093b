// SPDX-License-Identifier: BSD-3-Clause
// Counts the cache lines that the ranks of a node have from one another: by how far, by what waits for what, and by how many read the same.
//
// The ranks run the library's own source, compiled with -fsanitize=thread; the compiler's calls for each access (test/model/instrumentation.cpp)
// end here. They take turns on one core: one goes on until it has looked several times in vain at the same line, or until it has looked at any flag. Of each
// line that was told of:
//
//   transfer   a rank reads a line that another one has written since it last had it. Looking at what has not changed costs nothing: a rank
//              that waits has the old line
//   distance   to the nearest rank that has the line already, the writer or a reader: where cores share a cache, one brings it for all
//   chain      the longest row of transfers of which each has to wait for the one before: a rank's reads of several lines that are
//              there do not wait for one another. What it writes afterwards comes after all that it has read
//   turns      the same where a rank reads one line after another: the other extreme. A core is between the two
//   queue      turns, where a line, too, is handed to one rank after another, in the order in which they come: what many readers of a line
//              cost if its home serves them one by one
//   out, in    of the last-level cache where that is most: how many lines other caches had from it, and it from others
//
// Writing costs nothing here (a core writes behind itself), although others may have to give up the line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "topology/placement.hpp"

namespace hcoll::counted {

// What a line crosses: nothing but a last-level cache; a socket (or NUMA node); a package; or the node.
inline constexpr std::size_t distances = 4;
std::size_t distance(const Placement& placement, int a, int b);

// What a transfer over each distance adds to a chain, to turns and to a queue: 1, or nanoseconds.
using Weights = std::array<int, distances>;
inline constexpr Weights one_each{1, 1, 1, 1};

struct Counts {
    std::array<std::uint64_t, distances> transfers{};
    int chain = 0;
    int turns = 0;
    int queue = 0;
    int readers = 0;  // of one line, as it was written once
    std::uint64_t most_out = 0;
    std::uint64_t most_in = 0;

    std::uint64_t all_transfers() const;
};

// All ranks of a placement on one node, on memory of so many bytes, which are 0 at the beginning: each call of `prepare(memory, rank)` gives what
// that rank does, which all do twice: first uncounted, so that nothing is for the first time; then counted.
using Work = std::function<void()>;
enum class Pace { until_it_waits, flag_by_flag };
Counts count(const Placement& placement, std::size_t bytes, const Weights& weights, Pace pace,
             const std::function<Work(std::byte* memory, int rank)>& prepare);

}  // namespace hcoll::counted
