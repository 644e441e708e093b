// SPDX-License-Identifier: BSD-3-Clause
#include "trace/explain_trace.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace hcoll {

namespace {

// Calls from half of a power of 4 on are one place.
int size_class(std::uint64_t bytes) {
    int found = 0;
    for (std::uint64_t limit = 2; bytes > limit && found < 31; limit *= 4) ++found;
    return bytes == 0 ? -1 : found;
}

// An algorithm without its parameters.
std::string algorithm_of(const std::string& runs) { return runs.substr(0, runs.find(':')); }

class Explainer {
public:
    explicit Explainer(std::span<const RankTrace> ranks) : ranks_(ranks) {}

    TraceExplanation explain() {
        found_.traced = static_cast<int>(ranks_.size());
        std::set<int> nodes;
        for (const RankTrace& rank : ranks_) {
            found_.ranks = std::max(found_.ranks, rank.ranks);
            found_.overwritten += rank.overwritten;
            found_.left_out += rank.left_out;
            found_.calls_left_out += rank.calls_left_out;
            if (rank.clocks < 2) ++found_.compared_once;
            nodes.insert(rank.node);
            for (const TracedCollective& call : rank.calls) found_.length = std::max(found_.length, call.span.end);
        }
        found_.nodes = static_cast<int>(nodes.size());
        found_.hosts.resize(static_cast<std::size_t>(found_.ranks));
        for (const RankTrace& rank : ranks_) found_.hosts[static_cast<std::size_t>(rank.rank)] = rank.host;
        for (const TracedCallOfAll& call : collectives_of(ranks_)) add(call);
        for (auto& [key, place] : places_) {
            place.late = sorted(late_.at(key));
            found_.places.push_back(std::move(place));
        }
        std::stable_sort(found_.places.begin(), found_.places.end(),
                         [](const auto& a, const auto& b) { return a.time > b.time; });
        found_.late = sorted(late_of_all_);
        return std::move(found_);
    }

private:
    using LateRanks = std::map<int, TraceExplanation::LateRank>;
    using Key = std::tuple<Collective, CallForm, int, int, std::string>;

    static std::vector<TraceExplanation::LateRank> sorted(const LateRanks& late) {
        std::vector<TraceExplanation::LateRank> list;
        for (const auto& [rank, each] : late) list.push_back(each);
        std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.caused > b.caused; });
        return list;
    }

    void add(const TracedCallOfAll& call) {
        ++found_.collectives;
        const TracedCollective& any = call.any();
        if (!call.is_over()) ++found_.unfinished;
        add_messages(call);
        if (!call.is_complete()) {
            ++found_.incomplete;
            return;
        }
        if (!call.is_over()) return;
        const Key key{any.collective, any.form, size_class(any.bytes), any.size, algorithm_of(any.runs)};
        TraceExplanation::Place& place = places_[key];
        place.collective = any.collective;
        place.form = any.form;
        place.bytes = std::max(place.bytes, any.bytes);
        place.size = any.size;
        place.runs = algorithm_of(any.runs);
        place.calls += std::max<std::uint64_t>(1, any.in_background.size());
        LateRanks& late = late_[key];
        if (any.form != CallForm::blocking) return add_background(call, place);
        int last = 0;
        const CallArrivals arrivals = call.arrivals(last);
        std::int64_t waiting = 0;
        for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
            const CallSplit split = call.split(static_cast<int>(rank), arrivals);
            place.time += split.waiting + split.algorithm;
            waiting += split.waiting;
            ++place.spans;
        }
        place.waiting += waiting;
        found_.waiting += waiting;
        for (const TracedCollective* each : call.ranks) found_.time += each->span.end - each->span.begin;
        const bool is_for_root = any.collective == Collective::bcast || any.collective == Collective::scatter;
        note_late(call, is_for_root ? any.root : last, waiting, late);
        const std::int64_t took = call.end() - call.begin();
        if (took >= place.slowest) {
            place.slowest = took;
            place.slowest_number = any.number;
            place.slowest_key = any.key;
            place.slowest_communicator = any.communicator;
        }
        for (const PathPiece& piece : critical_path(call)) {
            place.path[static_cast<std::size_t>(piece.kind)] += piece.end - piece.begin;
            if (piece.kind != PathPiece::Kind::message) continue;
            const Link link = link_between(ranks_, call.world_rank(piece.from), call.world_rank(piece.rank));
            place.path_messages[static_cast<std::size_t>(link)] += piece.end - piece.begin;
        }
    }

    static void add_background(const TracedCallOfAll& call, TraceExplanation::Place& place) {
        for (const TracedCollective* each : call.ranks) {
            const auto& runs = each->in_background;
            for (const TracedSpan& run : runs) place.time += run.end - run.begin;
            place.spans += runs.size();
        }
    }

    void note_late(const TracedCallOfAll& call, int rank, std::int64_t caused, LateRanks& late) {
        const int who = call.world_rank(rank);
        if (who < 0 || caused <= 0) return;
        for (LateRanks* each : {&late, &late_of_all_}) {
            TraceExplanation::LateRank& noted = (*each)[who];
            noted.rank = who;
            ++noted.calls;
            noted.caused += caused;
        }
    }

    void add_messages(const TracedCallOfAll& call) {
        for (const TracedMessage& message : messages_of(call)) {
            auto& level = found_.levels[static_cast<std::size_t>(
                link_between(ranks_, call.world_rank(message.from), call.world_rank(message.to)))];
            ++level.messages;
            found_.clock_error = std::max(found_.clock_error, message.send->span.begin - message.recv->span.end);
            level.bytes += message.recv->bytes;
            level.under_way += std::max<std::int64_t>(
                message.recv->span.end - std::max(message.send->span.begin, message.recv->span.begin), 0);
        }
    }

    std::span<const RankTrace> ranks_;
    TraceExplanation found_;
    std::map<Key, TraceExplanation::Place> places_;
    std::map<Key, LateRanks> late_;
    LateRanks late_of_all_;
};

}  // namespace

TraceExplanation explain_trace(std::span<const RankTrace> ranks) { return Explainer(ranks).explain(); }

}  // namespace hcoll
