// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trace/explain_trace.hpp"

namespace hcoll {

namespace {

double microseconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

double share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 10000) return fmt::format("{} B", bytes);
    if (bytes < 10000000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
    return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

std::string rank_on_host(const TraceExplanation& explanation, int rank) {
    const std::string& host = explanation.hosts[static_cast<std::size_t>(rank)];
    return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

// Columns as wide as their longest cell.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> width;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (width.size() <= i) width.push_back(0);
            width[i] = std::max(width[i], row[i].size());
        }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], width[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

constexpr std::string_view piece_names[PathPiece::kinds] = {"late rank", "message", "combining", "copying",
                                                            "leaders",   "wait",    "between"};

std::string path_text(const TraceExplanation::Place& place) {
    std::int64_t whole = 0;
    for (const std::int64_t each : place.path) whole += each;
    std::string text;
    const auto add = [&](std::string_view name, std::int64_t time) {
        if (time == 0 || share(time, whole) < 0.5) return;
        text += fmt::format("{}{:.0f} % {}", text.empty() ? "" : ", ", share(time, whole), name);
    };
    for (std::size_t kind = 0; kind < place.path.size(); ++kind) {
        if (static_cast<PathPiece::Kind>(kind) != PathPiece::Kind::message) {
            add(piece_names[kind], place.path[kind]);
            continue;
        }
        for (std::size_t link = link_count; link-- > 0;)
            add(static_cast<Link>(link) == Link::network ? "messages over the network"
                : static_cast<Link>(link) == Link::node  ? "messages within nodes"
                                                         : "messages within sockets",
                place.path_messages[link]);
    }
    return text;
}

}  // namespace

std::string explanation_text(const TraceExplanation& explanation) {
    std::string text =
        fmt::format("{} ranks on {} nodes, {:.3f} s, {} collectives of those that libhcoll knows\n", explanation.ranks,
                    explanation.nodes, static_cast<double>(explanation.length) / 1e9, explanation.collectives);
    if (explanation.traced < explanation.ranks)
        text += fmt::format("of {} ranks there is no trace\n", explanation.ranks - explanation.traced);
    if (explanation.overwritten != 0)
        text +=
            fmt::format("{} of the oldest records had to give way (LIBHCOLL_TRACE_MEMORY)\n", explanation.overwritten);
    if (explanation.left_out != 0)
        text += fmt::format("{} steps are left out, since the records of their calls have given way\n",
                            explanation.left_out);
    if (explanation.calls_left_out != 0)
        text += fmt::format("{} calls are left out, on communicators that had to give way to others: a rank knows {}\n",
                            explanation.calls_left_out, TraceHeader::most_communicators);
    if (explanation.compared_once != 0)
        text +=
            fmt::format("the clocks of {} ranks were compared at the begin alone: they did not come to MPI_Finalize\n",
                        explanation.compared_once);
    if (explanation.clock_error > 0)
        text += fmt::format("clocks are off by {:.3f} us or more: a message ended before it began\n",
                            microseconds(explanation.clock_error));
    if (explanation.incomplete != 0)
        text += fmt::format("of {} collectives not all ranks' records are there; they are left out\n",
                            explanation.incomplete);
    if (explanation.unfinished != 0) text += fmt::format("{} collectives are not over\n", explanation.unfinished);
    if (explanation.time != 0)
        text += fmt::format("waiting for late ranks: {:.0f} % of the ranks' time in blocking collectives\n",
                            share(explanation.waiting, explanation.time));
    constexpr std::size_t most_told = 5;
    for (std::size_t i = 0; i < std::min(most_told, explanation.late.size()); ++i) {
        const auto& late = explanation.late[i];
        if (share(late.caused, explanation.waiting) < 1) break;
        text += fmt::format("  {:.0f} % of that for {}, in {} calls\n", share(late.caused, explanation.waiting),
                            rank_on_host(explanation, late.rank), late.calls);
    }
    std::vector<std::vector<std::string>> rows = {{"collective", "up to", "ranks", "runs", "calls",
                                                   "us a call and rank", "late ranks", "algorithm", "waited for most"}};
    for (const auto& place : explanation.places) {
        const auto spans = static_cast<double>(std::max<std::uint64_t>(place.spans, 1));
        const bool is_split = place.form == CallForm::blocking;
        std::string late;
        if (!place.late.empty())
            late = fmt::format("{} ({} calls, {:.0f} %)", rank_on_host(explanation, place.late.front().rank),
                               place.late.front().calls, share(place.late.front().caused, place.waiting));
        rows.push_back({function_name(place.collective, place.form), bytes_text(place.bytes),
                        std::to_string(place.size), place.runs, std::to_string(place.calls),
                        fmt::format("{:.2f}", microseconds(place.time) / spans),
                        is_split ? fmt::format("{:.0f} %", share(place.waiting, place.time)) : "-",
                        is_split ? fmt::format("{:.0f} %", 100 - share(place.waiting, place.time)) : "-", late});
    }
    text += '\n' + columns(rows);
    text += "\ncritical paths, from the first rank's coming to the last one's going\n";
    rows.clear();
    for (const auto& place : explanation.places)
        if (place.form == CallForm::blocking)
            rows.push_back({function_name(place.collective, place.form), bytes_text(place.bytes), place.runs,
                            path_text(place),
                            fmt::format("slowest: --call {} on {}, {:.1f} us", place.slowest_number,
                                        place.slowest_communicator, microseconds(place.slowest))});
    text += rows.empty() ? "  there are no blocking collectives\n" : columns(rows);
    rows = {{"messages of plans", "number", "bytes", "us a message"}};
    for (std::size_t link = 0; link < link_count; ++link) {
        const auto& level = explanation.levels[link];
        if (level.messages == 0) continue;
        rows.push_back({link_names[link], std::to_string(level.messages), bytes_text(level.bytes),
                        fmt::format("{:.2f}", microseconds(level.under_way) / static_cast<double>(level.messages))});
    }
    if (rows.size() > 1) text += '\n' + columns(rows);
    return text;
}

std::string explanation_json(const TraceExplanation& explanation) {
    using Json = nlohmann::ordered_json;
    const auto seconds = [](std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; };
    const auto late_json = [&](const std::vector<TraceExplanation::LateRank>& late) {
        Json list = Json::array();
        for (const auto& each : late)
            list.push_back({{"rank", each.rank}, {"calls", each.calls}, {"caused_seconds", seconds(each.caused)}});
        return list;
    };
    Json document = {{"ranks", explanation.ranks},
                     {"traced_ranks", explanation.traced},
                     {"nodes", explanation.nodes},
                     {"seconds", seconds(explanation.length)},
                     {"collectives", explanation.collectives},
                     {"incomplete", explanation.incomplete},
                     {"unfinished", explanation.unfinished},
                     {"overwritten_records", explanation.overwritten},
                     {"left_out_records", explanation.left_out},
                     {"left_out_calls", explanation.calls_left_out},
                     {"ranks_whose_clocks_were_compared_once", explanation.compared_once},
                     {"clock_error_seconds", seconds(explanation.clock_error)},
                     {"seconds_in_blocking", seconds(explanation.time)},
                     {"seconds_waiting_for_late_ranks", seconds(explanation.waiting)},
                     {"late_ranks", late_json(explanation.late)}};
    document["places"] = Json::array();
    for (const auto& place : explanation.places) {
        Json path = Json::object();
        for (std::size_t kind = 0; kind < place.path.size(); ++kind)
            path[std::string(piece_names[kind])] = seconds(place.path[kind]);
        Json by_level = Json::object();
        for (std::size_t link = 0; link < link_count; ++link)
            by_level[link_names[link]] = seconds(place.path_messages[link]);
        document["places"].push_back({{"function", function_name(place.collective, place.form)},
                                      {"largest_bytes", place.bytes},
                                      {"ranks", place.size},
                                      {"runs", place.runs},
                                      {"calls", place.calls},
                                      {"seconds", seconds(place.time)},
                                      {"seconds_waiting_for_late_ranks", seconds(place.waiting)},
                                      {"late_ranks", late_json(place.late)},
                                      {"critical_path_seconds", path},
                                      {"critical_path_message_seconds", by_level},
                                      {"slowest_call", place.slowest_number},
                                      {"slowest_seconds", seconds(place.slowest)}});
    }
    document["levels"] = Json::array();
    for (std::size_t link = 0; link < link_count; ++link)
        document["levels"].push_back({{"level", link_names[link]},
                                      {"messages", explanation.levels[link].messages},
                                      {"bytes", explanation.levels[link].bytes},
                                      {"seconds_under_way", seconds(explanation.levels[link].under_way)}});
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string call_trace_text(std::span<const RankTrace> ranks, const TracedCallOfAll& call) {
    const TracedCollective& any = call.any();
    int last = 0;
    const CallArrivals arrivals = call.is_split() ? call.arrivals(last) : CallArrivals{};
    std::string text =
        fmt::format("the {} collective on {}: {}, {} ranks{}, from {:.3f} us on\n", ordinal_text(any.number),
                    any.communicator, function_name(any.collective, any.form), any.size,
                    any.runs.empty() ? std::string() : fmt::format(", runs {}", any.runs), microseconds(call.begin()));
    std::vector<std::vector<std::string>> rows = {
        {"rank", "of MPI_COMM_WORLD", "host", "comes at us", "goes at us", "late ranks us", "algorithm us"}};
    for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
        const TracedCollective* each = call.ranks[rank];
        if (each == nullptr) {
            rows.push_back({std::to_string(rank), "no record"});
            continue;
        }
        const CallSplit split = call.split(static_cast<int>(rank), arrivals);
        const RankTrace* trace = trace_of(ranks, call.world_rank(static_cast<int>(rank)));
        rows.push_back(
            {std::to_string(rank), std::to_string(call.world_rank(static_cast<int>(rank))),
             trace == nullptr ? std::string() : trace->host,
             fmt::format("{:.3f}", microseconds(each->span.begin - call.begin())),
             each->span.is_over ? fmt::format("{:.3f}", microseconds(each->span.end - call.begin())) : "never",
             call.is_split() ? fmt::format("{:.3f}", microseconds(split.waiting)) : "-",
             call.is_split() ? fmt::format("{:.3f}", microseconds(split.algorithm)) : "-"});
    }
    text += columns(rows);
    if (!call.is_complete()) text += "not all ranks' records of it are there: who was late cannot be told\n";
    if (any.form != CallForm::blocking)
        for (std::size_t rank = 0; rank < call.ranks.size(); ++rank)
            for (const TracedSpan& run :
                 call.ranks[rank] == nullptr ? std::vector<TracedSpan>() : call.ranks[rank]->in_background)
                text += fmt::format("  rank {} runs it from {:.3f} to {:.3f} us\n", rank,
                                    microseconds(run.begin - call.begin()), microseconds(run.end - call.begin()));
    text += "critical path\n";
    rows = {{"from us", "to us", "rank", ""}};
    for (const PathPiece& piece : critical_path(call)) {
        std::string what;
        switch (piece.kind) {
            case PathPiece::Kind::late: what = "has not come, and others have"; break;
            case PathPiece::Kind::message: what = fmt::format("{} from {}", bytes_text(piece.bytes), piece.from); break;
            case PathPiece::Kind::wait: what = fmt::format("waits for {}", piece.from); break;
            case PathPiece::Kind::between: what = "in between"; break;
            default:
                what =
                    fmt::format("{}, {}", piece_names[static_cast<std::size_t>(piece.kind)], bytes_text(piece.bytes));
        }
        if (piece.kind == PathPiece::Kind::message) {
            const Link link = link_between(ranks, call.world_rank(piece.from), call.world_rank(piece.rank));
            what += fmt::format(" ({}), step {}", link_names[static_cast<std::size_t>(link)], piece.step);
        }
        rows.push_back({fmt::format("{:.3f}", microseconds(piece.begin - call.begin())),
                        fmt::format("{:.3f}", microseconds(piece.end - call.begin())), std::to_string(piece.rank),
                        what});
    }
    return text + columns(rows);
}

}  // namespace hcoll
