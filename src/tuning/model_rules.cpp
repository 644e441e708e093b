// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/model_rules.hpp"

#include <algorithm>
#include <cassert>

#include "tuning/price.hpp"

namespace hcoll {

namespace {

// All follow the placement, so that what holds for ranks in the order of nodes holds for any other.
constexpr std::string_view bcast_candidates[] = {
    "han",
    "han:network=k_nomial,node=k_nomial,radix=6,sockets=no",
    "han:network=k_nomial,node=k_nomial,sockets=no",
    "han:network=binomial,node=k_nomial,radix=6,sockets=no,in_turn=yes,segment=8k",
    "han:network=binary,node=binary,socket=binary,segment=8k",
    "han:network=two_tree,node=k_nomial,sockets=no,segment=16k",
    "han:network=two_tree,node=flat,sockets=no,segment=64k",
    "topology_tree:segment=8k",
    "topology_tree:segment=32k",
};
constexpr std::string_view reduce_candidates[] = {
    "han",
    "han:network=k_nomial,node=k_nomial,radix=6,sockets=no",
    "han:segment=8k",
    "han:network=binary,node=binary,socket=binary,segment=8k",
    "han:network=two_tree,node=binomial,sockets=no,segment=8k",
    "han:network=two_tree,node=chain,socket=chain,segment=64k",
    "topology_tree:segment=8k",
    "topology_tree:segment=32k",
};
constexpr std::string_view allreduce_candidates[] = {
    "nap",
    "smp",
    "multi_leader:leaders=16,node=k_nomial,exchange=recursive_multiplying,radix=3",
    "multi_leader:leaders=32",
    "multi_leader:leaders=2,exchange=ring",
    "multi_leader:leaders=32,node=chain,exchange=ring",
    "han:segment=32k",
    "ring",
};
constexpr std::string_view barrier_candidates[] = {
    "hierarchical",           "hierarchical:radix=4",           "hierarchical:radix=8",
    "hierarchical:node=flat", "hierarchical:radix=4,node=flat", "hierarchical:radix=8,node=flat",
};

}  // namespace

std::span<const std::string_view> model_candidates(Collective collective) {
    switch (collective) {
        case Collective::bcast: return bcast_candidates;
        case Collective::reduce: return reduce_candidates;
        case Collective::allreduce: return allreduce_candidates;
        case Collective::barrier: return barrier_candidates;
        default: return {};
    }
}

double modelled_seconds(const AlgorithmChoice& choice, const Placement& placement, std::uint64_t bytes,
                        const MachineModel& machine, double most) {
    const Collective collective = choice.algorithm->collective;
    constexpr std::uint64_t double_bytes = 8;
    const std::uint64_t unit_bytes = is_reduction(collective) ? double_bytes : 1;
    const std::uint64_t units = has_message(collective) ? std::max<std::uint64_t>(bytes / unit_bytes, 1) : 1;
    const std::vector<Plan> plans = plans_of_all_ranks(
        *choice.algorithm, choice.parameters, {.units = units, .unit_bytes = unit_bytes, .placement = &placement});
    return price(plans, placement, machine, unit_bytes, {}, {.most_seconds = most}).seconds;
}

double modelled_seconds(Collective collective, std::string_view text, const Placement& placement, std::uint64_t bytes,
                        const MachineModel& machine) {
    AlgorithmChoice choice;
    [[maybe_unused]] const auto problem = parse_choice(collective, text, choice);
    assert(!problem && choice.kind == AlgorithmChoice::Kind::own && "a candidate is a valid setting");
    return modelled_seconds(choice, placement, bytes, machine);
}

std::vector<ModelledChoice> modelled_choices(Collective collective, const Placement& placement, std::uint64_t bytes,
                                             const MachineModel& machine) {
    std::vector<ModelledChoice> choices;
    for (const std::string_view candidate : model_candidates(collective))
        choices.push_back({candidate, modelled_seconds(collective, candidate, placement, bytes, machine)});
    std::stable_sort(choices.begin(), choices.end(),
                     [](const ModelledChoice& a, const ModelledChoice& b) { return a.seconds < b.seconds; });
    return choices;
}

}  // namespace hcoll
