// SPDX-License-Identifier: BSD-3-Clause
// What a table says at a layout that need not be one that was measured.
//
// Only how much slower a candidate is than the best one matters, so every measured point is turned into that: excess, the logarithm of
// the ratio, 0 for the best. It is interpolated as costs would be, linearly over the logarithms of nodes, ranks per node and bytes:
//
//   1. the points of up to four layouts around the one that is asked for, each with its weight
//   2. at every length that one of them has: the excess of each candidate, weighted
//   3. between two neighboring lengths: the lower envelope of the candidates' lines, whose corners are where the choice changes
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tuning/table.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

// A candidate that was not among the fastest at a point is taken to be as slow as the slowest one there, and at least so much slower
// than the best.
constexpr double least_excess_of_others = 0.1;
// So much faster than the vendor's has to be what takes a call from it.
constexpr double least_gain = 0.02;

double log_of(std::uint64_t number) { return std::log2(static_cast<double>(std::max<std::uint64_t>(number, 1))); }

// The excess of every candidate at one measured point.
struct Point {
    std::uint64_t bytes = 0;
    std::map<std::string_view, double> excess;
    double of_others = least_excess_of_others;
};

// All points of one layout.
struct Corner {
    int nodes = 0;
    int ranks_per_node = 0;
    double weight = 1;
    std::vector<Point> points;  // by bytes
};

// The neighbors of `wanted` among `numbers` (sorted, without repetition) with their weights: one where it is there, or lies outside by a
// factor of two at most; none where it is further away.
std::vector<std::pair<int, double>> neighbors_of(int wanted, const std::vector<int>& numbers) {
    if (numbers.empty()) return {};
    const auto above = std::lower_bound(numbers.begin(), numbers.end(), wanted);
    if (above != numbers.end() && *above == wanted) return {{wanted, 1.0}};
    if (above == numbers.end() || above == numbers.begin()) {
        const int nearest = above == numbers.end() ? numbers.back() : numbers.front();
        const bool is_near = wanted <= 2 * std::int64_t{nearest} && nearest <= 2 * std::int64_t{wanted};
        return is_near ? std::vector<std::pair<int, double>>{{nearest, 1.0}} : std::vector<std::pair<int, double>>{};
    }
    const int below = *(above - 1);
    const auto log = [](int number) { return std::log2(static_cast<double>(number)); };
    const double share = (log(wanted) - log(below)) / (log(*above) - log(below));
    return {{below, 1 - share}, {*above, share}};
}

std::vector<int> sorted_numbers(std::vector<int> numbers) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

// Tuned tables of before 2026-12 name a single copy by the length that it was measured at, from which on it is one: between two lengths that would be none. A
// name that is there at several lengths is somebody's own.
class SingleCopies {
public:
    explicit SingleCopies(const std::vector<const TableEntry*>& points) {
        for (const TableEntry* entry : points)
            for (const TableCandidate& each : entry->candidates)
                if (is_one(each.choice)) {
                    const auto [known, is_new] = lengths_.emplace(each.choice, entry->bytes.least);
                    if (!is_new && known->second != entry->bytes.least) known->second = several;
                }
    }
    std::string_view name_at_any_length(std::string_view choice, std::uint64_t measured_bytes) const {
        if (!is_one(choice) || measured_bytes <= never_copied_once ||
            choice.substr(prefix.size()) != size_text(measured_bytes))
            return choice;
        const auto known = lengths_.find(choice);
        return known != lengths_.end() && known->second == measured_bytes ? always : choice;
    }

private:
    static constexpr std::string_view prefix = "shared:single_copy=";
    static constexpr std::string_view always = "shared:single_copy=1";
    static constexpr std::uint64_t several = std::numeric_limits<std::uint64_t>::max();

    static bool is_one(std::string_view choice) { return choice.starts_with(prefix); }

    std::map<std::string_view, std::uint64_t> lengths_;  // that a name is there at
};

