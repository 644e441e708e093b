// SPDX-License-Identifier: BSD-3-Clause
#include "info/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "info/draw_trace.hpp"
#include "info/mistake.hpp"
#include "trace/explain_trace.hpp"

namespace hcoll::info {

namespace {

// All ranks' events in one text. Files may be large: one after another.
int merge(const TraceFolder& found) {
    fmt::print("{{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
    bool is_first = true;
    for (const RankTrace& rank : found.ranks) {
        const auto document = nlohmann::ordered_json::parse(trace_text_of_file(rank.file), nullptr, false);
        if (!document.is_object() || !document.contains("traceEvents"))
            return mistake(fmt::format("{} has changed meanwhile", rank.file), wrong_use);
        for (const auto& event : document["traceEvents"]) {
            fmt::print("{}\n{}", is_first ? "" : ",",
                       event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
            is_first = false;
        }
    }
    fmt::print("\n]}}\n");
    return 0;
}

std::string key_text(const TracedCollective& call) { return fmt::format("{:016x}", call.key); }

// That call; where several communicators have one of that number, the one that took longest.
const TracedCallOfAll* find_call(const std::vector<TracedCallOfAll>& calls, const TraceOptions& options) {
    std::vector<const TracedCallOfAll*> found;
    for (const TracedCallOfAll& call : calls) {
        const TracedCollective& any = call.any();
        if (any.number != options.call) continue;
        if (any.communicator.find(options.communicator) == std::string::npos && key_text(any) != options.communicator)
            continue;
        found.push_back(&call);
    }
    if (found.empty()) return nullptr;
    std::stable_sort(found.begin(), found.end(), [](const TracedCallOfAll* a, const TracedCallOfAll* b) {
        return a->end() - a->begin() > b->end() - b->begin();
    });
    if (found.size() > 1) {
        fmt::print(stderr,
                   "hcoll-info: {} communicators have such a call; shown is the one that took longest. --communicator "
                   "takes one of\n",
                   found.size());
        constexpr std::size_t most_told = 10;
        for (std::size_t i = 0; i < std::min(most_told, found.size()); ++i) {
            const TracedCollective& any = found[i]->any();
            fmt::print(stderr, "  {}  {}, with rank {} of MPI_COMM_WORLD\n", key_text(any), any.communicator,
                       found[i]->world_rank(any.rank));
        }
    }
    return found.front();
}

}  // namespace

int print_trace(const TraceOptions& options) {
    TraceFolder found;
    try {
        found = read_trace_folder(options.folder, options.job);
    } catch (const std::runtime_error& error) {
        return mistake(error.what(), wrong_use);
    }
    for (const std::string& problem : found.problems) fmt::print(stderr, "hcoll-info: {}\n", problem);
    if (found.ranks.empty())
        return mistake(fmt::format("{} has no trace of LIBHCOLL_TRACE", options.folder), wrong_use);
    if (options.merges) return merge(found);
    if (options.call == 0) {
        const TraceExplanation explanation = explain_trace(found.ranks);
        fmt::print("{}", options.as_json ? explanation_json(explanation) : explanation_text(explanation));
        return 0;
    }
    if (options.as_json) return mistake("--json is for all of a trace: without --call", wrong_use);
    const std::vector<TracedCallOfAll> calls = collectives_of(found.ranks);
    const TracedCallOfAll* call = find_call(calls, options);
    if (call == nullptr)
        return mistake(fmt::format("there is no collective {}{} in {}", options.call,
                                   options.communicator.empty() ? "" : " on " + options.communicator, options.folder),
                       wrong_use);
    fmt::print("{}", options.as_svg ? trace_svg(found.ranks, *call) : call_trace_text(found.ranks, *call));
    return 0;
}

}  // namespace hcoll::info
