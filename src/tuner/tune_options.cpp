// SPDX-License-Identifier: BSD-3-Clause
#include "tuner/tune_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "hcoll/build.h"
#include "tuning/text.hpp"

namespace hcoll {

namespace {

// "8:16M" or "8:16M:4": each the factor (2) larger than the one before; or a list.
std::vector<std::uint64_t> parse_sizes(const std::string& text) {
    std::vector<std::uint64_t> sizes;
    const auto size_of = [&](std::string_view word) {
        const auto size = parse_size(word);
        constexpr std::uint64_t most = std::uint64_t{1} << 30;
        if (!size || *size == 0 || *size > most)
            throw CLI::ValidationError("--sizes", fmt::format("'{}' is no size from 1 to 1G", word));
        return *size;
    };
    const std::vector<std::string_view> range = split(text, ':');
    if (range.size() > 3)
        throw CLI::ValidationError("--sizes", "write 8:16M, or 8:16M:4 for powers of four, or 8,64,4k");
    if (range.size() > 1) {
        const std::uint64_t factor = range.size() == 3 ? size_of(range[2]) : 2;
        const std::uint64_t last = size_of(range[1]);
        if (factor < 2) throw CLI::ValidationError("--sizes", "the factor has to be 2 or more");
        for (std::uint64_t size = size_of(range[0]); size <= last; size *= factor) sizes.push_back(size);
    } else {
        for (const std::string_view word : split(text, ',')) sizes.push_back(size_of(word));
    }
    if (sizes.empty()) throw CLI::ValidationError("--sizes", "the first size is larger than the last");
    return sizes;
}

// Twice the same would be measured twice.
template <typename Element>
void sort_once(std::vector<Element>& elements) {
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

double parse_time(const std::string& text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view unit = std::string_view(text).substr(digits);
    const double number = parse_real(std::string_view(text).substr(0, digits)).value_or(0);
    const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (factor == 0 || number <= 0) throw CLI::ValidationError("--time", "write 90, 10m or 2h");
    return number * factor;
}

VariedParameters parse_varied(const std::vector<std::string>& texts) {
    VariedParameters varied;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) throw CLI::ValidationError("--vary", "write segment=8k/64k/1M");
        for (const std::string_view value : split(std::string_view(text).substr(equals + 1), '/')) {
            varied[text.substr(0, equals)].emplace_back(value);
            // Several of them are measured together.
            constexpr std::uint64_t longest = std::uint64_t{64} << 20;
            if (text.starts_with("segment=") && parse_size(value).value_or(0) > longest)
                throw CLI::ValidationError("--vary", "segments of 64M at most are measured");
        }
    }
    if (const auto mistake = find_mistake(varied)) throw CLI::ValidationError("--vary", *mistake);
    return varied;
}

std::vector<TableCall> parse_calls(const std::vector<std::string>& names) {
    std::vector<TableCall> calls;
    std::vector<std::string_view> valid;
    for (const CollectiveName& each : collective_names) valid.push_back(each.name);
    valid.insert(valid.end(), std::begin(nonblocking_names), std::end(nonblocking_names));
    for (const std::string& name : names) {
        const auto call = TableCall::of(name);
        if (!call) {
            const std::string_view guess = nearest(name, valid);
            throw CLI::ValidationError(
                "--collectives", fmt::format("'{}' is none of {}{}", name, alternatives(valid),
                                             guess.empty() ? std::string() : fmt::format("; did you mean {}?", guess)));
        }
        if (std::find(calls.begin(), calls.end(), *call) == calls.end()) calls.push_back(*call);
    }
    return calls;
}

}  // namespace