Point point_of(const TableEntry& entry, const SingleCopies& single_copies,
               const std::function<bool(std::string_view)>& can_run) {
    Point point{.bytes = entry.bytes.least, .excess = {}};
    const auto name_of = [&](std::string_view choice) { return single_copies.name_at_any_length(choice, point.bytes); };
    double best = 0;
    for (const TableCandidate& each : entry.candidates)
        if (each.seconds > 0 && (best == 0 || each.seconds < best)) best = each.seconds;
    for (const TableCandidate& each : entry.candidates) {
        const bool is_chosen = &each == &entry.chosen();
        if (each.seconds <= 0 && !is_chosen) continue;
        const double excess = each.seconds <= 0 ? 0 : std::log2(each.seconds / best);
        point.of_others = std::max(point.of_others, excess);
        const std::string_view choice = name_of(each.choice);
        if (can_run(choice)) point.excess.emplace(choice, excess);
    }
    // Who wrote the table may have chosen otherwise than the times say, or without a time: that holds.
    const double untimed = entry.chosen().seconds <= 0 ? least_excess_of_others : 0;
    if (const auto chosen = point.excess.find(name_of(entry.chosen().choice));
        chosen != point.excess.end() && chosen->second + untimed > 0) {
        const double behind = chosen->second + untimed;
        for (auto& [choice, excess] : point.excess) excess = choice == chosen->first ? 0 : excess + behind;
    }
    // Not for a gain that nobody would notice.
    if (const auto vendor = point.excess.find("vendor"); vendor != point.excess.end())
        vendor->second -= std::log2(1 + least_gain);
    return point;
}

