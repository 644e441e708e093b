#include "tuning/selection.hpp"

#include <fmt/format.h>

#include "tuning/rules.hpp"
#include "tuning/split_tree.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

Decision vendor_decision(std::string why) {
    return {.algorithm = nullptr, .parameters = {}, .what = "vendor", .why = std::move(why)};
}

Decision decision_of(const AlgorithmChoice& choice, std::string why) {
    if (choice.kind == AlgorithmChoice::Kind::shared)
        return {.algorithm = nullptr,
                .shared = true,
                .single_copy = choice.single_copy,
                .parameters = {},
                .what = choice_text(choice),
                .why = std::move(why)};
    if (choice.kind != AlgorithmChoice::Kind::own) return vendor_decision(std::move(why));
    return {.algorithm = choice.algorithm,
            .parameters = choice.parameters,
            .what = choice_text(choice),
            .why = std::move(why)};
}

Decision decision_of_rule(Collective collective, std::string_view text, std::string why) {
    AlgorithmChoice choice;
    const auto problem = parse_choice(collective, text, choice);
    return decision_of(problem ? AlgorithmChoice{} : choice, std::move(why));
}

// Adds a row, unless earlier ones cover all that it does.
void add_row(DecisionTable& table, std::uint64_t largest_bytes, Decision decision) {
    if (table.empty() || largest_bytes > table.back().largest_bytes)
        table.push_back({largest_bytes, std::move(decision)});
}

DecisionTable measured_table(VendorKind vendor, Collective collective, int ranks, bool has_shared_memory) {
    DecisionTable table;
    for (const MeasuredRule& rule : measured_rules()) {
        if (rule.vendor != vendor || rule.collective != collective || ranks < rule.fewest_ranks ||
            ranks > rule.most_ranks)
            continue;
        Decision decision = decision_of_rule(collective, rule.choice, "built-in rule (measured)");
        if (has_shared_memory || !decision.shared) add_row(table, rule.largest_bytes, std::move(decision));
    }
    return table;
}

DecisionTable modelled_table(Collective collective, const Placement& placement) {
    const int nodes = placement.nodes();
    const int ranks_per_node = (placement.ranks() + nodes - 1) / nodes;
    DecisionTable table;
    for (const ModelledRule& rule : modelled_rules()) {
        if (rule.collective != collective || nodes > rule.most_nodes || ranks_per_node > rule.most_ranks_per_node)
            continue;
        add_row(table, rule.largest_bytes, decision_of_rule(collective, rule.choice, "built-in rule (model)"));
    }
    return table;
}

// Where bits are to be the same for any placement: what an algorithm is replaced by, if it does not give that.
std::optional<Decision> reproducible_decision(const Settings& settings, Collective collective) {
    const AlgorithmChoice& choice = settings.choice(collective);
    if (!settings.reproducible || !is_reduction(collective) || choice.kind == AlgorithmChoice::Kind::vendor)
        return std::nullopt;
    if (choice.kind == AlgorithmChoice::Kind::own && !choice.algorithm->bits_need_placement) return std::nullopt;
    AlgorithmChoice reproducible{
        .kind = AlgorithmChoice::Kind::own, .algorithm = find_algorithm(collective, "reproducible"), .parameters = {}};
    reproducible.parameters = reproducible.algorithm->defaults;
    return decision_of(reproducible, "setting LIBHCOLL_REPRODUCIBLE");
}

// Where ranks keep to neighbors: what was chosen, as far as it does, or else an algorithm that keeps any order of operands.
DecisionTable table_of_neighbors(Collective collective, const AlgorithmChoice& choice, std::string_view name) {
    if (choice.kind != AlgorithmChoice::Kind::automatic && keeps_to_neighbors(choice))
        return {{.decision = decision_of(choice, fmt::format("setting LIBHCOLL_{}", to_upper(name)))}};
    const std::string_view text = collective == Collective::reduce      ? "linear"
                                  : collective == Collective::allreduce ? "reduce_bcast:tree=linear"
                                                                        : "ring";
    return {{.decision = decision_of_rule(collective, text, "setting LIBHCOLL_SPARSE")}};
}

}  // namespace

