// SPDX-License-Identifier: BSD-3-Clause
#include "plan_cases.hpp"

#include <fmt/format.h>

namespace hcoll::test {

namespace {

bool is_root(const PlanCase& plan_case, std::size_t rank) { return static_cast<int>(rank) == plan_case.root; }

bool is_in_place(const PlanCase& plan_case, std::size_t rank) {
    return plan_case.in_place && (!has_root(plan_case.algorithm->collective) || is_root(plan_case, rank));
}

const Placement& placement_of(const PlanCase& plan_case, std::shared_ptr<const Placement>& kept) {
    if (plan_case.layout.placement != nullptr) return *plan_case.layout.placement;
    kept = std::make_shared<const Placement>(Placement::one_node(plan_case.ranks));
    return *kept;
}

constexpr Operand untouched{.unit = ~0ULL, .poisoned = 1};

using Operands = std::vector<Operand>;

// A rank's part of the message, or those of all ranks one after another.
Operands part_of(std::size_t rank, std::uint64_t units) {
    Operands part;
    for (std::uint64_t unit = 0; unit < units; ++unit)
        part.push_back(operand_of(static_cast<std::uint32_t>(rank), unit));
    return part;
}
Operands all_parts(int ranks, std::uint64_t units) {
    Operands parts;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
        const Operands part = part_of(rank, units);
        parts.insert(parts.end(), part.begin(), part.end());
    }
    return parts;
}
Operands reduction(int ranks, std::uint64_t units) {
    Operands result = part_of(0, units);
    for (Operand& operand : result) {
        operand.ranks = static_cast<std::uint32_t>(ranks);
        operand.last = operand.ranks - 1;
        for (std::uint32_t rank = 1; rank < operand.ranks; ++rank) operand.sum += contribution(rank);
    }
    return result;
}

struct Buffers {
    Operands input;
    Operands output;
    Operands expected;  // of output
};

// Puts `part` where it belongs in the parts of all ranks.
void place_part(Operands& all, std::size_t rank, const Operands& part) {
    std::copy(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(rank * part.size()));
}

Buffers buffers_of(const PlanCase& plan_case, std::size_t rank, const Operands& result) {
    const std::uint64_t units = plan_case.units;
    const auto ranks = static_cast<std::uint64_t>(plan_case.ranks);
    const bool root = is_root(plan_case, rank);
    const bool in_place = is_in_place(plan_case, rank);
    const Operands own = part_of(rank, units);
    Buffers buffers{
        .input = in_place ? Operands(units, untouched) : own, .output = Operands(units, untouched), .expected = {}};
    switch (plan_case.algorithm->collective) {
        case Collective::bcast:
            buffers.input.clear();
            if (root) buffers.output = own;
            buffers.expected = part_of(static_cast<std::size_t>(plan_case.root), units);
            return buffers;
        case Collective::reduce:
        case Collective::allreduce:
            if (in_place) buffers.output = own;
            buffers.expected = root || !has_root(plan_case.algorithm->collective) ? result : buffers.output;
            return buffers;
        case Collective::gather:
        case Collective::allgather:
            // Elsewhere it is not significant, and may not exist.
            buffers.output.clear();
            if (!root && plan_case.algorithm->collective == Collective::gather) return buffers;
            buffers.output.assign(ranks * units, untouched);
            if (in_place) place_part(buffers.output, rank, own);
            buffers.expected = all_parts(plan_case.ranks, units);
            return buffers;
        case Collective::scatter:
            buffers.input = root ? all_parts(plan_case.ranks, units) : Operands();
            buffers.expected = in_place ? buffers.output : own;
            return buffers;
        case Collective::barrier: break;
    }
    buffers.input.clear();
    buffers.expected = buffers.output;
    return buffers;
}

}  // namespace

Layout block_layout(const std::vector<int>& ranks_of_nodes, int sockets) {
    std::vector<Seat> seats;
    std::string name = "block";
    for (std::size_t node = 0; node < ranks_of_nodes.size(); ++node) {
        name += fmt::format("{}{}", node == 0 ? ' ' : '+', ranks_of_nodes[node]);
        for (int i = 0; i < ranks_of_nodes[node]; ++i)
            seats.push_back({static_cast<int>(node), i * sockets / ranks_of_nodes[node], i});
    }
    return {fmt::format("{} sockets {}", name, sockets), std::make_shared<const Placement>(seats)};
}

Layout cyclic_layout(int ranks, int nodes, int sockets) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < ranks; ++rank) seats.push_back({rank % nodes, rank / nodes % sockets, rank / nodes});
    return {fmt::format("cyclic {} nodes sockets {}", nodes, sockets), std::make_shared<const Placement>(seats)};
}