std::vector<Corner> find_corners(const std::vector<const TableEntry*>& points, const SingleCopies& single_copies,
                                 int nodes, int ranks_per_node, const std::function<bool(std::string_view)>& can_run) {
    std::map<int, std::vector<int>> rank_counts;  // by nodes
    for (const TableEntry* entry : points) rank_counts[entry->nodes.least].push_back(entry->ranks_per_node.least);
    // Where so many nodes have been measured with numbers of ranks that are far away, others say more.
    std::vector<int> node_counts;
    for (auto& [of_nodes, counts] : rank_counts) {
        counts = sorted_numbers(std::move(counts));
        if (!neighbors_of(ranks_per_node, counts).empty()) node_counts.push_back(of_nodes);
    }
    std::vector<Corner> corners;
    for (const auto& [of_nodes, share_of_nodes] : neighbors_of(nodes, node_counts)) {
        for (const auto& [of_ranks, share_of_ranks] : neighbors_of(ranks_per_node, rank_counts[of_nodes])) {
            Corner corner{of_nodes, of_ranks, share_of_nodes * share_of_ranks, {}};
            for (const TableEntry* entry : points)
                if (entry->nodes.least == of_nodes && entry->ranks_per_node.least == of_ranks)
                    corner.points.push_back(point_of(*entry, single_copies, can_run));
            std::sort(corner.points.begin(), corner.points.end(),
                      [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
            corners.push_back(std::move(corner));
        }
    }
    double all = 0;
    for (const Corner& corner : corners) all += corner.weight;
    for (Corner& corner : corners) corner.weight /= all;
    return corners;
}

double excess_at(const Point& point, std::string_view choice, bool& is_known) {
    const auto found = point.excess.find(choice);
    if (found == point.excess.end()) return point.of_others;
    is_known = true;
    return found->second;
}

// The excess of a candidate at a layout that was measured; `is_known` becomes true where a neighboring point has it.
double excess_at(const Corner& corner, std::string_view choice, std::uint64_t bytes, bool& is_known) {
    const auto above = std::lower_bound(corner.points.begin(), corner.points.end(), bytes,
                                        [](const Point& point, std::uint64_t wanted) { return point.bytes < wanted; });
    if (above == corner.points.end()) return excess_at(corner.points.back(), choice, is_known);
    const double at_above = excess_at(*above, choice, is_known);
    if (above->bytes == bytes || above == corner.points.begin()) return at_above;
    const Point& below = *(above - 1);
    const double at_below = excess_at(below, choice, is_known);
    const double share = (log_of(bytes) - log_of(below.bytes)) / (log_of(above->bytes) - log_of(below.bytes));
    return at_below + share * (at_above - at_below);
}

// Of all candidates at one length; none for what is known nowhere around it.
using Excesses = std::map<std::string_view, double>;
Excesses excesses_at(const std::vector<Corner>& corners, std::uint64_t bytes) {
    Excesses excesses;
    for (const Corner& corner : corners)
        for (const Point& point : corner.points)
            for (const auto& [choice, unused] : point.excess) excesses.emplace(choice, 0);
    for (auto each = excesses.begin(); each != excesses.end();) {
        bool is_known = false;
        each->second = 0;
        for (const Corner& corner : corners)
            each->second += corner.weight * excess_at(corner, each->first, bytes, is_known);
        each = is_known ? std::next(each) : excesses.erase(each);
    }
    return excesses;
}

// A candidate's excess over a piece between two lengths.
struct Line {
    std::string_view choice;
    double at_begin;
    double at_end;
    double at(double share) const { return at_begin + share * (at_end - at_begin); }
};

std::vector<Line> lines_between(const Excesses& begin, const Excesses& end) {
    const auto slowest = [](const Excesses& of) {
        double most = least_excess_of_others;
        for (const auto& [choice, excess] : of) most = std::max(most, excess);
        return most;
    };
    std::vector<Line> lines;
    for (const auto& [choice, excess] : begin) {
        const auto there = end.find(choice);
        lines.push_back({choice, excess, there == end.end() ? slowest(end) : there->second});
    }
    for (const auto& [choice, excess] : end)
        if (begin.find(choice) == begin.end()) lines.push_back({choice, slowest(begin), excess});
    return lines;
}

class Rows {
public:
    // From where the last one ends to `largest_bytes`.
    void add(std::uint64_t largest_bytes, std::string_view choice, std::string_view why) {
        if (!rows_.empty() && largest_bytes <= rows_.back().largest_bytes) return;
        if (!rows_.empty() && rows_.back().choice == choice && rows_.back().why == why)
            rows_.back().largest_bytes = largest_bytes;
        else
            rows_.push_back({largest_bytes, std::string(choice), std::string(why)});
    }
    std::vector<TableRow> take() { return std::move(rows_); }

private:
    std::vector<TableRow> rows_;
};

// Up to `end`, along the lower envelope of the lines.
void add_piece(Rows& rows, const std::vector<Line>& lines, std::uint64_t begin, std::uint64_t end,
               std::string_view why) {
    const Line* best = nullptr;
    for (const Line& line : lines)
        if (best == nullptr || line.at_begin < best->at_begin ||
            (line.at_begin == best->at_begin && line.at_end < best->at_end))
            best = &line;
    double share = 0;
    while (best != nullptr) {
        const Line* next = nullptr;
        double where = 1;
        for (const Line& line : lines) {
            if (line.at_end >= best->at_end) continue;
            const double ahead_at_begin =
                best->at_begin - line.at_begin;  // not ahead: 0 or less, or it was passed before
            const double crossing = ahead_at_begin / (ahead_at_begin - (best->at_end - line.at_end));
            if (crossing < share || crossing > where) continue;
            if (next != nullptr && crossing == where && line.at_end >= next->at_end) continue;
            next = &line;
            where = crossing;
        }
        // To the nearest: a crossing at a power of two would be a byte less where another CPU's logarithm ends in another bit.
        const double bytes = std::exp2(log_of(begin) + where * (log_of(end) - log_of(begin))) + 0.5;
        const bool is_last = next == nullptr;
        rows.add(is_last ? end - 1 : std::min(static_cast<std::uint64_t>(bytes), end - 1), best->choice, why);
        share = where;
        best = next;
    }
}

std::string layout_text(const std::vector<Corner>& corners) {
    std::string text;
    for (const Corner& corner : corners)
        text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", corner.nodes, corner.ranks_per_node);
    return text;
}

// What is shorter, or longer, than that is alike.
constexpr std::uint64_t short_bytes = 64;
constexpr std::uint64_t long_bytes = 1 << 20;

// The lengths that something was measured with.
struct Lengths {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t most = 0;

    // Those of which it says something: up to a factor of two away.
    std::uint64_t first() const { return least - least / 2 <= short_bytes ? 0 : least - least / 2; }
    std::uint64_t last() const { return most >= long_bytes / 2 ? std::numeric_limits<std::uint64_t>::max() : 2 * most; }
};

// By layout. Of blocks a tuner measures as long ones as all of them together are reasonable; a Barrier has no length.
using LengthsByLayout = std::map<std::pair<int, int>, Lengths>;
LengthsByLayout lengths_by_layout(const std::vector<const TableEntry*>& points) {
    LengthsByLayout by_layout;
    for (const TableEntry* entry : points) {
        Lengths& lengths = by_layout[{entry->nodes.least, entry->ranks_per_node.least}];
        const std::uint64_t bytes = entry->bytes.least;
        lengths.least = std::min(lengths.least, bytes);
        lengths.most = std::max(lengths.most, bytes);
        constexpr std::uint64_t much_of_all = 32 << 20;
        const auto ranks =
            static_cast<std::uint64_t>(entry->nodes.least) * static_cast<std::uint64_t>(entry->ranks_per_node.least);
        const bool is_long_for_blocks =
            has_blocks(entry->call.collective) && bytes >= much_of_all / std::max<std::uint64_t>(ranks, 1);
        if (is_long_for_blocks || !has_message(entry->call.collective))
            lengths.most = std::max(lengths.most, long_bytes);
    }
    return by_layout;
}

// Of layouts that say something of all lengths that are asked for.
std::vector<TableRow> rows_of_layouts(const Table& table, const std::vector<const TableEntry*>& points,
                                      const SingleCopies& single_copies, int nodes, int ranks_per_node,
                                      const std::function<bool(std::string_view)>& can_run) {
    const std::vector<Corner> corners = find_corners(points, single_copies, nodes, ranks_per_node, can_run);
    if (corners.empty()) return {};
    const std::string why = fmt::format("table {} ({})", table.name, layout_text(corners));
    std::vector<std::uint64_t> lengths;
    for (const Corner& corner : corners)
        for (const Point& point : corner.points) lengths.push_back(point.bytes);
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    Rows rows;
    Excesses here = excesses_at(corners, lengths.front());
    for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
        Excesses there = excesses_at(corners, lengths[i + 1]);
        const std::vector<Line> lines = lines_between(here, there);
        if (lines.empty())
            rows.add(lengths[i + 1] - 1, "vendor", why);
        else
            add_piece(rows, lines, lengths[i], lengths[i + 1], why);
        here = std::move(there);
    }
    const auto best =
        std::min_element(here.begin(), here.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    rows.add(std::numeric_limits<std::uint64_t>::max(), best == here.end() ? "vendor" : best->first, why);
    return rows.take();
}

// A layout that was measured with some lengths only (the tuner was interrupted, or there were blocks of too many ranks, or programs have learned what they call) says
// nothing of others: there it is as if it were not in the table.
std::vector<TableRow> rows_of_points(const Table& table, const std::vector<const TableEntry*>& points, int nodes,
                                     int ranks_per_node, const std::function<bool(std::string_view)>& can_run) {
    const SingleCopies single_copies(points);
    const LengthsByLayout by_layout = lengths_by_layout(points);
    // Of lengths of which the same ones say something.
    std::set<std::uint64_t> ends = {std::numeric_limits<std::uint64_t>::max()};
    for (const auto& [layout, lengths] : by_layout) {
        if (lengths.first() > 0) ends.insert(lengths.first() - 1);
        ends.insert(lengths.last());
    }
    Rows rows;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
        std::vector<const TableEntry*> here;
        for (const TableEntry* entry : points) {
            const Lengths& lengths = by_layout.at({entry->nodes.least, entry->ranks_per_node.least});
            if (lengths.first() <= begin && end <= lengths.last()) here.push_back(entry);
        }
        for (const TableRow& row : rows_of_layouts(table, here, single_copies, nodes, ranks_per_node, can_run))
            if (row.largest_bytes >= begin) rows.add(std::min(row.largest_bytes, end), row.choice, row.why);
        rows.add(end, "", "");
        begin = end + 1;
    }
    return rows.take();
}

// `rule` in place of what `rows` say for its lengths.
std::vector<TableRow> put_over(const std::vector<TableRow>& rows, const TableEntry& rule, std::string_view choice,
                               const std::string& why) {
    Rows result;
    bool is_in = false;
    for (const TableRow& row : rows) {
        if (!is_in && rule.bytes.least > 0)
            result.add(std::min(row.largest_bytes, rule.bytes.least - 1), row.choice, row.why);
        if (!is_in && row.largest_bytes >= rule.bytes.least) {
            result.add(rule.bytes.most, choice, why);
            is_in = true;
        }
        result.add(row.largest_bytes, row.choice, row.why);
    }
    return result.take();
}

}  // namespace