void Decision::do_without_leaders() {
    if (!wants_leaders()) return;
    parameters.network = NetworkModule::tree;
    what = choice_text({AlgorithmChoice::Kind::own, algorithm, parameters});
}

void Decision::do_without_single_copy() {
    if (!shared) return;
    single_copy = 0;
    what = choice_text({.kind = AlgorithmChoice::Kind::shared, .algorithm = nullptr, .parameters = {}});
}

void Decision::choose_split(int ranks, int progress_cores) {
    if (algorithm == nullptr || parameters.split != modelled_split) return;
    parameters.split = best_split(ranks, progress_cores);
    what = choice_text({AlgorithmChoice::Kind::own, algorithm, parameters});
}

void Decision::shorten_segments(std::uint64_t most_bytes) {
    if (algorithm == nullptr || parameters.pipeline.segment_bytes <= most_bytes) return;
    parameters.pipeline.segment_bytes = most_bytes;
    what = choice_text({AlgorithmChoice::Kind::own, algorithm, parameters});
}

DecisionTable make_nonblocking_table(const Settings& settings, VendorKind vendor, Collective collective,
                                     const Placement& placement, int progress_cores) {
    if (auto decision = reproducible_decision(settings, collective)) return {{.decision = std::move(*decision)}};
    const auto index = static_cast<std::size_t>(collective);
    const AlgorithmChoice& choice = settings.nonblocking_choices[index];
    const auto split = [&](Decision& decision) {
        decision.choose_split(placement.ranks(), placement.nodes() * progress_cores);
    };
    if (settings.sparse) {
        DecisionTable table = table_of_neighbors(collective, choice, nonblocking_names[index]);
        for (SizeRange& range : table) split(range.decision);
        return table;
    }
    if (choice.kind != AlgorithmChoice::Kind::automatic) {
        Decision decision = decision_of(choice, fmt::format("setting LIBHCOLL_{}", to_upper(nonblocking_names[index])));
        split(decision);
        return {{.decision = std::move(decision)}};
    }
    // Below, a call is over before its rank can compute, and on one node ranks and threads would want the same cores.
    constexpr std::uint64_t too_short = (64 << 10) - 1;
    const Decision of_vendor = vendor_decision("built-in rule (non-blocking)");
    if (placement.nodes() == 1) return {{.decision = of_vendor}};
    // Longer messages begin with a handshake in MPICH, and each half of it waits for somebody to look (docs/tuning.md).
    constexpr std::uint64_t without_handshake = 16 << 10;
    DecisionTable table{{too_short, of_vendor}};
    for (SizeRange& range : modelled_table(collective, placement)) {
        range.decision.do_without_leaders();
        if (range.decision.algorithm == nullptr) range.decision = of_vendor;
        if (vendor == VendorKind::mpich && has_root(collective)) range.decision.shorten_segments(without_handshake);
        add_row(table, range.largest_bytes, std::move(range.decision));
    }
    if (table.back().largest_bytes != std::numeric_limits<std::uint64_t>::max())
        table.push_back({.decision = of_vendor});
    return table;
}

DecisionTable make_decision_table(const Settings& settings, VendorKind vendor, Collective collective,
                                  const Placement& placement, bool has_shared_memory) {
    if (auto decision = reproducible_decision(settings, collective)) return {{.decision = std::move(*decision)}};
    const AlgorithmChoice& choice = settings.choice(collective);
    if (settings.sparse) return table_of_neighbors(collective, choice, name_of(collective));
    const bool cannot = choice.kind == AlgorithmChoice::Kind::shared && !has_shared_memory;
    if (choice.kind != AlgorithmChoice::Kind::automatic && !cannot) {
        const std::string setting = fmt::format("LIBHCOLL_{}", to_upper(name_of(collective)));
        return {{.decision = decision_of(choice, fmt::format("setting {}", setting))}};
    }
    DecisionTable table = placement.nodes() == 1
                              ? measured_table(vendor, collective, placement.ranks(), has_shared_memory)
                              : modelled_table(collective, placement);
    if (table.empty() || table.back().largest_bytes != std::numeric_limits<std::uint64_t>::max())
        table.push_back({.decision = vendor_decision("built-in rule (measured)")});
    return table;
}

}  // namespace hcoll
