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

}  // namespace

std::size_t size_class_of(std::uint64_t bytes) {
    return static_cast<std::size_t>(std::lower_bound(size_class_limits.begin(), size_class_limits.end(), bytes) -
                                    size_class_limits.begin());
}

void Report::add(std::string_view collective, std::uint64_t bytes, std::string_view what, std::string_view why,
                 double seconds) {
    const KeyView key{collective, size_class_of(bytes), what, why};
    const std::lock_guard lock(mutex_);
    auto found = sums_.find(key);
    if (found == sums_.end()) found = sums_.emplace(Key{collective, std::get<1>(key), what, why}, Sum{}).first;
    ++found->second.calls;
    found->second.bytes += bytes;
    found->second.seconds += seconds;
}

void Report::set_table(std::string table) {
    const std::lock_guard lock(mutex_);
    table_ = std::move(table);
}

std::string Report::text(std::string_view heading) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::array<std::string, 7>> rows = {
        {"collective", "message", "calls", "bytes", "seconds", "ran", "because of"}};
    for (const auto& [key, sum] : sums_)
        rows.push_back({std::get<0>(key), size_class_text(std::get<1>(key)), std::to_string(sum.calls),
                        bytes_text(sum.bytes), fmt::format("{:.6f}", sum.seconds), std::get<2>(key), std::get<3>(key)});
    std::array<std::size_t, 7> width{};
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    std::uint64_t own = 0;
    std::uint64_t passed_on = 0;
    for (const auto& [key, sum] : sums_) (std::get<2>(key) == "vendor" ? passed_on : own) += sum.calls;
    std::string text =
        fmt::format("libhcoll report: {}\n  {} collectives on own algorithms, {} passed on\n", heading, own, passed_on);
    if (!table_.empty()) text += fmt::format("  table: {}\n", table_);
    if (sums_.empty())
        text += "  no collective that libhcoll knows was called\n";
    else
        for (const auto& row : rows)
            text +=
                fmt::format("  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {:<{}}  {}\n", row[0], width[0], row[1],
                            width[1], row[2], width[2], row[3], width[3], row[4], width[4], row[5], width[5], row[6]);
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
             {"because", std::get<3>(key)}});
    }
    return document.dump(2, ' ', false, any) + "\n";
}

}  // namespace hcoll
