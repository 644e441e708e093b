// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/trial_candidates.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "tuning/rules.hpp"

namespace hcoll {

namespace {

// Besides what is usual.
constexpr std::size_t most_others = 3;
constexpr std::size_t most_others_at_first = PlaceLearning::most_candidates - 1;  // LIBHCOLL_TUNE=learn
constexpr int size_classes = 36;
// Pages that are copied once pay from there on, if ever (docs/results/measured.md).
constexpr std::uint64_t least_single_copy = 32 << 10;

// Decisions by their texts, each made once.
class Parser {
public:
    explicit Parser(Collective collective) : collective_(collective) {}
    // nullptr where it is none. Until the next one is asked for.
    const Decision* decision(std::string_view text) {
        const auto known =
            std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first == text; });
        if (known != known_.end()) return &known->second;
        AlgorithmChoice choice;
        if (parse_choice(collective_, text, choice)) return nullptr;
        return &known_.emplace_back(std::string(text), decision_of(choice, why_of_trials)).second;
    }

private:
    Collective collective_;
    std::vector<std::pair<std::string, Decision>> known_;
};

// Do both run the same for messages of so many bytes?
bool is_alike(const Decision& a, const Decision& b, std::uint64_t bytes, NodeMemory memory) {
    const auto copies_once = [&](const Decision& each) {
        return memory == NodeMemory::copied_once && each.single_copy != 0 && bytes >= each.single_copy &&
               bytes > never_copied_once;
    };
    return a.shared && b.shared ? copies_once(a) == copies_once(b) : a.what == b.what;
}

// What other jobs have found the fastest there; nothing is concluded for other layouts or lengths, which are soon tried themselves.
const TableEntry* find_learned(const Settings& settings, Collective collective, const Placement& placement,
                               int size_class) {
    if (settings.learned == nullptr) return nullptr;
    for (const TableEntry& each : settings.learned->entries)
        if (each.is_point() && each.call == TableCall{collective, false} && each.nodes.holds(placement.nodes()) &&
            each.ranks_per_node.holds(ranks_per_node(placement)) && size_class_of_place(each.bytes.least) == size_class)
            return &each;
    return nullptr;
}

// What the table would say if `best` could not run. Looked up once for all communicators of a layout: of a table of a large machine it takes a millisecond
// each time.
class NextBest {
public:
    NextBest(const Settings& settings, Collective collective, const Placement& placement)
        : settings_(settings), layout_{collective, placement.nodes(), ranks_per_node(placement)} {
        if (settings.table == nullptr) return;
        static auto* all = new Known;  // used until the process ends
        known_ = all;
    }
    std::string after(const std::vector<std::string>& best, std::uint64_t bytes) {
        if (known_ == nullptr) return {};
        const auto& [collective, nodes, ranks] = layout_;
        const std::lock_guard lock(known_->mutex);
        if (known_->of != settings_.table || known_->rows.size() > most_known) {
            known_->rows.clear();
            known_->of = settings_.table;
        }
        auto found = known_->rows.find({layout_, best});
        if (found == known_->rows.end()) {
            const auto is_other = [&](std::string_view choice) {
                return std::find(best.begin(), best.end(), choice) == best.end();
            };
            found = known_->rows
                        .emplace(std::pair(layout_, best),
                                 look_up(*settings_.table, {collective, false}, nodes, ranks, is_other))
                        .first;
        }
        for (const TableRow& row : found->second)
            if (bytes <= row.largest_bytes) return row.choice;
        return {};
    }

private:
    using Layout = std::tuple<Collective, int, int>;  // nodes, ranks of a node
    static constexpr std::size_t most_known = 1000;
    struct Known {
        std::mutex mutex;
        std::shared_ptr<const Table> of;
        std::map<std::pair<Layout, std::vector<std::string>>, std::vector<TableRow>> rows;
    };

    const Settings& settings_;
    Layout layout_;
    Known* known_ = nullptr;
};

// What the cost model chose for a layout like this, for that length first, then for the lengths next to it, where these are near: those for others may be many
// times slower (a chain of 1,536 ranks for 8 bytes).
std::vector<std::string_view> modelled_choices(Collective collective, const Placement& placement, std::uint64_t bytes) {
    // That much shorter or longer ones.
    constexpr std::uint64_t near = 64;
    const int ranks = ranks_per_node(placement);
    std::vector<const ModelledRule*> rows;
    std::size_t here = 0;
    std::uint64_t covered = 0;
    for (const ModelledRule& rule : modelled_rules()) {
        if (rule.collective != collective || placement.nodes() > rule.most_nodes || ranks > rule.most_ranks_per_node ||
            (!rows.empty() && rule.largest_bytes <= covered))
            continue;
        if (!rows.empty() && bytes > covered) here = rows.size();
        covered = rule.largest_bytes;
        rows.push_back(&rule);
    }
    if (rows.empty()) return {};
    std::vector<std::string_view> choices = {rows[here]->choice};
    if (here + 1 < rows.size() && rows[here]->largest_bytes / near < bytes) choices.push_back(rows[here + 1]->choice);
    if (here > 0 && bytes / near <= rows[here - 1]->largest_bytes) choices.push_back(rows[here - 1]->choice);
    return choices;
}

