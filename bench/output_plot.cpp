// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "output.hpp"
#include "statistics.hpp"

namespace hcoll::bench {

namespace {

std::string number(double value) { return value > 0 ? fmt::format("{:.6g}", value) : "NaN"; }

double median_or_zero(const std::vector<double>& samples) { return samples.empty() ? 0 : statistics(samples).median; }

std::string gnuplot_string(std::string_view text) {
    std::string result = "'";
    for (const char character : text) {
        result += character;
        if (character == '\'') result += character;
    }
    return result + "'";
}

// Bytes, microseconds of own, vendor and p2p, ratio; a block of lines per collective.
std::string data_blocks(const Report& report, const std::vector<Collective>& collectives) {
    std::string script;
    for (const Collective collective : collectives) {
        script += fmt::format("${} << END\n", name(collective));
        for (const Measurement& measurement : report.measurements) {
            if (measurement.subject.collective != collective) continue;
            const double one_way = measurement.bound ? measurement.bound->one_way_seconds : 0;
            script += fmt::format("{} {} {} {} {}\n", measurement.subject.bytes,
                                  number(median_or_zero(measurement.own) * 1e6),
                                  number(median_or_zero(measurement.vendor) * 1e6), number(one_way * 1e6),
                                  number(median_or_zero(measurement.ratios())));
        }
        script += "END\n";
    }
    return script;
}

std::string time_plot(const Report& report, Collective collective) {
    std::string curves;
    const auto add = [&](int column, std::string_view style, std::string_view title) {
        curves += fmt::format("{}${} using 1:{} {} title '{}'", curves.empty() ? "plot " : ", ", name(collective),
                              column, style, title);
    };
    const Measurement& first = report.measurements.front();
    if (!first.own.empty()) add(2, "with linespoints lc rgb '#0060ad' lw 2 pt 7 ps 0.6", "own");
    if (!first.vendor.empty()) add(3, "with linespoints lc rgb '#c04000' lw 2 pt 5 ps 0.6", "vendor");
    if (first.bound && first.bound->one_way_seconds > 0) add(4, "with lines lc rgb '#888888' dt 2", "point to point");
    return fmt::format(
        "set title '{}'\nset ylabel 'microseconds per call'\nset logscale y\nset key top left\nset yrange [*:*]\n{}\n",
        name(collective), curves);
}

// One range for all collectives, so that their ratios compare at a glance; it includes 1, where both are equal.
std::string ratio_range(const Report& report) {
    double low = 0.8;
    double high = 1.25;
    for (const Measurement& measurement : report.measurements) {
        if (!measurement.subject.moves_data()) continue;
        const double ratio = median_or_zero(measurement.ratios());
        if (ratio > 0) low = std::min(low, ratio);
        high = std::max(high, ratio);
    }
    return fmt::format("set yrange [{:.4g}:{:.4g}]\n", low / 1.1, high * 1.1);
}

std::string ratio_plot(Collective collective) {
    return fmt::format(
        "set title ''\nset ylabel 'vendor / own'\nset logscale y 2\nset key off\n"
        "plot 1 with lines lc rgb '#888888', ${} using 1:5 with linespoints lc rgb '#0060ad' lw 2 pt 7 ps 0.6\n",
        name(collective));
}

std::string plot_script(const Report& report, const std::string& path) {
    std::vector<Collective> collectives;
    std::size_t smallest = std::numeric_limits<std::size_t>::max();
    std::size_t largest = 0;
    for (const Measurement& measurement : report.measurements) {
        const Subject& subject = measurement.subject;
        if (!subject.moves_data()) continue;
        if (collectives.empty() || collectives.back() != subject.collective) collectives.push_back(subject.collective);
        smallest = std::min(smallest, subject.bytes);
        largest = std::max(largest, subject.bytes);
    }
    const Measurement& first = report.measurements.front();
    const bool has_ratio = !first.own.empty() && !first.vendor.empty();
    const std::size_t width = 480 * collectives.size();
    const int height = has_ratio ? 720 : 400;

    std::string script = data_blocks(report, collectives);
    if (path.ends_with(".svg")) {
        script += fmt::format("set terminal svg size {},{} background rgb 'white'\n", width, height);
    } else {
        script += fmt::format(
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {{ set terminal pngcairo size {0},{1} }} "
            "else {{ set terminal png size {0},{1} }}\n",
            width, height);
    }
    const std::string title = fmt::format("{}, {} ranks", report.environment.mpi_library, report.environment.ranks);
    script += fmt::format("set output {}\n", gnuplot_string(path));
    script += fmt::format("set multiplot layout {},{} title {} noenhanced\n", has_ratio ? 2 : 1, collectives.size(),
                          gnuplot_string(title));
    script += fmt::format("set logscale x 2\nset xrange [{}:{}]\nset format x '%.0b%B'\nset xlabel 'bytes'\nset grid\n",
                          static_cast<double>(smallest) / 1.5, static_cast<double>(largest) * 1.5);
    script += "set xtics rotate by -45\n";
    for (const Collective collective : collectives) script += time_plot(report, collective);
    if (has_ratio) {
        script += ratio_range(report);
        for (const Collective collective : collectives) script += ratio_plot(collective);
    }
    return script + "unset multiplot\nunset output\n";
}

}  // namespace

std::string why_no_gnuplot() {
    std::FILE* const pipe = popen("gnuplot --version >/dev/null 2>&1", "w");
    if (pipe != nullptr && pclose(pipe) == 0) return {};
    return "--plot: gnuplot cannot be started; install it, or leave --plot away and draw from --json";
}

std::string write_plot(const Report& report, const std::string& path) {
    // A barrier has no size to be drawn by.
    if (std::none_of(report.measurements.begin(), report.measurements.end(),
                     [](const Measurement& measurement) { return measurement.subject.moves_data(); }))
        return {};
    // Should gnuplot end early, the write must fail, not this process.
    auto* const earlier = std::signal(SIGPIPE, SIG_IGN);
    std::FILE* const pipe = popen("gnuplot", "w");
    bool done = pipe != nullptr;
    if (done) {
        done = std::fputs(plot_script(report, path).c_str(), pipe) >= 0;
        done = pclose(pipe) == 0 && done;
    }
    std::signal(SIGPIPE, earlier);
    return done ? std::string{} : fmt::format("gnuplot failed to draw {}; its messages are above", path);
}

}  // namespace hcoll::bench
