// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tuning/text.hpp"

namespace hcoll {

namespace {

std::string size_class_text(std::size_t size_class) {
    if (size_class == 0) return "0 B";
    if (size_class + 1 == size_class_limits.size())
        return fmt::format("> {}", size_text(size_class_limits[size_class - 1]));
    return fmt::format("<= {}", size_text(size_class_limits[size_class]));
}

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 10000) return fmt::format("{} B", bytes);
    if (bytes < 10000000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
    return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// Columns as wide as their longest cell; the last one as it is. Those of `right` stand to the right.
template <std::size_t columns>
std::string columns_text(const std::vector<std::array<std::string, columns>>& rows,
                         const std::array<bool, columns>& right) {
    std::array<std::size_t, columns> width{};
    for (const auto& row : rows)
        for (std::size_t i = 0; i + 1 < columns; ++i) width[i] = std::max(width[i], row[i].size());
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < columns; ++i)
            text += right[i] ? fmt::format("  {:>{}}", row[i], width[i]) : fmt::format("  {:<{}}", row[i], width[i]);
        text += '\n';
    }
    return text;
}

std::string microseconds_text(double seconds) { return fmt::format("{:.2f}", 1e6 * seconds); }

double share(const LateRanksSplit::Part& part) { return part.time <= 0 ? 0 : 100 * part.waiting / part.time; }

// Of a row's calls, where some were looked at.
std::string late_text(const LateRanksSplit& split, int row) {
    const auto found = split.rows.find(row);
    return found == split.rows.end() ? "-" : fmt::format("{:.0f} %", share(found->second));
}

std::string late_ranks_text(const LateRanksSplit& split) {
    if (split.all.calls == 0) return {};
    std::string text = fmt::format(
        "  waiting for late ranks: {:.0f} % of the time of all ranks in {} blocking collectives that were "
        "looked at",
        share(split.all), split.all.calls);
    if (!split.late.empty() && share(split.all) >= 1)
        text += fmt::format("; {:.0f} % of that for rank {}, in {} of them",
                            100 * split.late.front().caused / split.all.waiting, split.late.front().rank,
                            split.late.front().calls);
    return text + '\n';
}

std::string learned_text(const std::vector<LearnedPlace>& places) {
    std::vector<std::array<std::string, 8>> rows = {{"learned", "layout", "bytes", "calls", "us a call",
                                                     "trying cost us", "gained us", "runs; others (us a call)"}};
    for (const LearnedPlace& place : places) {
        std::string who;
        for (const LearnedPlace::Candidate& each : place.candidates)
            who += &each == &place.candidates.front()
                       ? each.what + ";"
                       : fmt::format(" {} ({})", each.choice, microseconds_text(each.seconds));
        rows.push_back({std::string(name_of(place.collective)),
                        fmt::format("{} x {}", place.nodes, place.ranks_per_node), size_text(place.bytes),
                        std::to_string(place.calls), microseconds_text(place.candidates.front().seconds),
                        microseconds_text(place.regret), microseconds_text(place.gained), std::move(who)});
    }
    return columns_text<8>(rows, {false, false, true, true, true, true, true, false});
}

}  // namespace

std::size_t size_class_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::lower_bound(size_class_limits.begin(), size_class_limits.end(), bytes) -
                                    size_class_limits.begin());
}

void LateRanksSplit::add(int row, double waiting, double time) {
    for (Part* part : {&rows[row], &all}) {
        ++part->calls;
        part->waiting += waiting;
        part->time += time;
    }
}

int Report::add(std::string_view collective, std::uint64_t bytes, std::string_view what, std::string_view why,
                double seconds) {
    const KeyView key{collective, size_class_of(bytes), what, why};
    const std::lock_guard lock(mutex_);
    auto found = sums_.find(key);
    if (found == sums_.end())
        found = sums_.emplace(Key{collective, std::get<1>(key), what, why}, Sum{.row = static_cast<int>(sums_.size())})
                    .first;
    ++found->second.calls;
    found->second.bytes += bytes;
    found->second.seconds += seconds;
    return found->second.row;
}

void Report::set_table(std::string table) {
    const std::lock_guard lock(mutex_);
    table_ = std::move(table);
}