// No one knows a block's neighbors: these go well with long and with short ones.
std::vector<std::string_view> choices_of_blocks(Collective collective, const Placement& placement) {
    if (collective == Collective::allgather) {
        if (placement.nodes() > 1) return {"hierarchical", "ring"};
        return {"ring"};
    }
    if (placement.nodes() > 1) return {"hierarchical", "binomial"};
    return {"binomial"};
}

}  // namespace

TrialTable make_trial_table(const Settings& settings, Collective collective, const Placement& placement,
                            NodeMemory memory, const DecisionTable& usual) {
    const bool has_shared_memory = memory != NodeMemory::apart;
    const AlgorithmChoice::Kind kind = settings.choice(collective).kind;
    // What cannot be had is as if nobody had asked for it (make_decision_table).
    const bool is_set =
        kind != AlgorithmChoice::Kind::automatic && (kind != AlgorithmChoice::Kind::shared || has_shared_memory);
    const bool is_fixed = settings.sparse || (settings.reproducible && is_reduction(collective));
    const bool tries = settings.tune == TuneMode::automatic || settings.tune == TuneMode::learn;
    if (is_set || is_fixed || !tries || placement.ranks() < 2) return {};
    const std::size_t most = settings.tune == TuneMode::learn ? most_others_at_first : most_others;
    NextBest next_best(settings, collective, placement);
    TrialTable table;
    Parser parser(collective);
    const int classes = has_message(collective) ? size_classes : 1;
    for (int size_class = 0; size_class < classes; ++size_class) {
        const std::uint64_t bytes = most_bytes_of_place(size_class);
        const Decision& here = decide(usual, bytes);
        TrialRange range{.largest_bytes = size_class + 1 == classes ? std::numeric_limits<std::uint64_t>::max() : bytes,
                         .others = {}};
        const auto add = [&](std::string_view text) {
            if (text.empty() || range.others.size() == most) return;
            const Decision* made = parser.decision(text);
            if (made == nullptr || made->wants_leaders() || (made->shared && !has_shared_memory)) return;
            const auto is_it = [&](const Decision& each) { return is_alike(each, *made, bytes, memory); };
            if (is_it(here)) return;
            if (std::none_of(range.others.begin(), range.others.end(), is_it)) range.others.push_back(*made);
        };
        if (here.is_own()) add("vendor");
        if (const TableEntry* entry = find_learned(settings, collective, placement, size_class)) {
            add(entry->chosen().choice);
            const Decision* chosen = parser.decision(entry->chosen().choice);
            const auto is_chosen = [&](const Decision& each) {
                return chosen != nullptr && is_alike(each, *chosen, bytes, memory);
            };
            for (std::size_t i = 0; i < range.others.size() && !is_chosen(here); ++i)
                if (is_chosen(range.others[i])) range.first = static_cast<int>(i) + 1;
            for (const TableCandidate& each : entry->candidates) add(each.choice);
        }
        // Names as the table has them: the usual one may come from elsewhere.
        std::vector<std::string> known;
        for (std::size_t i = 0; i <= most; ++i) {
            const std::string next = next_best.after(known, bytes);
            if (next.empty()) break;
            known.emplace_back(next);
            add(next);
        }
        if (has_shared_memory) {
            add("shared");
            if (memory == NodeMemory::copied_once && bytes >= least_single_copy && has_message(collective))
                add("shared:single_copy=32k");
        }
        if (has_blocks(collective) && settings.tune == TuneMode::learn)
            for (const std::string_view each : choices_of_blocks(collective, placement)) add(each);
        if (placement.nodes() > 1)
            for (const std::string_view each : modelled_choices(collective, placement, bytes)) add(each);
        const auto is_same = [](const Decision& a, const Decision& b) { return a.what == b.what; };
        if (!table.empty() && table.back().first == range.first &&
            std::equal(table.back().others.begin(), table.back().others.end(), range.others.begin(), range.others.end(),
                       is_same))
            table.back().largest_bytes = range.largest_bytes;
        else
            table.push_back(std::move(range));
    }
    const bool is_empty =
        std::all_of(table.begin(), table.end(), [](const TrialRange& each) { return each.others.empty(); });
    return is_empty ? TrialTable{} : table;
}

const TrialRange* trials_at(const TrialTable& table, std::uint64_t bytes) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const TrialRange& range) { return bytes <= range.largest_bytes; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace hcoll
