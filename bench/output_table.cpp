// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "output.hpp"
#include "quantity.hpp"
#include "statistics.hpp"

namespace hcoll::bench {

namespace {

constexpr double micro = 1e6;

// Four significant digits at least, so that times from nanoseconds to seconds line up.
std::string microseconds(double seconds) {
    const double value = seconds * micro;
    return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : 1);
}

std::string side_columns(const std::vector<double>& samples) {
    if (samples.empty()) return fmt::format("{:>12} {:>6}", "-", "-");
    const Statistics values = statistics(samples);
    return fmt::format("{:>12} {:>6.1f}", microseconds(values.median), values.spread_percent());
}

}  // namespace

std::vector<Summary> summarize(const std::vector<Measurement>& measurements) {
    std::vector<Summary> summaries;
    std::vector<double> ratios;
    for (const Measurement& measurement : measurements) {
        const std::vector<double> pairs = measurement.ratios();
        if (pairs.empty()) continue;
        const double ratio = statistics(pairs).median;
        const Subject& subject = measurement.subject;
        if (summaries.empty() || summaries.back().collective != subject.collective) {
            ratios.clear();
            summaries.push_back(
                {.collective = subject.collective, .minimum = ratio, .bytes_at_minimum = subject.bytes});
        }
        ratios.push_back(ratio);
        Summary& summary = summaries.back();
        summary.geometric_mean = geometric_mean(ratios);
        if (ratio < summary.minimum) {
            summary.minimum = ratio;
            summary.bytes_at_minimum = subject.bytes;
        }
    }
    return summaries;
}

void print_table_head(const Report& report) {
    const Environment& environment = report.environment;
    const Options& options = report.options;
    fmt::print("# {}; {} rank{} on {} host{}\n", environment.mpi_library, environment.ranks,
               environment.ranks == 1 ? "" : "s", environment.hosts.size(), environment.hosts.size() == 1 ? "" : "s");
    const std::vector<Collective>& collectives = options.collectives;
    const bool any_reduces = std::any_of(collectives.begin(), collectives.end(), reduces);
    const std::string reductions = fmt::format("reductions: {} of {}{}; ", name(options.op), name(options.type),
                                               options.in_place ? " in place" : "");
    fmt::print("# time per call, maximum over ranks, median of {} blocks of about {} ms{}; {}root {}\n",
               options.repetitions, options.block_seconds * 1e3, options.sync ? ", a barrier before each call" : "",
               any_reduces ? reductions : "", options.root);
    fmt::print("{:<10} {:>10} {:>12} {:>6} {:>12} {:>6} {:>10} {:>12}\n", "collective", "bytes", "own us", "+-%",
               "vendor us", "+-%", "vendor/own", "p2p us");
    std::fflush(stdout);
}

void print_table_line(const Measurement& measurement) {
    const std::vector<double> ratios = measurement.ratios();
    const bool has_bound = measurement.bound && measurement.bound->one_way_seconds > 0;
    const Subject& subject = measurement.subject;
    fmt::print("{:<10} {:>10} {} {} {:>10} {:>12}{}\n", name(subject.collective),
               subject.moves_data() ? fmt::to_string(subject.bytes) : "-", side_columns(measurement.own),
               side_columns(measurement.vendor),
               ratios.empty() ? "-" : fmt::format("{:.3f}", statistics(ratios).median),
               has_bound ? microseconds(measurement.bound->one_way_seconds) : "-",
               measurement.correct ? "" : "  WRONG RESULT");
    std::fflush(stdout);
}

void print_table_end(const Report& report) {
    if (report.latency_seconds > 0)
        fmt::print("# one-way latency of 8 bytes: {} us\n", microseconds(report.latency_seconds));
    for (const Measurement& measurement : report.measurements) {
        const std::vector<double> ratios = measurement.least_ratios();
        if (ratios.empty()) continue;
        const Subject& subject = measurement.subject;
        fmt::print("# {}{}: own/{} {:.2f}, which took {} us\n", name(subject.collective),
                   subject.moves_data() ? fmt::format(" of {} bytes", subject.bytes) : "", measurement.least_name,
                   statistics(ratios).median, microseconds(statistics(measurement.least).median));
    }
    for (const Summary& summary : summarize(report.measurements)) {
        if (summary.collective == Collective::barrier) continue;  // it has one line only
        fmt::print("# {}: vendor/own geometric mean {:.3f}, minimum {:.3f} at {}\n", name(summary.collective),
                   summary.geometric_mean, summary.minimum, size_text(summary.bytes_at_minimum));
    }
    std::fflush(stdout);
}

}  // namespace hcoll::bench
