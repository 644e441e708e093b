// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>
#include <unordered_map>

#include "trace/traced_calls.hpp"

namespace hcoll {

namespace {

PathPiece::Kind piece_of(TraceKind kind) {
    switch (kind) {
        case TraceKind::recv:
        case TraceKind::send: return PathPiece::Kind::message;
        case TraceKind::reduce: return PathPiece::Kind::reduce;
        case TraceKind::copy: return PathPiece::Kind::copy;
        case TraceKind::leaders: return PathPiece::Kind::leaders;
        case TraceKind::wait: return PathPiece::Kind::wait;
        default: return PathPiece::Kind::between;
    }
}

// Walks a call's events backwards.
class PathFinder {
public:
    explicit PathFinder(const TracedCallOfAll& call) : call_(call) {
        for (const TracedMessage& message : messages_of(call)) sender_of_[message.recv] = message;
        // Those of a rank, by their end.
        by_end_.resize(call.ranks.size());
        for (std::size_t rank = 0; rank < call.ranks.size(); ++rank) {
            if (call.ranks[rank] == nullptr) continue;
            for (const TracedStepEvent& step : call.ranks[rank]->steps)
                // What lies outside of the call is none of it, whatever a file says.
                if (step.span.is_over && step.kind != TraceKind::send &&
                    step.span.begin >= call.ranks[rank]->span.begin)
                    by_end_[rank].push_back(&step);
            std::stable_sort(
                by_end_[rank].begin(), by_end_[rank].end(),
                [](const TracedStepEvent* a, const TracedStepEvent* b) { return a->span.end < b->span.end; });
        }
    }

    std::vector<PathPiece> find() {
        rank_ = last_to_end();
        if (rank_ < 0) return {};
        at_ = call_.end();
        add(PathPiece::Kind::between, mine().span.end, nullptr, -1);
        // Each piece ends before the one that follows; a wait that is told twice could go round and round.
        std::size_t most_pieces = 4;
        for (const auto& steps : by_end_) most_pieces += 2 * steps.size();
        while (pieces_.size() < most_pieces && go_back()) {
        }
        begin();
        std::reverse(pieces_.begin(), pieces_.end());
        return std::move(pieces_);
    }

private:
    const TracedCollective& mine() const { return *call_.ranks[static_cast<std::size_t>(rank_)]; }

    int last_to_end() const {
        int last = -1;
        for (std::size_t rank = 0; rank < call_.ranks.size(); ++rank)
            if (call_.ranks[rank] != nullptr &&
                (last < 0 || call_.ranks[rank]->span.end > call_.ranks[static_cast<std::size_t>(last)]->span.end))
                last = static_cast<int>(rank);
        return last;
    }

    void add(PathPiece::Kind kind, std::int64_t begin, const TracedStepEvent* step, int from) {
        if (begin >= at_ && step == nullptr) return;
        pieces_.push_back({.kind = kind,
                           .rank = rank_,
                           .from = from,
                           .begin = std::min(begin, at_),
                           .end = at_,
                           .bytes = step == nullptr ? 0 : step->bytes,
                           .step = step == nullptr ? 0 : step->step});
        at_ = std::min(begin, at_);
    }

    // What this rank did last before now, and whom it had that from. False where there is nothing more.
    bool go_back() {
        const auto& steps = by_end_[static_cast<std::size_t>(rank_)];
        auto next =
            std::upper_bound(steps.begin(), steps.end(), at_,
                             [](std::int64_t time, const TracedStepEvent* step) { return time < step->span.end; });
        while (next != steps.begin() && used_.contains(*(next - 1))) --next;
        if (next == steps.begin()) return false;
        const TracedStepEvent& step = **(next - 1);
        used_.insert(&step);
        add(PathPiece::Kind::between, std::max(step.span.end, mine().span.begin), nullptr, -1);
        if (step.kind == TraceKind::recv) return through_message(step);
        if (step.kind == TraceKind::wait) return through_wait(step);
        add(piece_of(step.kind), step.span.begin, &step, -1);
        return true;
    }

    // Who of the two came later to the message held it up.
    bool through_message(const TracedStepEvent& recv) {
        const auto found = sender_of_.find(&recv);
        if (found == sender_of_.end()) {
            add(PathPiece::Kind::message, recv.span.begin, &recv, recv.peer);
            return true;
        }
        const TracedMessage& message = found->second;
        const bool is_sender_later = message.send->span.begin >= recv.span.begin;
        add(PathPiece::Kind::message, std::max(message.send->span.begin, recv.span.begin), &recv, message.from);
        if (is_sender_later) rank_ = message.from;
        return true;
    }

    bool through_wait(const TracedStepEvent& wait) {
        const bool is_known = wait.peer >= 0 && static_cast<std::size_t>(wait.peer) < call_.ranks.size() &&
                              call_.ranks[static_cast<std::size_t>(wait.peer)] != nullptr && wait.peer != rank_;
        if (!is_known) {
            add(PathPiece::Kind::wait, wait.span.begin, &wait, wait.peer);
            return true;
        }
        // What that rank did until then is its time.
        rank_ = wait.peer;
        if (mine().span.begin >= at_) {
            // It came later than the flag can have been raised, by the clocks that there are.
            add(PathPiece::Kind::wait, wait.span.begin, &wait, wait.peer);
            return false;
        }
        return true;
    }

    // Of a call of which not all is known there is nobody to blame.
    void begin_of_unknown() {
        std::int64_t first = at_;
        for (const TracedCollective* each : call_.ranks)
            if (each != nullptr) first = std::min(first, each->span.begin);
        add(PathPiece::Kind::between, first, nullptr, -1);
    }

    // To where the rank came, or who it had to wait for by MPI's own rules, whatever it ran; before that others waited.
    void begin() {
        if (!call_.is_split()) return begin_of_unknown();
        int last = 0;
        const CallArrivals arrivals = call_.arrivals(last);
        const std::int64_t ready = mine().span.begin + call_.split(rank_, arrivals).waiting;
        add(PathPiece::Kind::between, ready, nullptr, -1);
        if (ready > mine().span.begin && at_ == ready)
            rank_ = ready == arrivals.last || mine().root < 0 ? last : mine().root;
        std::int64_t first = at_;
        for (const TracedCollective* each : call_.ranks)
            if (each != nullptr) first = std::min(first, each->span.begin);
        add(PathPiece::Kind::between, std::max(first, mine().span.begin), nullptr, -1);
        add(PathPiece::Kind::late, first, nullptr, -1);
    }

    const TracedCallOfAll& call_;
    std::unordered_map<const TracedStepEvent*, TracedMessage> sender_of_;
    std::vector<std::vector<const TracedStepEvent*>> by_end_;
    std::set<const TracedStepEvent*> used_;
    std::vector<PathPiece> pieces_;
    int rank_ = 0;
    std::int64_t at_ = 0;
};

}  // namespace

std::vector<PathPiece> critical_path(const TracedCallOfAll& call) { return PathFinder(call).find(); }

}  // namespace hcoll
