// SPDX-License-Identifier: BSD-3-Clause
// Calls, their plans for every rank, and what must come out of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../support/seed.hpp"
#include "../support/sweep_sizes.hpp"
#include "algorithms/catalog.hpp"
#include "simulator.hpp"

namespace hcoll::test {

// Where ranks sit, with a name for messages.
struct Layout {
    std::string name;
    std::shared_ptr<const Placement> placement;
};

// Nodes of the given numbers of ranks, filled one after another.
Layout block_layout(const std::vector<int>& ranks_of_nodes, int sockets = 1);
// Ranks dealt out to nodes in turn.
Layout cyclic_layout(int ranks, int nodes, int sockets = 1);
// Some of each kind for that number of ranks: one node, one rank per node, even, uneven, cyclic, reversed, random.
std::vector<Layout> layouts_of(int ranks);

struct PlanCase {
    const Algorithm* algorithm = nullptr;
    AlgorithmParameters parameters;
    int ranks = 1;
    int root = 0;
    std::uint64_t units = 1;
    std::uint32_t unit_bytes = 1;
    bool in_place = false;
    bool ordered = false;
    Layout layout;  // one node, if none is given

    std::string name() const;
};

std::vector<Plan> build_plans(const PlanCase& plan_case);

// All ranks of a case with what they contribute, and with what must come out.
struct PreparedCase {
    std::vector<SimulatedRank> ranks;
    std::vector<std::vector<Operand>> inputs;    // as they are to stay
    std::vector<std::vector<Operand>> expected;  // of the outputs
};
PreparedCase prepare(const PlanCase& plan_case, std::vector<Plan> plans);
// After all plans have run: what is wrong with any rank's buffers.
std::optional<std::string> compare(const PlanCase& plan_case, const PreparedCase& prepared);

// Runs `plans` in one random order and compares every unit of every rank's output with what MPI defines.
std::optional<std::string> run_and_compare(const PlanCase& plan_case, std::vector<Plan> plans, std::mt19937_64& random);

// The bits of the result, for each unit (of the root's, or rank 0's, output), of an operation that is not associative.
std::vector<std::uint64_t> result_bits(const PlanCase& plan_case, std::mt19937_64& random);

}  // namespace hcoll::test
