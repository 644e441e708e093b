// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each a pure function to a plan; each file's head gives its picture, source, steps and bytes.
#pragma once

#include "algorithms/along_levels.hpp"
#include "algorithms/cut.hpp"
#include "algorithms/plan_builder.hpp"
#include "algorithms/tree.hpp"

namespace hcoll {

// How leaders of nodes talk to one another, where that is a choice of its own.
enum class NetworkModule : std::uint8_t { tree, vendor };
// How ranks that all want the result combine their operands, where that is a choice of its own.
enum class Exchange : std::uint8_t { recursive_multiplying, rabenseifner, ring };

// Of `split`: what the cost model says (tuning/split_tree.hpp).
inline constexpr int modelled_split = -1;

struct AlgorithmParameters {
    PipelineParameters pipeline;
    Tree tree;          // where there is one level
    LevelTrees levels;  // where there are several
    int split = 0;      // levels of messages, from the leaves, that calling ranks run (cut.hpp)
    NetworkModule network = NetworkModule::tree;
    Exchange exchange = Exchange::recursive_multiplying;
    int radix = 2;             // of exchanges; 0: what fits the ranks of a node
    int leaders = 4;           // per node, as far as there are ranks
    bool with_sockets = true;  // sockets are a level
};

Plan bcast_tree(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan bcast_scatter_allgather(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan bcast_scatter_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan bcast_han(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan reduce_tree(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan reduce_rabenseifner(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan reduce_han(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan reduce_reproducible(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan allreduce_recursive_multiplying(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_rabenseifner(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_reduce_bcast(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_smp(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_nap(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_multi_leader(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_han(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_reproducible(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan gather_linear(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan gather_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan gather_binomial(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan gather_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan scatter_linear(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan scatter_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan scatter_binomial(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan scatter_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan allgather_linear(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allgather_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allgather_doubling(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allgather_dissemination(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allgather_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters);

Plan barrier_linear(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan barrier_ring(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan barrier_binomial(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan barrier_doubling(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan barrier_dissemination(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan barrier_hierarchical(const PlanRequest& request, const AlgorithmParameters& parameters);

}  // namespace hcoll
