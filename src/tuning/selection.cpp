// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/selection.hpp"

#include <fmt/format.h>

#include "base/letters.hpp"
#include "tuning/rules.hpp"
#include "tuning/split_tree.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

Decision vendor_decision(std::string why) {
    return {.algorithm = nullptr, .parameters = {}, .what = "vendor", .why = std::move(why)};
}

}  // namespace

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

namespace {

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

DecisionTable measured_table(VendorKind vendor, Collective collective, const Placement& placement,
                             bool has_shared_memory) {
    const int nodes = placement.nodes();
    const int ranks = ranks_per_node(placement);
    DecisionTable table;
    for (const MeasuredRule& rule : measured_rules()) {
        if (rule.vendor != vendor || rule.collective != collective || ranks < rule.fewest_ranks ||
            ranks > rule.most_ranks || nodes != rule.nodes)
            continue;
        Decision decision = decision_of_rule(collective, rule.choice, "built-in rule (measured)");
        decision.is_of_rule = true;
        if (has_shared_memory || !decision.shared) add_row(table, rule.largest_bytes, std::move(decision));
    }
    return table;
}

DecisionTable modelled_table(Collective collective, const Placement& placement) {
    const int ranks = ranks_per_node(placement);
    DecisionTable table;
    for (const ModelledRule& rule : modelled_rules()) {
        if (rule.collective != collective || placement.nodes() > rule.most_nodes || ranks > rule.most_ranks_per_node)
            continue;
        add_row(table, rule.largest_bytes, decision_of_rule(collective, rule.choice, "built-in rule (model)"));
    }
    return table;
}

// Rows end where the table ends: the last one has no bound.
void add_last_row(DecisionTable& table, Decision decision) {
    add_row(table, std::numeric_limits<std::uint64_t>::max(), std::move(decision));
}

// What the machine's table says, and `built_in` where it says nothing.
DecisionTable with_machine_table(const Settings& settings, const TableCall& call, const Placement& placement,
                                 bool has_shared_memory, DecisionTable built_in) {
    if (settings.table == nullptr) return built_in;
    const auto parsed = [&](std::string_view text) {
        AlgorithmChoice choice;
        const auto problem = call.is_nonblocking ? parse_nonblocking_choice(call.collective, text, choice)
                                                 : parse_choice(call.collective, text, choice);
        return problem ? AlgorithmChoice{.kind = AlgorithmChoice::Kind::vendor, .algorithm = nullptr, .parameters = {}}
                       : choice;
    };
    const auto look = [&](const auto& can_run) {
        return look_up(*settings.table, call, placement.nodes(), ranks_per_node(placement), can_run);
    };
    const std::vector<TableRow> rows = look(
        [&](std::string_view text) { return has_shared_memory || parsed(text).kind != AlgorithmChoice::Kind::shared; });
    if (rows.empty()) return built_in;
    // What operations run that others cannot: in the order of ranks, with no kernel, by messages of the library's own alone.
    const std::vector<TableRow> of_any_operation =
        !is_reduction(call.collective) ? std::vector<TableRow>{} : look([&](std::string_view text) {
            const AlgorithmChoice choice = parsed(text);
            return choice.kind == AlgorithmChoice::Kind::vendor ||
                   (choice.kind == AlgorithmChoice::Kind::own && !needs_leaders(*choice.algorithm, choice.parameters) &&
                    keeps_order(*choice.algorithm, choice.parameters, placement));
        });
    DecisionTable table;
    std::size_t of_operation = 0;
    std::size_t of_built_in = 0;
    std::uint64_t from = 0;
    for (const TableRow& row : rows)
        while (table.empty() || table.back().largest_bytes < row.largest_bytes) {
            std::uint64_t to = row.largest_bytes;
            Decision decision;
            if (row.choice.empty()) {
                while (built_in[of_built_in].largest_bytes < from) ++of_built_in;
                decision = built_in[of_built_in].decision;
                to = std::min(to, built_in[of_built_in].largest_bytes);
            } else {
                decision = decision_of(parsed(row.choice), row.why);
                if (!of_any_operation.empty()) {
                    while (of_any_operation[of_operation].largest_bytes < from) ++of_operation;
                    const TableRow& next_best = of_any_operation[of_operation];
                    to = std::min(to, next_best.largest_bytes);
                    if (next_best.choice != row.choice && !next_best.choice.empty() && next_best.choice != "vendor")
                        decision.next_best =
                            std::make_shared<const Decision>(decision_of(parsed(next_best.choice), next_best.why));
                }
            }
            add_row(table, to, std::move(decision));
            from = to + 1;
        }
    return table;
}

// Where bits are to be the same for any placement: what an algorithm is replaced by, if it does not give that.
std::optional<Decision> reproducible_decision(const Settings& settings, Collective collective,
                                              const AlgorithmChoice& choice) {
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
    const auto index = static_cast<std::size_t>(collective);
    const AlgorithmChoice& choice = settings.nonblocking_choices[index];
    if (auto decision = reproducible_decision(settings, collective, choice))
        return {{.decision = std::move(*decision)}};
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
    const Decision of_vendor = vendor_decision("built-in rule (non-blocking)");
    DecisionTable built_in;
    // On so small clusters what the model chooses was measured beside computation (docs/results/measured.md, "Non-blocking").
    constexpr int most_measured = 4;
    const bool is_measured = placement.nodes() <= most_measured && ranks_per_node(placement) <= most_measured;
    if (placement.nodes() > 1 && (is_measured || settings.rules == RuleSet::model)) {
        // Below, a call is over before its rank can compute, and on one node ranks and threads would want the same cores.
        constexpr std::uint64_t too_short = (64 << 10) - 1;
        // Longer messages begin with a handshake in MPICH, and each half of it waits for somebody to look (docs/results/measured.md).
        constexpr std::uint64_t without_handshake = 16 << 10;
        built_in.push_back({too_short, of_vendor});
        for (SizeRange& range : modelled_table(collective, placement)) {
            range.decision.do_without_leaders();
            if (range.decision.algorithm == nullptr) range.decision = of_vendor;
            if (vendor == VendorKind::mpich && has_root(collective)) range.decision.shorten_segments(without_handshake);
            add_row(built_in, range.largest_bytes, std::move(range.decision));
        }
    }
    add_last_row(built_in, of_vendor);
    DecisionTable table = with_machine_table(settings, {collective, true}, placement, false, std::move(built_in));
    for (SizeRange& range : table) split(range.decision);
    return table;
}

DecisionTable make_decision_table(const Settings& settings, VendorKind vendor, Collective collective,
                                  const Placement& placement, bool has_shared_memory) {
    const AlgorithmChoice& choice = settings.choice(collective);
    if (auto decision = reproducible_decision(settings, collective, choice))
        return {{.decision = std::move(*decision)}};
    if (settings.sparse) return table_of_neighbors(collective, choice, name_of(collective));
    const bool cannot = choice.kind == AlgorithmChoice::Kind::shared && !has_shared_memory;
    if (choice.kind != AlgorithmChoice::Kind::automatic && !cannot) {
        const std::string setting = fmt::format("LIBHCOLL_{}", to_upper(name_of(collective)));
        return {{.decision = decision_of(choice, fmt::format("setting {}", setting))}};
    }
    DecisionTable built_in = measured_table(vendor, collective, placement, has_shared_memory);
    if (settings.rules == RuleSet::model && placement.nodes() > 1) built_in = modelled_table(collective, placement);
    add_last_row(built_in, vendor_decision("built-in rule (measured)"));
    return with_machine_table(settings, {collective, false}, placement, has_shared_memory, std::move(built_in));
}

}  // namespace hcoll
