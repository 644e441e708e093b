// SPDX-License-Identifier: BSD-3-Clause
// What a rank shares with its neighbors alone (LIBHCOLL_SPARSE): a communicator with the next rank and one with the previous one,
// in a ring of all ranks of the application's communicator.
//
//   0 ==== 1 ==== 2 ==== 3        each edge is a communicator of two ranks, made by those two (MPI 4.0, section 7.4.2,
//   ||==================||        MPI_Comm_create_group): nobody opens a connection to anybody else
//
// Source: Herschberg 2021 (thesis), chapter 3: with algorithms between neighbors n ranks have 2 n connections, not n (n - 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "progress/network/point_to_point.hpp"

namespace hcoll {

class Neighbors {
public:
    // All ranks of `parent`, whose errors return, are in the same call. What cannot be made is left out.
    static Neighbors make(MPI_Comm parent, int rank, int ranks);

    bool is_complete() const { return next_ != MPI_COMM_NULL && previous_ != MPI_COMM_NULL; }
    MPI_Comm with_next() const { return next_; }
    Carriers carriers() const { return {next_, previous_, rank_, ranks_}; }
    static constexpr std::size_t most_values = 32;
    // Replaces each value (at most so many) by the largest that any rank has, all ranks being in the same call: to the last rank and back. False, on
    // all ranks alike, where some rank lacks an edge. 2 (ranks - 1) steps.
    bool find_largest(std::span<std::uint64_t> values) const;
    // All ranks are in the same call.
    void free();

private:
    // The edge from rank `lower` to the next one. No two edges of a rank have equal turns, so that nobody waits in a circle.
    static constexpr int turns = 3;
    int turn(int lower) const { return lower == ranks_ - 1 && ranks_ % 2 != 0 ? 2 : lower % 2; }
    int lower_of_previous() const { return (rank_ + ranks_ - 1) % ranks_; }
    // Calls for_edge(lower, edge) for this rank's two edges, in the order of their turns.
    template <typename ForEdge>
    void in_turns(ForEdge&& for_edge);

    MPI_Comm next_ = MPI_COMM_NULL;
    MPI_Comm previous_ = MPI_COMM_NULL;
    int rank_ = 0;
    int ranks_ = 1;
    bool has_failed_ = false;  // something else than an edge
};

}  // namespace hcoll
