// SPDX-License-Identifier: BSD-3-Clause
#include "trace/read_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "trace/trace_text.hpp"

namespace hcoll {

namespace {

using nlohmann::json;

std::int64_t integer(const json& object, const char* name, std::int64_t otherwise = 0) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_integer()) return otherwise;
    return found->get<std::int64_t>();
}

int small_integer(const json& object, const char* name, int otherwise = 0) {
    constexpr std::int64_t most = 1 << 30;
    const std::int64_t value = integer(object, name, otherwise);
    return value >= -most && value <= most ? static_cast<int>(value) : otherwise;
}

std::uint64_t natural(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || !found->is_number_unsigned() ? 0 : found->get<std::uint64_t>();
}

std::string words(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

std::uint64_t hexadecimal(const json& object, const char* name) {
    const std::string text = words(object, name);
    try {
        return text.empty() ? 0 : std::stoull(text, nullptr, 16);
    } catch (const std::logic_error&) {
        return 0;
    }
}

// Microseconds to nanoseconds.
std::int64_t nanoseconds(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number()) return 0;
    constexpr double most = 1e15;
    const double value = found->get<double>();
    return std::abs(value) <= most ? std::llround(value * 1e3) : 0;
}

std::optional<TraceKind> kind_of(std::string_view category) {
    const auto* const found = std::find(std::begin(trace_kind_names), std::end(trace_kind_names), category);
    if (found == std::end(trace_kind_names) || found == std::begin(trace_kind_names)) return std::nullopt;
    return static_cast<TraceKind>(found - std::begin(trace_kind_names));
}

bool find_function(std::string_view name, Collective& collective, CallForm& form) {
    for (std::size_t i = 0; i < collective_count; ++i)
        for (const CallForm each : {CallForm::blocking, CallForm::nonblocking, CallForm::persistent})
            if (function_name(static_cast<Collective>(i), each) == name) {
                collective = static_cast<Collective>(i);
                form = each;
                return true;
            }
    return false;
}

using CallKey = std::pair<std::uint64_t, std::uint64_t>;  // communicator, number

struct Run {
    CallKey call;
    TracedSpan span;
    std::optional<TracedCollective> collective;
};

class Reader {
public:
    std::optional<RankTrace> read(std::string_view text, std::string& problem) {
        const json document = json::parse(text, nullptr, false);
        if (!document.is_object()) return say(problem, "it is no JSON, or cut short");
        const auto other = document.find("otherData");
        if (other == document.end() || !other->is_object() || integer(*other, "libhcoll_trace") != 1)
            return say(problem, "it is no trace of LIBHCOLL_TRACE, or of another version of it");
        read_rank(*other);
        constexpr int most_ranks = 1 << 20;
        if (trace_.rank < 0 || trace_.ranks <= trace_.rank || trace_.ranks > most_ranks)
            return say(problem, "its rank is none of its job");
        const auto events = document.find("traceEvents");
        if (events == document.end() || !events->is_array()) return say(problem, "it has no events");
        for (const json& event : *events)
            if (event.is_object()) read_event(event);
        finish();
        return std::move(trace_);
    }

private:
    static std::optional<RankTrace> say(std::string& problem, const char* what) {
        problem = what;
        return std::nullopt;
    }

    void read_rank(const json& other) {
        trace_.job = hexadecimal(other, "job");
        trace_.started = natural(other, "started");
        trace_.rank = small_integer(other, "rank", -1);
        trace_.ranks = small_integer(other, "ranks");
        trace_.node = small_integer(other, "node");
        trace_.socket = small_integer(other, "socket", -1);
        trace_.clocks = small_integer(other, "clocks");
        trace_.host = words(other, "host");
        trace_.mpi_library = words(other, "mpi_library");
        trace_.overwritten = natural(other, "overwritten");
    }

    void read_event(const json& event) {
        const std::string phase = words(event, "ph");
        const auto kind = kind_of(words(event, "cat"));
        if ((phase != "X" && phase != "B") || !kind) return;
        TracedSpan span{.begin = nanoseconds(event, "ts"), .is_over = phase == "X"};
        span.end = span.begin + (span.is_over ? std::max<std::int64_t>(nanoseconds(event, "dur"), 0) : 0);
        last_ = std::max(last_, span.end);
        const auto arguments = event.find("args");
        if (arguments == event.end() || !arguments->is_object()) return;
        const CallKey call{hexadecimal(*arguments, "key"), natural(*arguments, "number")};
        if (*kind == TraceKind::call)
            read_call(words(event, "name"), *arguments, call, span);
        else if (*kind == TraceKind::run)
            read_run(words(event, "name"), *arguments, call, span);
        else if (*kind != TraceKind::function)
            steps_.emplace_back(call,
                                TracedStepEvent{.kind = *kind,
                                                .span = span,
                                                .peer = small_integer(*arguments, "peer", -1),
                                                .step = static_cast<std::uint32_t>(natural(*arguments, "step")),
                                                .segment = static_cast<std::uint32_t>(natural(*arguments, "segment")),
                                                .tag = static_cast<std::uint32_t>(natural(*arguments, "tag")),
                                                .bytes = natural(*arguments, "bytes")});
    }

    // Of a call whose own record may have given way: a persistent collective is made once, and runs for long.
    void read_run(std::string_view name, const json& arguments, const CallKey& call, const TracedSpan& span) {
        constexpr std::string_view prefix = "run of ";
        if (!name.starts_with(prefix)) return;
        runs_.push_back({call, span, read_collective(name.substr(prefix.size()), arguments, call, span)});
    }

    void read_call(std::string_view name, const json& arguments, const CallKey& call, const TracedSpan& span) {
        if (auto read = read_collective(name, arguments, call, span))
            trace_.calls.push_back(std::move(*read));
        else
            ++trace_.calls_left_out;
    }

