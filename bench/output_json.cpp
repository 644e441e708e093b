// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "output.hpp"
#include "statistics.hpp"

namespace hcoll::bench {

namespace {

using nlohmann::json;

json statistics_json(const std::vector<double>& samples, const std::string& unit, double scale) {
    if (samples.empty()) return nullptr;
    const Statistics values = statistics(samples);
    std::vector<double> scaled = samples;
    for (double& sample : scaled) sample *= scale;
    return {{"median" + unit, values.median * scale},
            {"min" + unit, values.minimum * scale},
            {"max" + unit, values.maximum * scale},
            {"first_quartile" + unit, values.first_quartile * scale},
            {"third_quartile" + unit, values.third_quartile * scale},
            {"spread_percent", values.spread_percent()},
            {"samples" + unit, scaled}};
}

// Times of 0 stand for 'not measured'.
json microseconds_or_null(double seconds) { return seconds > 0 ? json(seconds * 1e6) : json(nullptr); }

json measurement_json(const Measurement& measurement) {
    const Subject& subject = measurement.subject;
    const Bound bound = measurement.bound.value_or(Bound{});
    json result{{"collective", name(subject.collective)},
                {"bytes", subject.bytes},
                {"iterations", measurement.iterations},
                {"own", statistics_json(measurement.own, "_us", 1e6)},
                {"vendor", statistics_json(measurement.vendor, "_us", 1e6)},
                {"vendor_over_own", statistics_json(measurement.ratios(), "", 1)},
                {"least_of_caches_is", measurement.least.empty() ? json(nullptr) : json(measurement.least_name)},
                {"least_of_caches", statistics_json(measurement.least, "_us", 1e6)},
                {"p2p_one_way_us", microseconds_or_null(bound.one_way_seconds)},
                {"memcpy_us", microseconds_or_null(bound.memcpy_seconds)},
                {"correct", measurement.correct}};
    if (subject.reduces()) {
        result["type"] = name(subject.type);
        result["op"] = name(subject.op);
        result["in_place"] = subject.in_place;
    } else if (subject.moves_data()) {
        result["type"] = "byte";
    }
    if (subject.has_root()) result["root"] = subject.root;
    return result;
}

json report_json(const Report& report) {
    const Environment& environment = report.environment;
    const Options& options = report.options;
    json result;
    result["environment"] = {{"date", environment.date},
                             {"mpi_library", environment.mpi_library},
                             {"mpi_standard", environment.mpi_standard},
                             {"libhcoll", environment.libhcoll.empty() ? json(nullptr) : json(environment.libhcoll)},
                             {"ranks", environment.ranks},
                             {"hosts", environment.hosts},
                             {"settings", environment.settings},
                             {"command_line", environment.command_line}};
    result["method"] = {{"repetitions", options.repetitions},
                        {"block_time_us", options.block_seconds * 1e6},
                        {"warmup", options.warmup},
                        {"learn", options.learn},
                        {"min_iterations", options.min_iterations},
                        {"max_iterations", options.max_iterations},
                        {"sync", options.sync}};
    result["latency_8_bytes_us"] = microseconds_or_null(report.latency_seconds);
    result["measurements"] = json::array();
    for (const Measurement& measurement : report.measurements) {
        result["measurements"].push_back(measurement_json(measurement));
    }
    result["summary"] = json::array();
    for (const Summary& summary : summarize(report.measurements)) {
        result["summary"].push_back({{"collective", name(summary.collective)},
                                     {"vendor_over_own_geometric_mean", summary.geometric_mean},
                                     {"vendor_over_own_minimum", summary.minimum},
                                     {"bytes_at_minimum", summary.bytes_at_minimum}});
    }
    return result;
}

}  // namespace

std::string why_not_writable(const std::string& path) {
    std::error_code ignored;
    const bool existed = std::filesystem::exists(path, ignored);
    // Appending nothing leaves an earlier result as it is, should this run not come to its end.
    std::FILE* const file = std::fopen(path.c_str(), "a");
    if (file == nullptr) return fmt::format("cannot write {}: {}", path, std::strerror(errno));
    std::fclose(file);
    if (!existed) std::filesystem::remove(path, ignored);
    return {};
}

std::string write_json(const Report& report, const std::string& path) {
    std::ofstream file(path);
    // Names from the environment need not be UTF-8; what is not is replaced.
    file << report_json(report).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    file.close();
    return file ? std::string{} : fmt::format("cannot write {}: {}", path, std::strerror(errno));
}

}  // namespace hcoll::bench