std::vector<TableRow> look_up(const Table& table, const TableCall& call, int nodes, int ranks_per_node,
                              const std::function<bool(std::string_view choice)>& can_run) {
    std::vector<const TableEntry*> points;
    std::vector<const TableEntry*> rules;
    for (const TableEntry& entry : table.entries) {
        if (!(entry.call == call)) continue;
        if (!entry.is_point()) {
            if (entry.nodes.holds(nodes) && entry.ranks_per_node.holds(ranks_per_node)) rules.push_back(&entry);
        } else if ((entry.nodes.least == 1) == (nodes == 1)) {
            points.push_back(&entry);
        }
    }
    std::vector<TableRow> rows = rows_of_points(table, points, nodes, ranks_per_node, can_run);
    for (const TableEntry* rule : rules) {
        const auto best = std::find_if(rule->candidates.begin(), rule->candidates.end(),
                                       [&](const TableCandidate& each) { return can_run(each.choice); });
        if (best != rule->candidates.end())
            rows = put_over(rows, *rule, best->choice, fmt::format("table {} (rule)", table.name));
    }
    const bool says_nothing =
        std::all_of(rows.begin(), rows.end(), [](const TableRow& row) { return row.choice.empty(); });
    return says_nothing ? std::vector<TableRow>{} : rows;
}

}  // namespace hcoll
