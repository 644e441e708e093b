// Calls, their plans for every rank, and what must come out of them.
#pragma once

#include <optional>
#include <string>

#include "algorithms/catalog.hpp"
#include "simulator.hpp"

namespace hcoll::test {

struct PlanCase {
    const Algorithm* algorithm = nullptr;
    AlgorithmParameters parameters;
    int ranks = 1;
    int root = 0;
    std::uint64_t units = 1;
    std::uint32_t unit_bytes = 1;
    bool in_place = false;
    bool ordered = false;

    std::string name() const;
};

std::vector<Plan> build_plans(const PlanCase& plan_case);

// Runs `plans` in one random order and compares every unit of every rank's output with what MPI defines.
std::optional<std::string> run_and_compare(const PlanCase& plan_case, std::vector<Plan> plans, std::mt19937_64& random);

// The seed of this process: the environment variable HCOLL_TEST_SEED, or a random one; printed once.
std::uint64_t test_seed();

}  // namespace hcoll::test