void Report::set_learned(std::vector<LearnedPlace> places) {
    const std::lock_guard lock(mutex_);
    learned_ = std::move(places);
}

void Report::set_late_ranks(LateRanksSplit split) {
    const std::lock_guard lock(mutex_);
    late_ranks_ = std::move(split);
}

std::string Report::text(std::string_view heading) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::array<std::string, 8>> rows = {
        {"collective", "message", "calls", "bytes", "seconds", "late ranks", "ran", "because of"}};
    for (const auto& [key, sum] : sums_)
        rows.push_back({std::get<0>(key), size_class_text(std::get<1>(key)), std::to_string(sum.calls),
                        bytes_text(sum.bytes), fmt::format("{:.6f}", sum.seconds), late_text(late_ranks_, sum.row),
                        std::get<2>(key), std::get<3>(key)});
    std::uint64_t own = 0;
    std::uint64_t passed_on = 0;
    for (const auto& [key, sum] : sums_) (std::get<2>(key) == "vendor" ? passed_on : own) += sum.calls;
    std::string text =
        fmt::format("libhcoll report: {}\n  {} collectives on own algorithms, {} passed on\n", heading, own, passed_on);
    if (!table_.empty()) text += fmt::format("  table: {}\n", table_);
    text += late_ranks_text(late_ranks_);
    if (sums_.empty())
        text += "  no collective that libhcoll knows was called\n";
    else
        text += columns_text<8>(rows, {false, false, true, true, true, true, false, false});
    if (!learned_.empty()) text += learned_text(learned_);
    return text;
}

std::string Report::json(std::string_view heading) const {
    const std::lock_guard lock(mutex_);
    nlohmann::ordered_json document = {{"process", heading}};
    // A path in it may be in any encoding.
    constexpr auto any = nlohmann::ordered_json::error_handler_t::replace;
    if (!table_.empty()) document["table"] = table_;
    document["collectives"] = nlohmann::ordered_json::array();
    for (const auto& [key, sum] : sums_) {
        const std::size_t size_class = std::get<1>(key);
        const auto split = late_ranks_.rows.find(sum.row);
        const LateRanksSplit::Part part = split == late_ranks_.rows.end() ? LateRanksSplit::Part{} : split->second;
        document["collectives"].push_back(
            {{"collective", std::get<0>(key)},
             {"smallest_bytes", size_class == 0 ? 0 : size_class_limits[size_class - 1] + 1},
             {"largest_bytes", size_class + 1 == size_class_limits.size()
                                   ? nlohmann::ordered_json(nullptr)
                                   : nlohmann::ordered_json(size_class_limits[size_class])},
             {"calls", sum.calls},
             {"bytes", sum.bytes},
             {"seconds", sum.seconds},
             {"ran", std::get<2>(key)},
             {"because", std::get<3>(key)},
             {"calls_looked_at", part.calls},
             {"seconds_of_all_ranks", part.time},
             {"seconds_waiting_for_late_ranks", part.waiting}});
    }
    if (late_ranks_.all.calls != 0) {
        document["late_ranks"] = nlohmann::ordered_json::array();
        for (const LateRanksSplit::LateRank& each : late_ranks_.late)
            document["late_ranks"].push_back(
                {{"rank", each.rank}, {"calls", each.calls}, {"seconds_caused", each.caused}});
    }
    if (!learned_.empty()) document["learned"] = nlohmann::ordered_json::array();
    for (const LearnedPlace& place : learned_) {
        nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
        for (const LearnedPlace::Candidate& each : place.candidates)
            candidates.push_back({{"ran", each.what}, {"seconds", each.seconds}, {"timed_calls", each.samples}});
        document["learned"].push_back({{"collective", name_of(place.collective)},
                                       {"nodes", place.nodes},
                                       {"ranks_per_node", place.ranks_per_node},
                                       {"bytes", place.bytes},
                                       {"calls", place.calls},
                                       {"decisions", place.decisions},
                                       {"trying_cost_seconds", place.regret},
                                       {"gained_seconds", place.gained},
                                       {"candidates", std::move(candidates)}});
    }
    return document.dump(2, ' ', false, any) + "\n";
}

}  // namespace hcoll