std::vector<Layout> layouts_of(int ranks) {
    std::vector<Layout> layouts = {block_layout({ranks})};
    if (ranks == 1) return layouts;
    layouts.push_back(block_layout(std::vector<int>(static_cast<std::size_t>(ranks), 1)));
    const auto even = [&](int each, int sockets) {
        std::vector<int> nodes(static_cast<std::size_t>(ranks / each), each);
        if (ranks % each != 0) nodes.push_back(ranks % each);
        return block_layout(nodes, sockets);
    };
    if (ranks > 2) layouts.push_back(even(2, 1));
    if (ranks > 4) layouts.push_back(even(4, 2));
    if (ranks > 3) layouts.push_back(even(3, 1));
    if (ranks > 5) layouts.push_back(block_layout({ranks - 3, 1, 2}, 2));
    if (ranks > 5) layouts.push_back(block_layout({1, ranks - 4, 3}));
    if (ranks > 2) layouts.push_back(cyclic_layout(ranks, 2));
    if (ranks > 6) layouts.push_back(cyclic_layout(ranks, 3, 2));
    if (ranks > 3) {
        std::vector<Seat> reversed;
        std::vector<Seat> random;
        std::mt19937_64 generator(static_cast<std::uint64_t>(ranks));
        for (int rank = 0; rank < ranks; ++rank) {
            reversed.push_back({(ranks - 1 - rank) / 4, (ranks - 1 - rank) / 2 % 2, ranks - 1 - rank});
            random.push_back({static_cast<int>(generator() % 4), static_cast<int>(generator() % 2), -1});
        }
        layouts.push_back({"reversed", std::make_shared<const Placement>(reversed)});
        layouts.push_back({"random", std::make_shared<const Placement>(random)});
    }
    return layouts;
}

std::string PlanCase::name() const {
    std::string text = fmt::format("{} {} ranks={} root={} units={} unit_bytes={}{}{} layout={}",
                                   name_of(algorithm->collective), algorithm->name, ranks, root, units, unit_bytes,
                                   in_place ? " in place" : "", ordered ? " ordered" : "", layout.name);
    for (const Parameter* parameter : algorithm->parameters)
        text += fmt::format(" {}={}", parameter->name, parameter->get(parameters));
    return text;
}

std::vector<Plan> build_plans(const PlanCase& plan_case) {
    std::vector<Plan> plans;
    std::shared_ptr<const Placement> kept;
    const Placement& placement = placement_of(plan_case, kept);
    for (int rank = 0; rank < plan_case.ranks; ++rank)
        plans.push_back(plan_case.algorithm->build({.ranks = plan_case.ranks,
                                                    .rank = rank,
                                                    .root = plan_case.root,
                                                    .units = plan_case.units,
                                                    .unit_bytes = plan_case.unit_bytes,
                                                    .in_place = is_in_place(plan_case, static_cast<std::size_t>(rank)),
                                                    .ordered = plan_case.ordered,
                                                    .placement = &placement},
                                                   plan_case.parameters));
    return plans;
}

PreparedCase prepare(const PlanCase& plan_case, std::vector<Plan> plans) {
    PreparedCase prepared;
    const Operands result =
        is_reduction(plan_case.algorithm->collective) ? reduction(plan_case.ranks, plan_case.units) : Operands();
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        Buffers buffers = buffers_of(plan_case, rank, result);
        prepared.inputs.push_back(buffers.input);
        prepared.expected.push_back(std::move(buffers.expected));
        prepared.ranks.push_back({std::move(plans[rank]), std::move(buffers.input), std::move(buffers.output)});
    }
    return prepared;
}

std::optional<std::string> compare(const PlanCase& plan_case, const PreparedCase& prepared) {
    if (plan_case.algorithm->collective == Collective::barrier) return std::nullopt;
    const auto& ranks = prepared.ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        if (ranks[rank].input != prepared.inputs[rank]) return fmt::format("rank {}: input was written", rank);
        const Operands& expected = prepared.expected[rank];
        if (plan_case.algorithm->collective == Collective::allreduce)
            for (std::size_t unit = 0; unit < expected.size(); ++unit)
                if (ranks[rank].output[unit].sided_bits != ranks[0].output[unit].sided_bits)
                    return fmt::format("rank {}: other bits than rank 0's at unit {}", rank, unit);
        for (std::size_t unit = 0; unit < expected.size(); ++unit)
            if (const Operand& found = ranks[rank].output[unit]; !(found == expected[unit]))
                return fmt::format("rank {}: wrong unit {}: ranks={} first={} last={} poisoned={}", rank, unit,
                                   found.ranks, found.first, found.last, found.poisoned);
    }
    return std::nullopt;
}

std::optional<std::string> run_and_compare(const PlanCase& plan_case, std::vector<Plan> plans,
                                           std::mt19937_64& random) {
    PreparedCase prepared = prepare(plan_case, std::move(plans));
    if (auto defect = simulate(prepared.ranks, plan_case.ordered, random)) return defect;
    return compare(plan_case, prepared);
}

std::vector<std::uint64_t> result_bits(const PlanCase& plan_case, std::mt19937_64& random) {
    std::vector<Plan> plans = build_plans(plan_case);
    std::vector<SimulatedRank> ranks(plans.size());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        Buffers buffers = buffers_of(plan_case, rank, {});
        ranks[rank] = {std::move(plans[rank]), std::move(buffers.input), std::move(buffers.output)};
    }
    std::vector<std::uint64_t> bits;
    if (simulate(ranks, plan_case.ordered, random)) return bits;
    for (const Operand& operand : ranks[static_cast<std::size_t>(plan_case.root)].output) bits.push_back(operand.bits);
    return bits;
}

}  // namespace hcoll::test
