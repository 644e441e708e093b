// SPDX-License-Identifier: BSD-3-Clause
// An allgather around a ring: what is left of Allgather, Bcast and Allreduce by a ring once every member has its chunk.
#pragma once

#include "algorithms/plan_builder.hpp"
#include "algorithms/rank_group.hpp"

namespace hcoll {

inline int next_in_ring(const RankGroup& group) { return group.rank((group.self() + 1) % group.size()); }
inline int previous_in_ring(const RankGroup& group) {
    return group.rank((group.self() + group.size() - 1) % group.size());
}

// A phase in which the output's chunks go around; the caller begins with chunk `begin_chunk`, which it has. The chunk
// after the one that a member begins with is where the next member begins.
inline void allgather_around_ring(PlanBuilder& plan, const RankGroup& group, std::uint64_t area_units,
                                  std::uint64_t chunk_units, int begin_chunk) {
    plan.begin_ring(0, area_units, chunk_units, group.size(), begin_chunk);
    plan.at(middle_chunk | last_chunk);
    plan.recv(previous_in_ring(group), plan.output());
    plan.at(first_chunk | middle_chunk);
    plan.send(next_in_ring(group), plan.output());
}

}  // namespace hcoll
