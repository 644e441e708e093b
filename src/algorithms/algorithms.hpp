// The algorithms, each a pure function to a plan; each file's head gives its picture, source, steps and bytes.
#pragma once

#include "algorithms/plan_builder.hpp"
#include "algorithms/tree.hpp"

namespace hcoll {

struct AlgorithmParameters {
    PipelineParameters pipeline;
    TreeShape tree = TreeShape::binomial;
};

Plan bcast_tree(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan reduce_tree(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_recursive_doubling(const PlanRequest& request, const AlgorithmParameters& parameters);
Plan allreduce_reduce_bcast(const PlanRequest& request, const AlgorithmParameters& parameters);

}  // namespace hcoll
