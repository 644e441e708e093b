// The declarative list of what the library can run. Settings, hcoll-info, the reference page and the tests are made from
// it; nothing else names an algorithm.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/algorithms.hpp"

namespace hcoll {

enum class Collective : std::uint8_t { bcast, reduce, allreduce };
inline constexpr std::size_t collective_count = 3;

// In the order of Collective: the name in settings, reports and hcoll-bench, and MPI's.
struct CollectiveName {
    std::string_view name;
    std::string_view mpi_name;
};
inline constexpr CollectiveName collective_names[collective_count] = {
    {"bcast", "MPI_Bcast"}, {"reduce", "MPI_Reduce"}, {"allreduce", "MPI_Allreduce"}};

inline std::string_view name_of(Collective collective) {
    return collective_names[static_cast<std::size_t>(collective)].name;
}

// A parameter that a setting may give as key=value. Sizes take suffixes k, M, G; trees are given by name.
enum class ParameterKind : std::uint8_t { size, number, tree };
struct Parameter {
    std::string_view name;
    ParameterKind kind;
    std::uint64_t minimum;
    std::uint64_t maximum;
    std::string_view help;
    void (*set)(AlgorithmParameters&, std::uint64_t);
    std::uint64_t (*get)(const AlgorithmParameters&);
};

struct Algorithm {
    Collective collective;
    std::string_view name;
    std::string_view help;
    Plan (*build)(const PlanRequest&, const AlgorithmParameters&);
    AlgorithmParameters defaults;
    std::span<const Parameter* const> parameters;
};

std::span<const Algorithm> algorithms();

// nullptr where the collective has no algorithm of that name.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

inline constexpr std::string_view tree_names[] = {"chain", "binary", "binomial"};  // in the order of TreeShape

}  // namespace hcoll
