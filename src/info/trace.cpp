#include "info/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "info/draw_trace.hpp"
#include "trace/explain_trace.hpp"

namespace hcoll::info {

namespace {

int mistake(const std::string& problem) {
    fmt::print(stderr, "hcoll-info: {}\n", problem);
    return 2;
}

// All ranks' events in one text. Files may be large: one after another.
int merge(const std::string& folder, const TraceFolder& found) {
    fmt::print("{{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[");
    bool is_first = true;
    for (const RankTrace& rank : found.ranks) {
        const std::string name = fmt::format("{}/rank-{:06}.", folder, rank.rank);
        const std::string text =
            trace_text_of_file(std::filesystem::exists(name + "json") ? name + "json" : name + "events");
        const auto document = nlohmann::ordered_json::parse(text, nullptr, false);
        if (!document.is_object() || !document.contains("traceEvents")) continue;
        for (const auto& event : document["traceEvents"]) {
            fmt::print("{}\n{}", is_first ? "" : ",",
                       event.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
            is_first = false;
        }
    }
    fmt::print("\n]}}\n");
    return 0;
}

// That call; where several communicators have one of that number, the one that took longest.
const TracedCallOfAll* find_call(const std::vector<TracedCallOfAll>& calls, const TraceOptions& options) {
    const TracedCallOfAll* found = nullptr;
    for (const TracedCallOfAll& call : calls) {
        const TracedCollective& any = call.any();
        if (any.number != options.call) continue;
        if (!options.communicator.empty() && any.communicator.find(options.communicator) == std::string::npos) continue;
        if (found == nullptr || call.end() - call.begin() > found->end() - found->begin()) found = &call;
    }
    return found;
}

}  // namespace

int print_trace(const TraceOptions& options) {
    TraceFolder found;
    try {
        found = read_trace_folder(options.folder);
    } catch (const std::runtime_error& error) {
        return mistake(error.what());
    }
    for (const std::string& problem : found.problems) fmt::print(stderr, "hcoll-info: {}\n", problem);
    if (found.ranks.empty()) return mistake(fmt::format("{} has no trace of LIBHCOLL_TRACE", options.folder));
    if (options.merges) return merge(options.folder, found);
    if (options.call == 0) {
        const TraceExplanation explanation = explain_trace(found.ranks);
        fmt::print("{}", options.as_json ? explanation_json(explanation) : explanation_text(explanation));
        return 0;
    }
    const std::vector<TracedCallOfAll> calls = collectives_of(found.ranks);
    const TracedCallOfAll* call = find_call(calls, options);
    if (call == nullptr)
        return mistake(fmt::format("there is no collective {}{} in {}", options.call,
                                   options.communicator.empty() ? "" : " on " + options.communicator, options.folder));
    fmt::print("{}", options.as_svg ? trace_svg(found.ranks, *call) : call_trace_text(found.ranks, *call));
    return 0;
}

}  // namespace hcoll::info