bool read_tune_options(int argc, char** argv, bool speaks, TuneOptions& options, int& status,
                       const std::function<void(CLI::App&)>& more) {
    CLI::App app{
        "Measures what libhcoll is to run on this machine, and writes it into a table (LIBHCOLL_TABLE). To be started "
        "by mpiexec "
        "with libhcoll.so preloaded, on as many nodes and ranks as there are to be tuned for."};
    app.set_version_flag("--version", HCOLL_VERSION_TEXT);
    std::vector<std::string> names = {"bcast", "reduce", "allreduce", "barrier", "gather", "scatter", "allgather"};
    std::string sizes = "8:16M";
    std::string time;
    std::string method = "task";
    std::string heuristics = "on";
    std::vector<std::string> varied;
    app.add_option("--output", options.output, "the table to write")->capture_default_str();
    app.add_option("--report", options.report,
                   "write all that this run measures and predicts where rank 0 is, as JSON, with the overlap of tasks");
    app.add_option("--collectives", names,
                   "which calls: bcast, reduce, allreduce, barrier, gather, scatter, allgather, ibcast, ireduce, "
                   "iallreduce (default: "
                   "all of them, the last three where something moves them)")
        ->delimiter(',');
    app.add_option("--sizes", sizes, "bytes: from:to, each twice the one before; from:to:4; or a list 8,64,4k")
        ->capture_default_str();
    app.add_option("--nodes", options.nodes, "how many nodes (default: 1, 2, 4, ..., all)")->delimiter(',');
    app.add_option("--ranks-per-node", options.ranks_per_node, "how many ranks of each (default: 1, 2, 4, ..., all)")
        ->delimiter(',');
    app.add_option("--time", time, "end after so long, with what there is by then: 90, 10m, 2h");
    app.add_option("--method", method,
                   "task: costs of tasks are measured and put together; exhaustive: all is measured")
        ->check(CLI::IsMember({"task", "exhaustive"}))
        ->capture_default_str();
    app.add_option("--heuristics", heuristics, "leave out what is not likely to win (--explain says what, and why)")
        ->check(CLI::IsMember({"on", "off"}))
        ->capture_default_str();
    app.add_option("--algorithms", options.search.algorithms, "only these, and the vendor's")->delimiter(',');
    app.add_option("--vary", varied, "values to try for a parameter: segment=8k/64k/1M")->delimiter(',');
    app.add_flag("--resume", options.resume, "go on with what stands in the output");
    app.add_flag("--compare", options.compare, "both methods, with and without heuristics: how long, and how good");
    app.add_flag("--explain", options.explain, "say what is measured and what is left out, and measure nothing");
    if (more) more(app);
    try {
        app.parse(argc, argv);
        options.sizes = parse_sizes(sizes);
        sort_once(options.sizes);
        sort_once(options.nodes);
        sort_once(options.ranks_per_node);
        options.calls = parse_calls(names);
        options.names_calls = app.count("--collectives") != 0;
        options.search.varied = parse_varied(varied);
        if (!time.empty()) options.most_seconds = parse_time(time);
        for (const int number : options.nodes)
            if (number < 1) throw CLI::ValidationError("--nodes", "a job has one node at least");
        for (const int number : options.ranks_per_node)
            if (number < 1) throw CLI::ValidationError("--ranks-per-node", "a node has one rank at least");
        for (const std::string& name : options.search.algorithms) {
            const bool exists =
                name == "shared" || std::any_of(algorithms().begin(), algorithms().end(),
                                                [&](const Algorithm& each) { return each.name == name; });
            if (!exists) throw CLI::ValidationError("--algorithms", fmt::format("there is no algorithm '{}'", name));
        }
    } catch (const CLI::ParseError& error) {
        constexpr int usage = 2;
        std::ostringstream out;
        std::ostringstream err;
        const int code = app.exit(error, out, err);
        if (speaks) {
            std::fputs(out.str().c_str(), stdout);
            std::fputs(err.str().c_str(), stderr);
        }
        status = code == 0 ? 0 : usage;
        return false;
    }
    options.search.method = method == "task" ? TuningMethod::task : TuningMethod::exhaustive;
    options.search.has_heuristics = heuristics == "on";
    return true;
}

}  // namespace hcoll
