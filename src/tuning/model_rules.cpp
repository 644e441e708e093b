#include "tuning/model_rules.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "tuning/machine_model.hpp"
#include "tuning/price.hpp"
#include "tuning/settings.hpp"

namespace hcoll {

namespace {

constexpr std::uint64_t bytes_of_element = 8;
constexpr std::uint64_t smallest = 8;
constexpr std::uint64_t largest = 16ULL << 20U;
constexpr int most_nodes = 64;
constexpr int most_ranks_of_node = 32;
constexpr int most_ranks = 1024;

// All know where ranks are, so that rules hold for any order of ranks, and all work in segments: messages may be longer than
// those of the grid.
constexpr std::string_view bcast_candidates[] = {
    "han",
    "han:network=k_nomial",
    "han:network=binary,node=binary,socket=binary,segment=8k",
    "han:network=two_tree,node=chain,socket=chain,segment=64k",
    "topology_tree:segment=8k",
    "topology_tree:segment=32k",
};
constexpr std::string_view reduce_candidates[] = {
    "han",
    "han:segment=8k",
    "han:network=binary,node=binary,socket=binary,segment=8k",
    "han:network=two_tree,node=chain,socket=chain,segment=64k",
    "topology_tree:segment=8k",
    "topology_tree:segment=32k",
};
constexpr std::string_view allreduce_candidates[] = {
    "nap",
    "smp",
    "multi_leader:leaders=2",
    "multi_leader:leaders=4",
    "multi_leader:leaders=8",
    "multi_leader:leaders=16",
    "multi_leader:leaders=32",
    "han:segment=32k",
    "ring",
};

std::span<const std::string_view> candidates_of(Collective collective) {
    switch (collective) {
        case Collective::bcast: return bcast_candidates;
        case Collective::reduce: return reduce_candidates;
        case Collective::allreduce: return allreduce_candidates;
        default: return {};
    }
}

Placement placement_of(const ModelCase& which) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < which.nodes * which.ranks_per_node; ++rank) {
        const int index = rank % which.ranks_per_node;
        seats.push_back({rank / which.ranks_per_node, index * 2 / which.ranks_per_node, index});
    }
    return Placement(seats);
}

}  // namespace

std::span<const std::string_view> model_candidates(Collective collective) { return candidates_of(collective); }

double modelled_seconds(const ModelCase& which, std::string_view choice_text, double most) {
    AlgorithmChoice choice;
    [[maybe_unused]] const auto problem = parse_choice(which.collective, choice_text, choice);
    assert(!problem && choice.algorithm != nullptr && "a candidate is an algorithm of ours");
    const Placement placement = placement_of(which);
    const std::uint64_t unit_bytes = is_reduction(which.collective) ? bytes_of_element : 1;
    std::vector<Plan> plans;
    for (int rank = 0; rank < placement.ranks(); ++rank)
        plans.push_back(choice.algorithm->build({.ranks = placement.ranks(),
                                                 .rank = rank,
                                                 .units = which.bytes / unit_bytes,
                                                 .unit_bytes = unit_bytes,
                                                 .placement = &placement},
                                                choice.parameters));
    return price(plans, placement, default_machine(), unit_bytes, {}, {.most_seconds = most}).seconds;
}

std::vector<ModelledChoice> modelled_choices(const ModelCase& which, double factor) {
    std::vector<ModelledChoice> choices;
    double fastest = std::numeric_limits<double>::infinity();
    for (const std::string_view candidate : model_candidates(which.collective)) {
        const double seconds = modelled_seconds(which, candidate, factor * fastest);
        fastest = std::min(fastest, seconds);
        choices.push_back({candidate, seconds});
    }
    std::erase_if(choices, [&](const ModelledChoice& choice) { return !(choice.seconds <= factor * fastest); });
    std::stable_sort(choices.begin(), choices.end(),
                     [](const ModelledChoice& a, const ModelledChoice& b) { return a.seconds < b.seconds; });
    return choices;
}

std::vector<ModelCase> model_grid(Collective collective) {
    std::vector<ModelCase> grid;
    for (int nodes = 2; nodes <= most_nodes; nodes *= 2)
        for (int ranks = 1; ranks <= most_ranks_of_node && nodes * ranks <= most_ranks; ranks *= 2) {
            for (std::uint64_t bytes = smallest; bytes < largest; bytes *= 4)
                grid.push_back({collective, nodes, ranks, bytes});
            grid.push_back({collective, nodes, ranks, largest});
        }
    return grid;
}

}  // namespace hcoll