    std::optional<TracedCollective> read_collective(std::string_view name, const json& arguments, const CallKey& call,
                                                    const TracedSpan& span) const {
        TracedCollective read{.key = call.first,
                              .number = call.second,
                              .communicator = words(arguments, "communicator"),
                              .rank = small_integer(arguments, "rank"),
                              .size = small_integer(arguments, "size"),
                              .root = small_integer(arguments, "root", -1),
                              .bytes = natural(arguments, "bytes"),
                              .operation = words(arguments, "operation"),
                              .type = words(arguments, "type"),
                              .runs = words(arguments, "runs"),
                              .span = span,
                              .in_background = {},
                              .steps = {}};
        if (!find_function(name, read.collective, read.form)) return std::nullopt;
        if (read.rank < 0 || read.rank >= read.size || read.root >= read.size || read.size > trace_.ranks)
            return std::nullopt;
        if (read.communicator.empty()) read.communicator = fmt::format("the communicator {:016x}", read.key);
        return read;
    }

    void finish() {
        std::map<CallKey, std::size_t> by_key;
        for (std::size_t i = 0; i < trace_.calls.size(); ++i) by_key[{trace_.calls[i].key, trace_.calls[i].number}] = i;
        const auto close = [&](TracedSpan& span) {
            if (!span.is_over) span.end = std::max(span.begin, last_);
        };
        for (Run& run : runs_) {
            close(run.span);
            auto found = by_key.find(run.call);
            if (found == by_key.end() && run.collective) {
                found = by_key.emplace(run.call, trace_.calls.size()).first;
                trace_.calls.push_back(std::move(*run.collective));
            }
            if (found != by_key.end())
                trace_.calls[found->second].in_background.push_back(run.span);
            else
                ++trace_.left_out;
        }
        for (auto& [key, step] : steps_) {
            close(step.span);
            if (const auto found = by_key.find(key); found != by_key.end())
                trace_.calls[found->second].steps.push_back(step);
            else
                ++trace_.left_out;
        }
        for (TracedCollective& call : trace_.calls) {
            close(call.span);
            std::stable_sort(
                call.steps.begin(), call.steps.end(),
                [](const TracedStepEvent& a, const TracedStepEvent& b) { return a.span.begin < b.span.begin; });
        }
        std::stable_sort(
            trace_.calls.begin(), trace_.calls.end(),
            [](const TracedCollective& a, const TracedCollective& b) { return a.span.begin < b.span.begin; });
    }

    RankTrace trace_;
    std::int64_t last_ = 0;
    std::vector<std::pair<CallKey, TracedStepEvent>> steps_;
    std::vector<Run> runs_;
};

std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes;
    std::array<char, 1U << 16U> piece;
    while (file.read(piece.data(), piece.size()), file.gcount() > 0)
        bytes.append(piece.data(), static_cast<std::size_t>(file.gcount()));
    return bytes;
}

// As rank-000012.<job>.json.
bool is_of_trace(const std::filesystem::path& path) {
    return path.filename().string().rfind("rank-", 0) == 0 &&
           (path.extension() == ".json" || path.extension() == ".events");
}

}  // namespace

std::optional<RankTrace> read_trace(std::string_view text, std::string& problem) {
    return Reader().read(text, problem);
}

std::string trace_text_of_file(const std::string& path) {
    std::string bytes = bytes_of_file(path);
    if (!path.ends_with(".events")) return bytes;
    // Where records lie is aligned in memory as it was in the file.
    std::vector<std::max_align_t> aligned(bytes.size() / sizeof(std::max_align_t) + 1);
    auto* memory = reinterpret_cast<std::byte*>(aligned.data());
    std::transform(bytes.begin(), bytes.end(), memory, [](char each) { return static_cast<std::byte>(each); });
    const std::span<const std::byte> whole(memory, bytes.size());
    return TraceLayout::is_one(whole) ? trace_text(TraceLayout::view(whole)) : std::string();
}

TraceFolder read_trace_folder(const std::string& folder, std::optional<std::uint64_t> job) {
    std::error_code error;
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (is_of_trace(entry.path())) files.push_back(entry.path().string());
    if (error) throw std::runtime_error(fmt::format("{}: {}", folder, error.message()));
    std::sort(files.begin(), files.end());
    TraceFolder found;
    for (const std::string& file : files) {
        std::string problem;
        auto trace = read_trace(trace_text_of_file(file), problem);
        if (trace) {
            trace->file = file;
            found.ranks.push_back(std::move(*trace));
        } else {
            found.problems.push_back(fmt::format("{}: {}", file, problem));
        }
    }
    if (found.ranks.empty()) return found;
    if (!job)
        job = std::max_element(found.ranks.begin(), found.ranks.end(), [](const RankTrace& a, const RankTrace& b) {
                  return a.started < b.started;
              })->job;
    std::set<std::string> others;
    for (const RankTrace& each : found.ranks)
        if (each.job != *job) others.insert(fmt::format("{:016x}", each.job));
    std::erase_if(found.ranks, [&](const RankTrace& each) { return each.job != *job; });
    if (!others.empty())
        found.problems.push_back(
            fmt::format("other jobs in this folder are left aside; --job takes one of {}", fmt::join(others, ", ")));
    std::stable_sort(found.ranks.begin(), found.ranks.end(),
                     [](const RankTrace& a, const RankTrace& b) { return a.rank < b.rank; });
    // A rank that was killed when its text was written has both.
    const auto twice = std::unique(found.ranks.begin(), found.ranks.end(),
                                   [](const RankTrace& a, const RankTrace& b) { return a.rank == b.rank; });
    found.ranks.erase(twice, found.ranks.end());
    return found;
}

}  // namespace hcoll
