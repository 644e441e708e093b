// SPDX-License-Identifier: BSD-3-Clause
// The declarative list of what the library can run. Settings, hcoll-info, the reference page and the tests are made from
// it; nothing else names an algorithm.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/algorithms.hpp"

namespace hcoll {

inline constexpr std::size_t collective_count = 7;

// In the order of Collective: the name in settings, reports and hcoll-bench, and MPI's.
struct CollectiveName {
    std::string_view name;
    std::string_view mpi_name;
};
inline constexpr CollectiveName collective_names[collective_count] = {
    {"bcast", "MPI_Bcast"},   {"reduce", "MPI_Reduce"},   {"allreduce", "MPI_Allreduce"}, {"barrier", "MPI_Barrier"},
    {"gather", "MPI_Gather"}, {"scatter", "MPI_Scatter"}, {"allgather", "MPI_Allgather"}};

// The first of them have non-blocking relatives that run here: ibcast, ireduce and iallreduce.
inline constexpr std::size_t nonblocking_count = 3;
inline constexpr std::string_view nonblocking_names[nonblocking_count] = {"ibcast", "ireduce", "iallreduce"};

inline std::string_view name_of(Collective collective) {
    return collective_names[static_cast<std::size_t>(collective)].name;
}
inline bool has_root(Collective collective) {
    return collective == Collective::bcast || collective == Collective::reduce || collective == Collective::gather ||
           collective == Collective::scatter;
}
// Does it move what the application gave it? A barrier does not: its plan has one unit, a byte that says nothing.
inline bool has_message(Collective collective) { return collective != Collective::barrier; }
// Does every rank have a block of its own in it, among those of all ranks?
inline bool has_blocks(Collective collective) {
    return collective == Collective::gather || collective == Collective::scatter || collective == Collective::allgather;
}
// Does it combine operands?
inline bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce;
}

// A parameter that a setting may give as key=value. Sizes take suffixes k, M, G; choices are given by name.
// `number_or_auto` is one more value, `auto`, which is told from numbers by being the largest of all.
enum class ParameterKind : std::uint8_t { size, number, choice, number_or_auto };
inline constexpr std::uint64_t automatic_number = std::numeric_limits<std::uint64_t>::max();
struct Parameter {
    std::string_view name;
    ParameterKind kind;
    std::uint64_t minimum;
    std::uint64_t maximum;
    std::span<const std::string_view> names;  // of a choice: its values 0, 1, ...
    std::string_view help;
    void (*set)(AlgorithmParameters&, std::uint64_t);
    std::uint64_t (*get)(const AlgorithmParameters&);
    // Values worth a try, beside which others are much like one of them; a choice's are all that it has. Empty: the default alone.
    std::span<const std::uint64_t> samples = {};
};

// What an operation that does not commute needs, so that the algorithm combines operands in the order of ranks.
enum class Order : std::uint8_t {
    always,         // nothing
    in_rank_order,  // Placement::is_in_rank_order
    never,          // it cannot
    by_tree,        // any tree but two_tree
};

// In the order in which the list is written.
struct Algorithm {  // NOLINT(clang-analyzer-optin.performance.Padding)
    Collective collective;
    std::string_view name;
    std::string_view help;
    Plan (*build)(const PlanRequest&, const AlgorithmParameters&);
    AlgorithmParameters defaults;
    std::span<const Parameter* const> parameters;
    Order order = Order::always;
    bool uses_placement = false;       // its plan depends on where ranks sit
    bool bits_need_placement = false;  // so do the bits of its result
};

std::span<const Algorithm> algorithms();

// nullptr where the collective has no algorithm of that name.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

// The plans of one call on every rank of `request.placement`; ranks and rank are filled in.
std::vector<Plan> plans_of_all_ranks(const Algorithm& algorithm, const AlgorithmParameters& parameters,
                                     PlanRequest request);

// Can the algorithm run an operation that does not commute there? Equal on all ranks.
bool keeps_order(const Algorithm& algorithm, const AlgorithmParameters& parameters, const Placement& placement);

// Do all its messages go from a rank to the next or the one before, modulo their number?
bool is_between_neighbors(const Algorithm& algorithm, const AlgorithmParameters& parameters);

// Does it use the MPI library's collectives among the leaders of nodes?
inline bool needs_leaders(const Algorithm& algorithm, const AlgorithmParameters& parameters) {
    return algorithm.uses_placement && parameters.network == NetworkModule::vendor;
}

}  // namespace hcoll
