// SPDX-License-Identifier: BSD-3-Clause
// Barrier: a byte goes where everybody's arrival has to be known (token.hpp).
//
//   linear         0 <- 1   0 <- 2   0 <- 3          then back: 0 -> 1   0 -> 2   0 -> 3
//   ring           0 <- 1 <- 2   0 <- 3              then back: 0 -> 1 -> 2   0 -> 3
//   binomial       1 -> 0  3 -> 2, 2 -> 0            then back: 0 -> 2, 0 -> 1  2 -> 3
//   doubling       0-1 2-3, then 0-2 1-3             among a power of two; the others tell a neighbor, and are told
//   dissemination  r -> r-1, r-2, r-4, ...           any n; a step meets k - 1 ranks on either side
//   hierarchical   on the node to its leader, dissemination among leaders, back on the node
//
// In dissemination a rank may be heard of twice where n is no power of k; that does no harm to a barrier.
//
// Source: Hensgen, Finkel, Manber 1988, Two algorithms for barrier synchronization; Hoefler et al. 2006, Fast barrier
// synchronization for InfiniBand (k-way dissemination); Zhu, Goodell, Gropp, Thakur 2009 (leaders).
// n ranks; all messages are of one byte.
// linear: 2 (n - 1) messages, as many steps at the port of rank 0.
// ring: 2 (n - 1) messages between neighbors, 2 (floor(n/2) + 1) steps for n > 2.
// binomial: 2 ceil(log2 n) steps, 2 (n - 1) messages.
// doubling: n = p + r, p the largest power of two: log2 p steps, and two where r > 0; p log2 p + 2 r messages.
// dissemination: ceil(log_k n) steps of at most k - 1 messages each way; n times the messages of one rank, which are
// ceil(log2 n) for k = 2.
// hierarchical, N nodes of p ranks: ceil(log_k N) network steps, N ceil(log2 N) network messages for k = 2; on each
// node 2 (p - 1) messages in the steps of its tree, up and down.
#include "algorithms/algorithms.hpp"
#include "algorithms/halving.hpp"
#include "algorithms/token.hpp"

namespace hcoll {

namespace {

Plan barrier_along(const Tree& tree, const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    Token token(plan);
    meet_along(token, RankGroup::all(request.ranks, request.rank), tree, [] {});
    return plan.finish();
}

}  // namespace

Plan barrier_linear(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return barrier_along({.shape = TreeShape::flat}, request, parameters);
}

Plan barrier_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return barrier_along({.shape = TreeShape::ring}, request, parameters);
}

Plan barrier_binomial(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return barrier_along({.shape = TreeShape::binomial}, request, parameters);
}

Plan barrier_doubling(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    Token token(plan);
    const Blocks runs{request.ranks, largest_power_of_two(request.ranks)};
    const int self = runs.block_of(request.rank);
    if (!runs.is_first(request.rank)) {
        token.send(runs.first(self));
        token.recv(runs.first(self));
        return plan.finish();
    }
    const int end = runs.first(self + 1);
    for (int member = request.rank + 1; member < end; ++member) token.recv(member);
    for (int distance = 1; distance < runs.blocks; distance *= 2) {
        token.exchange(runs.first(self ^ distance), runs.first(self ^ distance));
    }
    for (int member = request.rank + 1; member < end; ++member) token.send(member);
    return plan.finish();
}

Plan barrier_dissemination(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    Token token(plan);
    disseminate(token, RankGroup::all(request.ranks, request.rank), parameters.radix);
    return plan.finish();
}

Plan barrier_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters) {
    PlanBuilder plan(request, parameters.pipeline);
    Token token(plan);
    const Hierarchy levels = hierarchy_of(*request.placement, request.rank, no_rank, false);
    meet_along(token, levels.node, parameters.levels.node,
               [&] { disseminate(token, levels.network, parameters.radix); });
    return plan.finish();
}

}  // namespace hcoll
