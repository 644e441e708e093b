// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "tuner/machine_fit.hpp"
#include "tuner/table_output.hpp"
#include "tuning/task_costs.hpp"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

// By length, then by choice: seconds.
using Measured = std::map<std::uint64_t, std::map<std::string, double>>;

ComparedPoint compared(const std::map<std::string, double>& all, const std::string& chosen) {
    ComparedPoint point;
    point.chosen = chosen;
    std::vector<double> seconds;
    seconds.reserve(all.size());
    for (const auto& [name, of_one] : all) seconds.push_back(of_one);
    std::sort(seconds.begin(), seconds.end());
    point.best = seconds.front();
    point.median = seconds[seconds.size() / 2];
    point.mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    // What nobody has measured counts as the worst.
    const auto found = all.find(chosen);
    point.seconds = found == all.end() ? seconds.back() : found->second;
    return point;
}

}  // namespace

std::string name_of(const Way& way) {
    return fmt::format("{}, heuristics {}", tuning_method_names[static_cast<std::size_t>(way.method)],
                       way.has_heuristics ? "on" : "off");
}

std::vector<std::uint64_t> sizes_of(const TuneOptions& options, const TableCall& call, const SubLayout& layout) {
    if (!has_message(call.collective)) return {0};
    constexpr std::uint64_t most_of_all = std::uint64_t{64} << 20;
    std::vector<std::uint64_t> sizes;
    for (const std::uint64_t bytes : options.sizes)
        if (!has_blocks(call.collective) || bytes * static_cast<std::uint64_t>(layout.ranks()) <= most_of_all)
            sizes.push_back(bytes);
    return sizes;
}

std::uint64_t most_bytes_of(const TuneOptions& options, const std::vector<SubLayout>& layouts) {
    std::uint64_t most = bytes_to_fit_machine;
    for (const SubLayout& layout : layouts)
        for (const TableCall& call : options.calls)
            for (const std::uint64_t bytes : sizes_of(options, call, layout))
                most = std::max(
                    most, has_blocks(call.collective) ? bytes * static_cast<std::uint64_t>(layout.ranks()) : bytes);
    // Tasks are of some segments.
    std::uint64_t segment = std::uint64_t{1} << 20;
    if (const auto varied = options.search.varied.find("segment"); varied != options.search.varied.end())
        for (const std::string& text : varied->second)
            if (const std::uint64_t bytes = parse_size(text).value_or(0); bytes < most)
                segment = std::max(segment, bytes);
    const bool has_tasks = options.search.method == TuningMethod::task || options.compare;
    const auto segments = static_cast<std::uint64_t>(segments_to_see_the_middle(Collective::allreduce));
    return has_tasks ? std::max(most, segments * segment) : most;
}

bool Tuning::tune(Laboratory& laboratory, const SubLayout& layout, const std::set<std::string>& known) {
    const auto is_known = [&](const TableCall& call) {
        const std::vector<std::uint64_t> sizes = sizes_of(options_, call, layout);
        return std::all_of(sizes.begin(), sizes.end(),
                           [&](std::uint64_t bytes) { return known.count(key_of(call, layout, bytes)) != 0; });
    };
    if (std::all_of(options_.calls.begin(), options_.calls.end(), is_known)) return true;
    if (hooks_.is_over(laboratory)) return false;
    const bool by_tasks = options_.search.method == TuningMethod::task;
    const MachineModel machine = by_tasks ? fit_machine(laboratory) : MachineModel();
    for (const TableCall& call : options_.calls) {
        Search search(laboratory, call, options_.search, machine);
        LayoutFindings found{.layout = layout, .call = call, .machine = machine, .results = {}, .overlaps = {}};
        bool is_over = false;
        for (const std::uint64_t bytes : sizes_of(options_, call, layout)) {
            if (known.count(key_of(call, layout, bytes)) != 0) continue;
            is_over = hooks_.is_over(laboratory);
            if (is_over) break;
            hooks_.begins(
                fmt::format("{} x {} {} {}", layout.nodes, layout.ranks_per_node, call.name(), size_text(bytes)));
            found.results.push_back(search.at(bytes));
            hooks_.found(found.results.back().entry(call, laboratory.placement()));
        }
        if (!options_.report.empty() && !is_over) found.overlaps = search.overlaps();
        findings_.push_back(std::move(found));
        if (is_over) return false;
    }
    return true;
}

bool Tuning::compare(Laboratory& laboratory, const SubLayout& layout) {
    for (const TableCall& call : options_.calls) {
        Measured measured;
        for (const Way& way : ways) {
            SearchOptions options = options_.search;
            options.method = way.method;
            options.has_heuristics = way.has_heuristics;
            const double begin = laboratory.now();
            const MachineModel machine = way.method == TuningMethod::task ? fit_machine(laboratory) : MachineModel();
            Search search(laboratory, call, options, machine);
            LayoutFindings found{.layout = layout, .call = call, .machine = machine, .results = {}, .overlaps = {}};
            for (const std::uint64_t bytes : sizes_of(options_, call, layout)) {
                if (hooks_.is_over(laboratory)) return false;
                hooks_.begins(fmt::format("{}: {} x {} {} {}", name_of(way), layout.nodes, layout.ranks_per_node,
                                          call.name(), size_text(bytes)));
                found.results.push_back(search.at(bytes));
                if (way == ways[0])
                    for (const Finding& finding : found.results.back().findings)
                        measured[bytes][finding.choice] = finding.measured.median();
            }
            times_.push_back({.layout = layout, .call = call, .way = way, .seconds = laboratory.now() - begin});
            for (const SearchResult& result : found.results) {
                ComparedPoint point =
                    compared(measured[result.bytes], result.entry(call, laboratory.placement()).chosen().choice);
                point.layout = layout;
                point.call = call;
                point.bytes = result.bytes;
                point.way = way;
                points_.push_back(std::move(point));
            }
            // Predicted against measured: what only the model has seen, the exhaustive way has measured.
            if (way.method == TuningMethod::task && !way.has_heuristics) {
                for (SearchResult& result : found.results)
                    for (Finding& finding : result.findings)
                        if (finding.measured.samples.empty() && measured[result.bytes].count(finding.choice) != 0)
                            finding.measured.samples = {measured[result.bytes][finding.choice]};
                if (!options_.report.empty()) found.overlaps = search.overlaps();
                findings_.push_back(std::move(found));
            }
        }
    }
    return true;
}

}  // namespace hcoll
