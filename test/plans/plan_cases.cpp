#include "plan_cases.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace hcoll::test {

namespace {

bool has_result(const PlanCase& plan_case, int rank) {
    return plan_case.algorithm->collective != Collective::reduce || rank == plan_case.root;
}

Operand expected_operand(const PlanCase& plan_case, std::uint64_t unit) {
    if (plan_case.algorithm->collective == Collective::bcast)
        return operand_of(static_cast<std::uint32_t>(plan_case.root), unit);
    Operand result = operand_of(0, unit);
    result.ranks = static_cast<std::uint32_t>(plan_case.ranks);
    result.last = result.ranks - 1;
    for (std::uint32_t rank = 1; rank < result.ranks; ++rank) result.sum += contribution(rank);
    return result;
}

}  // namespace

std::string PlanCase::name() const {
    return fmt::format("{} {} ranks={} root={} units={} unit_bytes={} segment={} sends={} receives={} tree={}{}{}",
                       name_of(algorithm->collective), algorithm->name, ranks, root, units, unit_bytes,
                       parameters.pipeline.segment_bytes, parameters.pipeline.sends, parameters.pipeline.receives,
                       tree_names[static_cast<std::size_t>(parameters.tree)], in_place ? " in place" : "",
                       ordered ? " ordered" : "");
}

std::vector<Plan> build_plans(const PlanCase& plan_case) {
    std::vector<Plan> plans;
    for (int rank = 0; rank < plan_case.ranks; ++rank) {
        const bool root_only = plan_case.algorithm->collective == Collective::reduce;
        const bool in_place = plan_case.in_place && (!root_only || rank == plan_case.root);
        plans.push_back(plan_case.algorithm->build({.ranks = plan_case.ranks,
                                                    .rank = rank,
                                                    .root = plan_case.root,
                                                    .units = plan_case.units,
                                                    .unit_bytes = plan_case.unit_bytes,
                                                    .in_place = in_place,
                                                    .ordered = plan_case.ordered},
                                                   plan_case.parameters));
    }
    return plans;
}

std::optional<std::string> run_and_compare(const PlanCase& plan_case, std::vector<Plan> plans,
                                           std::mt19937_64& random) {
    const bool is_bcast = plan_case.algorithm->collective == Collective::bcast;
    const Operand untouched{.unit = ~0ULL, .poisoned = 1};
    std::vector<SimulatedRank> ranks(plans.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        ranks[rank].plan = std::move(plans[rank]);
        const bool root_only = plan_case.algorithm->collective == Collective::reduce;
        const bool is_root = static_cast<int>(rank) == plan_case.root;
        const bool contributes_in_output = is_bcast ? is_root : plan_case.in_place && (!root_only || is_root);
        for (std::uint64_t unit = 0; unit < plan_case.units; ++unit) {
            const Operand own = operand_of(static_cast<std::uint32_t>(rank), unit);
            ranks[rank].input.push_back(contributes_in_output || is_bcast ? untouched : own);
            ranks[rank].output.push_back(contributes_in_output ? own : untouched);
        }
    }
    const std::vector<SimulatedRank> before = ranks;
    if (auto defect = simulate(ranks, plan_case.ordered, random)) return defect;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks[rank].input != before[rank].input) return fmt::format("rank {}: input was written", rank);
        for (std::uint64_t unit = 0; unit < plan_case.units; ++unit) {
            const Operand& found = ranks[rank].output[unit];
            if (!has_result(plan_case, static_cast<int>(rank))) {
                if (!(found == untouched)) return fmt::format("rank {}: output was written at unit {}", rank, unit);
            } else if (!(found == expected_operand(plan_case, unit))) {
                return fmt::format("rank {}: wrong unit {}: ranks={} first={} last={} poisoned={}", rank, unit,
                                   found.ranks, found.first, found.last, found.poisoned);
            }
        }
    }
    return std::nullopt;
}

std::uint64_t test_seed() {
    static const std::uint64_t seed = [] {
        const char* given = std::getenv("HCOLL_TEST_SEED");
        const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
        std::printf("seed %llu (HCOLL_TEST_SEED=%llu repeats this run)\n", static_cast<unsigned long long>(value),
                    static_cast<unsigned long long>(value));
        return value;
    }();
    return seed;
}

}  // namespace hcoll::test
