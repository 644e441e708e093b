// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/tune_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "tuning/text.hpp"

namespace hcoll {

namespace {

using Json = nlohmann::ordered_json;

Json link_json(const LinkCost& cost) {
    return {{"latency", cost.latency},
            {"overhead", cost.overhead},
            {"gap", cost.gap},
            {"seconds_per_byte", cost.seconds_per_byte},
            {"at_once", cost.at_once == any_number ? Json(nullptr) : Json(cost.at_once)},
            {"eager_below_bytes", cost.eager_below_bytes},
            {"copied_below_bytes", cost.copied_below_bytes},
            {"copy_seconds_per_byte", cost.copy_seconds_per_byte}};
}

// What is not bounded is no number in JSON.
Json rate_json(double rate) { return std::isfinite(rate) ? Json(rate) : Json(nullptr); }

Json machine_json(const MachineModel& machine) {
    Json all;
    for (const Link link : every_link) all[link_names[static_cast<std::size_t>(link)]] = link_json(machine[link]);
    all["injection_rate"] = rate_json(machine.injection_rate);
    all["memory_rate"] = rate_json(machine.memory_rate);
    all["reduce_seconds_per_byte"] = machine.reduce_seconds_per_byte;
    all["copy_seconds_per_byte"] = machine.copy_seconds_per_byte;
    return all;
}

Json finding_json(const Finding& finding) {
    Json one = {{"choice", finding.choice}};
    if (finding.by != Prediction::none) {
        one["by"] = prediction_names[static_cast<std::size_t>(finding.by)];
        one["predicted"] = rate_json(finding.predicted);
    }
    if (!finding.measured.samples.empty()) {
        one["measured"] = finding.measured.median();
        one["spread"] = finding.measured.spread();
    }
    return one;
}

}  // namespace

std::string summary_text(const Table& table) {
    struct Sum {
        double logarithms = 0;
        double worst = std::numeric_limits<double>::infinity();
        int points = 0;
        int of_vendor = 0;
    };
    std::map<std::string, Sum> sums;
    for (const TableEntry& entry : table.entries) {
        const TableCandidate* vendor = entry.find("vendor");
        if (!entry.is_point() || vendor == nullptr || vendor->seconds <= 0 || entry.chosen().seconds <= 0) continue;
        const double gain = vendor->seconds / entry.chosen().seconds;
        for (const std::string& name : {std::string(entry.call.name()), std::string("all")}) {
            Sum& sum = sums[name];
            sum.logarithms += std::log(gain);
            sum.worst = std::min(sum.worst, gain);
            sum.of_vendor += entry.chosen().choice == "vendor" ? 1 : 0;
            ++sum.points;
        }
    }
    std::string text =
        fmt::format("\n{:<12}{:>8}{:>16}{:>10}{:>18}\n", "", "points", "vendor/chosen", "worst", "left to vendor");
    for (const auto& [name, sum] : sums)
        text += fmt::format("{:<12}{:>8}{:>16.2f}{:>10.2f}{:>18}\n", name, sum.points,
                            std::exp(sum.logarithms / sum.points), sum.worst, sum.of_vendor);
    return text;
}

std::string explain_text(const Placement& allocation, const std::vector<SubLayout>& layouts, const TuneOptions& options,
                         bool has_shared_memory) {
    std::string text;
    for (const SubLayout& layout : layouts) {
        const Placement placement = placement_of(allocation, ranks_of(allocation, layout));
        for (const TableCall& call : options.calls)
            for (const std::uint64_t bytes : sizes_of(options, call, layout)) {
                const auto candidates = find_candidates({.call = call,
                                                         .placement = &placement,
                                                         .bytes = bytes,
                                                         .has_shared_memory = has_shared_memory && layout.nodes == 1,
                                                         .has_heuristics = options.search.has_heuristics,
                                                         .varied = options.search.varied,
                                                         .algorithms = options.search.algorithms});
                std::map<std::string_view, int> reasons;
                std::size_t left = 0;
                for (const Candidate& each : candidates)
                    if (each.left_out.empty())
                        ++left;
                    else
                        ++reasons[each.left_out];
                text += fmt::format("{} of {} bytes on {} x {}: {} of {} candidates\n", call.name(), size_text(bytes),
                                    layout.nodes, layout.ranks_per_node, left, candidates.size());
                for (const auto& [why, number] : reasons) text += fmt::format("  {:>5} left out: {}\n", number, why);
                for (const Candidate& each : candidates)
                    if (each.left_out.empty()) text += fmt::format("        {}\n", each.text);
            }
    }
    return text;
}

std::string comparison_text(const Tuning& tuning) {
    struct Sum {
        double seconds = 0;
        int points = 0;
        int near = 0;  // within 5 % of the best
        double worst = 1;
    };
    constexpr double near = 1.05;
    std::array<Sum, ways.size()> sums;
    const auto sum_of = [&](const Way& way) -> Sum& {
        return sums[static_cast<std::size_t>(std::find(ways.begin(), ways.end(), way) - ways.begin())];
    };
    for (const ComparedTime& time : tuning.compared_times()) sum_of(time.way).seconds += time.seconds;
    for (const ComparedPoint& point : tuning.compared_points()) {
        Sum& sum = sum_of(point.way);
        const double ratio = point.seconds / point.best;
        ++sum.points;
        sum.near += ratio <= near ? 1 : 0;
        sum.worst = std::max(sum.worst, ratio);
    }
    std::string text = fmt::format("\n{:<12}{:>12}{:>10}{:>10}{:>10}{:>16}{:>10}\n", "method", "heuristics", "time",
                                   "share", "points", "within 5 %", "worst");
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (sums[i].points != 0)
            text += fmt::format("{:<12}{:>12}{:>10}{:>9.1f}%{:>10}{:>15.0f}%{:>10.2f}\n",
                                tuning_method_names[static_cast<std::size_t>(ways[i].method)],
                                ways[i].has_heuristics ? "on" : "off", duration_text(sums[i].seconds),
                                100 * sums[i].seconds / sums[0].seconds, sums[i].points,
                                100.0 * sums[i].near / sums[i].points, sums[i].worst);
    return text;
}

std::string report_json(const Tuning& tuning) {
    Json report = {{"format", "libhcoll tuning report"}, {"version", 1}};
    Json& layouts = report["layouts"] = Json::array();
    for (const LayoutFindings& findings : tuning.findings()) {
        Json one = {{"nodes", findings.layout.nodes},
                    {"ranks_per_node", findings.layout.ranks_per_node},
                    {"call", findings.call.name()},
                    {"machine", machine_json(findings.machine)}};
        Json& points = one["points"] = Json::array();
        for (const SearchResult& result : findings.results) {
            Json point = {{"bytes", result.bytes}, {"candidates", Json::array()}};
            for (const Finding& finding : result.findings) point["candidates"].push_back(finding_json(finding));
            points.push_back(std::move(point));
        }
        Json& tasks = one["tasks"] = Json::array();
        for (const Overlap& overlap : findings.overlaps)
            tasks.push_back({{"choice", overlap.choice},
                             {"segment", overlap.segment_bytes},
                             {"inter", overlap.inter},
                             {"intra", overlap.intra},
                             {"together", overlap.together},
                             {"overlap", overlap.rate}});
        layouts.push_back(std::move(one));
    }
    if (tuning.compared_times().empty()) return report.dump(1) + "\n";
    Json& compared = report["compared"] = Json::array();
    for (const ComparedTime& time : tuning.compared_times()) {
        Json one = {{"nodes", time.layout.nodes},
                    {"ranks_per_node", time.layout.ranks_per_node},
                    {"call", time.call.name()},
                    {"method", tuning_method_names[static_cast<std::size_t>(time.way.method)]},
                    {"heuristics", time.way.has_heuristics},
                    {"seconds", time.seconds}};
        Json& points = one["points"] = Json::array();
        for (const ComparedPoint& point : tuning.compared_points())
            if (point.layout == time.layout && point.call == time.call && point.way == time.way)
                points.push_back({{"bytes", point.bytes},
                                  {"chosen", point.chosen},
                                  {"seconds", point.seconds},
                                  {"best", point.best},
                                  {"median", point.median},
                                  {"mean", point.mean}});
        compared.push_back(std::move(one));
    }
    return report.dump(1) + "\n";
}

std::string duration_text(double seconds) {
    const long whole = std::lround(seconds);
    if (whole < 10) return fmt::format("{:.2g} s", seconds);
    if (whole < 100) return fmt::format("{} s", whole);
    return whole < 6000 ? fmt::format("{} min", (whole + 30) / 60)
                        : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string progress_text(std::size_t done, std::size_t all, double seconds, double most_seconds,
                          std::string_view what) {
    constexpr std::size_t width = 30;
    const std::size_t filled = all == 0 ? width : width * done / all;
    std::string left = "?";
    if (done != 0) {
        double rest = seconds / static_cast<double>(done) * static_cast<double>(all - done);
        if (most_seconds > 0) rest = std::min(rest, std::max(most_seconds - seconds, 0.0));
        left = duration_text(rest);
    }
    return fmt::format("[{}{}] {} of {} points, {} left: {}", std::string(filled, '='),
                       std::string(width - filled, ' '), done, all, left, what);
}

}  // namespace hcoll
