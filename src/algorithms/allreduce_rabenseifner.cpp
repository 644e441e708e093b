// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by reduce-scatter (halving) and allgather (doubling): Rabenseifner's algorithm.
//
//   4 ranks     m/2: 0-1, 2-3     m/4: 0-2, 1-3   |   m/4: 0-2, 1-3     m/2: 0-1, 2-3
//               reduce-scatter                    |   allgather
//
// n = p + r ranks with p the largest power of two: r ranks give their operands to a neighbor before, and get the result
// afterwards. The operation need not commute (halving.hpp).
//
// Source: Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.5.
// n = p: 2 log2 p steps; 2 (p - 1)/p m bytes sent by each rank. n > p: two steps of m bytes more, and m bytes more sent by a
// rank that has a neighbor to serve. 2 (p - 1) m + 2 r m bytes in total.
#include "algorithms/algorithms.hpp"
#include "algorithms/halving.hpp"

namespace hcoll {

Plan allreduce_rabenseifner(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    allreduce_halving(plan, RankGroup::all(request.ranks, request.rank), request.ordered,
                      request.in_place ? plan.output() : plan.input(), plan.output());
    return plan.finish();
}

}  // namespace hcoll
