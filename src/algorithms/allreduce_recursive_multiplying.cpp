// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive multiplying; with radix 2, recursive doubling. For any number of ranks.
//
//   radix 2     0 1 2 3    distance 1: 0-1, 2-3       radix 3     0 1 2 3 4 5 6 7 8    distance 1: 0-1-2, 3-4-5, 6-7-8
//               |X| |X|    distance 2: 0-2, 1-3                   |_|_| |_|_| |_|_|    distance 3: 0-3-6, 1-4-7, 2-5-8
//
// In each step a rank exchanges its partial result with k - 1 partners and combines all k. The operand of lower ranks is
// always the left one, on all sides: all compute the same bits, and because partial results cover runs of consecutive
// ranks, the operation need not commute.
//
// n = p + r ranks with p = k^t the largest power of k: the ranks are cut into p runs of nearly equal length; the first of
// each run collects the operands of the others before, and gives them the result afterwards.
//
// Source: Thakur, Rabenseifner, Gropp 2005, section 4.5; Ruefenacht, Bull, Booth 2016, Generalisation of recursive
// doubling for allreduce; Bienz, Olson, Gropp 2019, section II.
// n = k^t: t exchanges; each rank sends t (k - 1) messages, (k - 1) m bytes in each exchange. n > p: at most two messages more
// on the longest path, before and after; a rank with b - 1 others in its run, b <= ceil(n / p), sends (b - 1) m bytes more.
// p t (k - 1) m + 2 (n - p) m bytes in total. With one message at a time, k = 2: t steps, t + 2 where n > p. k > 2: at least
// t (k - 1) steps; messages of an exchange that wait for the same port cost up to 3 t more (k <= 8, n <= 70), and a run's
// members are served one after another.
#include "algorithms/algorithms.hpp"
#include "algorithms/exchange.hpp"

namespace hcoll {

Plan allreduce_recursive_multiplying(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    allreduce_exchange(plan, RankGroup::all(request.ranks, request.rank), parameters.radix,
                       request.in_place ? plan.output() : plan.input(), plan.output());
    return plan.finish();
}

}  // namespace hcoll
