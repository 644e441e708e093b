// SPDX-License-Identifier: BSD-3-Clause
#include "trace/traced_calls.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/check.hpp"

namespace hcoll {

const TracedCollective& TracedCallOfAll::any() const {
    const auto found =
        std::find_if(ranks.begin(), ranks.end(), [](const TracedCollective* each) { return each != nullptr; });
    check(found != ranks.end(), "a call that is there is on a rank");
    return **found;
}

bool TracedCallOfAll::is_complete() const {
    return std::none_of(ranks.begin(), ranks.end(), [](const TracedCollective* each) { return each == nullptr; });
}

std::int64_t TracedCallOfAll::begin() const {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const TracedCollective* each : ranks)
        if (each != nullptr) first = std::min(first, each->span.begin);
    return first;
}

std::int64_t TracedCallOfAll::end() const {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const TracedCollective* each : ranks)
        if (each != nullptr) {
            last = std::max(last, each->span.end);
            for (const TracedSpan& run : each->in_background) last = std::max(last, run.end);
        }
    return last;
}

bool TracedCallOfAll::is_over() const {
    return std::all_of(ranks.begin(), ranks.end(),
                       [](const TracedCollective* each) { return each == nullptr || each->span.is_over; });
}

int TracedCallOfAll::world_rank(int rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < world_ranks.size()
               ? world_ranks[static_cast<std::size_t>(rank)]
               : -1;
}

CallSplit TracedCallOfAll::split(int rank, const CallArrivals& arrivals) const {
    const TracedCollective& each = *ranks[static_cast<std::size_t>(rank)];
    if (!is_split()) return {.waiting = 0, .algorithm = each.span.end - each.span.begin};
    return split_call(each.collective, each.bytes != 0, each.root == rank, each.span.begin, each.span.end, arrivals);
}

CallArrivals TracedCallOfAll::arrivals(int& last) const {
    CallArrivals arrivals{.last = std::numeric_limits<std::int64_t>::min()};
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const TracedCollective* each = ranks[rank];
        if (each == nullptr) continue;
        if (each->span.begin > arrivals.last) {
            arrivals.last = each->span.begin;
            last = static_cast<int>(rank);
        }
        if (each->root == static_cast<int>(rank)) arrivals.root = each->span.begin;
    }
    return arrivals;
}

std::vector<TracedCallOfAll> collectives_of(std::span<const RankTrace> ranks) {
    // Traces may be damaged: what does not fit to the first rank's is no part of its call.
    std::map<std::pair<std::uint64_t, std::uint64_t>, TracedCallOfAll> calls;
    for (const RankTrace& rank : ranks)
        for (const TracedCollective& each : rank.calls) {
            if (static_cast<std::size_t>(each.size) > 64 + 16 * ranks.size()) continue;
            TracedCallOfAll& call = calls[{each.key, each.number}];
            if (call.ranks.empty()) {
                call.ranks.resize(static_cast<std::size_t>(each.size));
                call.world_ranks.assign(static_cast<std::size_t>(each.size), -1);
            }
            const auto place = static_cast<std::size_t>(each.rank);
            if (place >= call.ranks.size() || call.ranks[place] != nullptr) continue;
            if (const auto other = std::find_if(call.ranks.begin(), call.ranks.end(),
                                                [](const TracedCollective* known) { return known != nullptr; });
                other != call.ranks.end() &&
                ((*other)->collective != each.collective || (*other)->form != each.form || (*other)->root != each.root))
                continue;
            call.ranks[place] = &each;
            call.world_ranks[place] = rank.rank;
        }
    std::vector<TracedCallOfAll> found;
    found.reserve(calls.size());
    for (auto& [key, call] : calls) found.push_back(std::move(call));
    std::stable_sort(found.begin(), found.end(),
                     [](const TracedCallOfAll& a, const TracedCallOfAll& b) { return a.begin() < b.begin(); });
    return found;
}

Link link_between(std::span<const RankTrace> ranks, int from, int to) {
    const RankTrace* a = trace_of(ranks, from);
    const RankTrace* b = trace_of(ranks, to);
    if (a == nullptr || b == nullptr || a->node != b->node) return Link::network;
    return a->socket == b->socket ? Link::socket : Link::node;
}

const RankTrace* trace_of(std::span<const RankTrace> ranks, int rank) {
    const auto found = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                        [](const RankTrace& each, int wanted) { return each.rank < wanted; });
    return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

// Messages between two ranks with equal tags arrive in the order in which they were sent.
std::vector<TracedMessage> messages_of(const TracedCallOfAll& call) {
    std::map<std::tuple<int, int, std::uint32_t>, std::vector<const TracedStepEvent*>> sends;
    for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
        if (call.ranks[rank] == nullptr) continue;
        for (const TracedStepEvent& step : call.ranks[rank]->steps)
            if (step.kind == TraceKind::send) sends[{static_cast<int>(rank), step.peer, step.tag}].push_back(&step);
    }
    std::map<std::tuple<int, int, std::uint32_t>, std::size_t> taken;
    std::vector<TracedMessage> found;
    for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
        if (call.ranks[rank] == nullptr) continue;
        for (const TracedStepEvent& step : call.ranks[rank]->steps) {
            if (step.kind != TraceKind::recv || !step.span.is_over) continue;
            const std::tuple key{step.peer, static_cast<int>(rank), step.tag};
            const auto sent = sends.find(key);
            if (sent == sends.end()) continue;
            std::size_t& next = taken[key];
            if (next < sent->second.size())
                found.push_back({step.peer, static_cast<int>(rank), sent->second[next++], &step});
        }
    }
    return found;
}

}  // namespace hcoll
