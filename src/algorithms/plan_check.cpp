// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/plan_check.hpp"

#include <fmt/format.h>

#include <map>
#include <span>
#include <tuple>

namespace hcoll {

namespace {

using Defect = std::optional<std::string>;

std::span<const Step> steps_of(const Plan& plan, const Phase& phase) {
    return std::span(plan.steps).subspan(phase.first_step, phase.steps);
}

std::span<const std::uint32_t> successors_of(const Plan& plan, const Step& step) {
    return std::span(plan.successors).subspan(step.first_successor, step.successors);
}

// reachable[a][b]: b can only run after a. Steps are in topological order: edges point forwards.
std::vector<std::vector<bool>> reachability(const Plan& plan, const Phase& phase) {
    const auto steps = steps_of(plan, phase);
    const std::size_t count = steps.size();
    std::vector<std::vector<bool>> reachable(count, std::vector<bool>(count, false));
    for (std::size_t from = count; from-- > 0;)
        for (const std::uint32_t next : successors_of(plan, steps[from])) {
            reachable[from][next] = true;
            for (std::size_t to = next + 1; to < count; ++to)
                if (reachable[next][to]) reachable[from][to] = true;
        }
    return reachable;
}

Defect find_region_defect(const Phase& phase, const Region& region) {
    if (region.length == 0) return std::nullopt;
    const bool is_scratch = region.buffer == Buffer::scratch;
    if (region.end() > (is_scratch ? phase.scratch_part_units : phase.segment_units))
        return "region outside of its segment";
    if (region.part >= (is_scratch ? phase.scratch_parts : 1)) return "no such part of scratch";
    return std::nullopt;
}

Defect find_step_defect(const Phase& phase, const Step& step) {
    if (step.is_message() && step.peer < 0) return "nobody to talk to";
    if (step.is_message() && step.has_source() == step.has_target()) return "a message has one region";
    if (step.is_message() && step.has_source() != (step.kind == StepKind::send)) return "wrong region of a message";
    if (step.kind == StepKind::reduce || step.kind == StepKind::copy)
        if (!step.has_source() || step.source.length != step.target.length) return "lengths differ";
    if (!step.has_source() && !step.has_target()) return "works on nothing";
    if (step.channel >= max_channels) return "channel out of range";
    if (step.has_target() && step.target.buffer == Buffer::input) return "input is written";
    if (step.positions == 0 || (step.positions & ~any_chunk) != 0) return "for no chunk";
    if (Defect defect = find_region_defect(phase, step.source)) return defect;
    return find_region_defect(phase, step.target);
}

Defect find_structural_defect(const Plan& plan, const Phase& phase) {
    if (phase.window < 1 || phase.window > max_window) return fmt::format("window {} is out of range", phase.window);
    const auto steps = steps_of(plan, phase);
    std::vector<std::uint32_t> dependencies(steps.size(), 0);
    for (std::size_t index = 0; index < steps.size(); ++index) {
        if (const Defect defect = find_step_defect(phase, steps[index]))
            return fmt::format("step {}: {}", index, *defect);
        for (const std::uint32_t next : successors_of(plan, steps[index])) {
            if (next <= index || next >= steps.size()) return fmt::format("step {}: edge to {}", index, next);
            ++dependencies[next];
        }
    }
    for (std::size_t index = 0; index < steps.size(); ++index)
        if (dependencies[index] != steps[index].dependencies)
            return fmt::format("step {} waits for {} steps, but {} lead to it", index, steps[index].dependencies,
                               dependencies[index]);
    return std::nullopt;
}

bool touch_same_units(const Step& a, const Step& b) {
    const auto writes_to = [](const Step& writer, const Step& other) {
        return writer.has_target() && ((other.has_source() && overlap(writer.target, other.source)) ||
                                       (other.has_target() && overlap(writer.target, other.target)));
    };
    return (a.positions & b.positions) != 0 && (writes_to(a, b) || writes_to(b, a));
}

// The one edge that data does not ask for: the same to one rank after another (PlanBuilder::send_after).
bool are_sent_in_turn(const Step& a, const Step& b) {
    return a.kind == StepKind::send && b.kind == StepKind::send && a.peer != b.peer && a.source == b.source;
}

Defect find_race(const Plan& plan, const Phase& phase) {
    const auto steps = steps_of(plan, phase);
    const auto reachable = reachability(plan, phase);
    for (std::size_t a = 0; a < steps.size(); ++a) {
        const Step& step = steps[a];
        if (step.has_source() && step.has_target() && overlap(step.source, step.target))
            return fmt::format("step {} reads and writes the same units", a);
        for (std::size_t b = a + 1; b < steps.size(); ++b)
            if (!reachable[a][b] && touch_same_units(step, steps[b]))
                return fmt::format("race between steps {} and {}", a, b);
        for (const std::uint32_t next : successors_of(plan, step))
            if (!touch_same_units(step, steps[next]) && !are_sent_in_turn(step, steps[next]))
                return fmt::format("step {} waits for step {} for nothing", next, a);
        for (const std::uint32_t near : successors_of(plan, step))
            for (const std::uint32_t far : successors_of(plan, step))
                if (reachable[near][far]) return fmt::format("superfluous edge from step {} to {}", a, far);
    }
    return std::nullopt;
}

// The steps of all ranks in one phase, unrolled as far as they differ: one segment, or all turns of a ring. Nodes are
// instances of steps, and the opening of each segment; a message's send and receive are one node, and so is a collective.
class PhaseGraph {
public:
    PhaseGraph(const std::vector<Plan>& plans, std::size_t phase) : plans_(plans), phase_(phase) {
        for (std::size_t rank = 0; rank < plans.size(); ++rank) {
            first_.push_back(count_);
            count_ += unrolled(rank) * (phase_of(rank).steps + 1);
        }
        merged_.resize(count_);
        for (std::size_t node = 0; node < count_; ++node) merged_[node] = node;
    }

    Defect match_messages() {
        for (std::size_t rank = 0; rank < plans_.size(); ++rank)
            for (std::uint64_t segment = 0; segment < unrolled(rank); ++segment)
                for (std::uint32_t index = 0; index < phase_of(rank).steps; ++index)
                    if (Defect defect = match(rank, segment, index)) return defect;
        if (sends_.size() != receives_.size()) return "a message has no counterpart";
        for (const auto& [key, send] : sends_) {
            const auto counterpart = receives_.find(key);
            if (counterpart == receives_.end())
                return fmt::format("rank {} step {}: nobody receives", send.rank, send.step);
            const Place& receive = counterpart->second;
            // Of a pipeline, the first and the last segment.
            const std::uint64_t last = phase_of(send.rank).is_ring() ? 0 : phase_of(send.rank).segments() - 1;
            for (const std::uint64_t further : {std::uint64_t{0}, last})
                if (length(send, further) != length(receive, further))
                    return fmt::format("rank {} step {}: lengths of send and receive differ", send.rank, send.step);
            merged_[node(receive)] = node(send);
        }
        return std::nullopt;
    }

    // Kahn's algorithm.
    Defect find_deadlock() {
        std::vector<std::vector<std::size_t>> after(count_);
        std::vector<std::uint32_t> waiting(count_, 0);
        const auto edge = [&](std::size_t from, std::size_t to) {
            after[merged_[from]].push_back(merged_[to]);
            ++waiting[merged_[to]];
        };
        for (std::size_t rank = 0; rank < plans_.size(); ++rank) add_edges(rank, edge);
        std::vector<std::size_t> ready;
        std::size_t distinct = 0;
        std::size_t finished = 0;
        for (std::size_t node = 0; node < count_; ++node) {
            if (merged_[node] != node) continue;
            ++distinct;
            if (waiting[node] == 0) ready.push_back(node);
        }
        while (!ready.empty()) {
            const std::size_t node = ready.back();
            ready.pop_back();
            ++finished;
            for (const std::size_t next : after[node])
                if (--waiting[next] == 0) ready.push_back(next);
        }
        if (finished != distinct)
            return fmt::format("deadlock: {} of {} steps never run", distinct - finished, distinct);
        return std::nullopt;
    }

private:
    struct Place {
        std::size_t rank;
        std::uint64_t segment;
        std::uint32_t step;
    };
    using MessageKey = std::tuple<int, int, std::uint32_t, std::uint64_t>;  // from, to, channel, number

    const Phase& phase_of(std::size_t rank) const { return plans_[rank].phases[phase_]; }
    const Step& step_at(const Place& place) const {
        return plans_[place.rank].steps[phase_of(place.rank).first_step + place.step];
    }
    std::uint64_t unrolled(std::size_t rank) const {
        const Phase& phase = phase_of(rank);
        return phase.is_ring() ? phase.segments() : std::min<std::uint64_t>(phase.segments(), 1);
    }
    std::size_t opening(std::size_t rank, std::uint64_t segment) const {
        return first_[rank] + segment * (phase_of(rank).steps + 1);
    }
    std::size_t node(const Place& place) const { return opening(place.rank, place.segment) + 1 + place.step; }
    std::uint64_t length(const Place& place, std::uint64_t further) const {
        const Phase& phase = phase_of(place.rank);
        const Step& step = step_at(place);
        return Phase::region_length(step.has_source() ? step.source : step.target,
                                    phase.segment(place.segment + further));
    }

    Defect match(std::size_t rank, std::uint64_t segment, std::uint32_t index) {
        const Place place{rank, segment, index};
        const Phase& phase = phase_of(rank);
        const Step& step = step_at(place);
        if ((step.positions & phase.segment(segment).position) == 0) return std::nullopt;
        if (step.kind == StepKind::collective) {
            if (collective_ == nullptr) {
                collective_ = &step;
                collective_node_ = node(place);
            } else if (step.collective != collective_->collective || step.peer != collective_->peer) {
                return fmt::format("rank {} step {}: another collective than the other leaders'", rank, index);
            }
            merged_[node(place)] = collective_node_;
            return std::nullopt;
        }
        if (!step.is_message()) return std::nullopt;
        const int self = static_cast<int>(rank);
        if (step.peer == self || step.peer >= static_cast<int>(plans_.size()))
            return fmt::format("rank {} step {}: peer {}", rank, index, step.peer);
        const bool is_send = step.kind == StepKind::send;
        if (!is_send && phase.is_ring() && segment < phase.segments_per_chunk())
            return fmt::format("rank {} step {}: receives before anything was sent", rank, index);
        const std::uint64_t number = phase.message_number(step, segment);
        const MessageKey key{is_send ? self : step.peer, is_send ? step.peer : self, step.channel, number};
        if (!(is_send ? sends_ : receives_).emplace(key, place).second)
            return fmt::format("rank {} step {}: message used twice", rank, index);
        return std::nullopt;
    }

    template <typename Edge>
    void add_edges(std::size_t rank, Edge&& edge) const {
        const Plan& plan = plans_[rank];
        const Phase& phase = phase_of(rank);
        for (std::uint64_t segment = 0; segment < unrolled(rank); ++segment) {
            if (segment > 0) edge(opening(rank, segment - 1), opening(rank, segment));
            for (std::uint32_t index = 0; index < phase.steps; ++index) {
                const Place place{rank, segment, index};
                const Step& step = step_at(place);
                edge(opening(rank, segment), node(place));
                for (const std::uint32_t next : successors_of(plan, step))
                    edge(node(place), node({rank, segment, next}));
                if (const std::uint64_t reopens = segment + phase.window; reopens < unrolled(rank))
                    edge(node(place), opening(rank, reopens));
                const std::uint32_t limit = plan.in_flight_limit(step);
                if (limit != 0 && segment + limit < unrolled(rank))
                    edge(node(place), node({rank, segment + limit, index}));
            }
        }
    }

    const std::vector<Plan>& plans_;
    std::size_t phase_;
    std::vector<std::size_t> first_;
    std::size_t count_ = 0;
    std::vector<std::size_t> merged_;
    std::map<MessageKey, Place> sends_;
    std::map<MessageKey, Place> receives_;
    const Step* collective_ = nullptr;
    std::size_t collective_node_ = 0;
};

}  // namespace

std::optional<std::string> find_plan_defect(const std::vector<Plan>& plans) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const Plan& plan = plans[rank];
        if (plan.sends < 1 || plan.receives < 1) return fmt::format("rank {}: nothing may be in flight", rank);
        if (plan.phases.size() != plans[0].phases.size()) return fmt::format("rank {} has other phases", rank);
        for (std::size_t i = 0; i < plan.phases.size(); ++i) {
            const Phase& phase = plan.phases[i];
            const Phase& other = plans[0].phases[i];
            if (phase.segment_units != other.segment_units || phase.chunks != other.chunks)
                return fmt::format("rank {} cuts the message into other segments than rank 0", rank);
            Defect defect = find_structural_defect(plan, phase);
            if (!defect) defect = find_race(plan, phase);
            if (defect) return fmt::format("rank {}, phase {}: {}", rank, i, *defect);
        }
    }
    for (std::size_t phase = 0; !plans.empty() && phase < plans[0].phases.size(); ++phase) {
        PhaseGraph graph(plans, phase);
        if (const Defect defect = graph.match_messages()) return fmt::format("phase {}: {}", phase, *defect);
        if (const Defect defect = graph.find_deadlock()) return fmt::format("phase {}: {}", phase, *defect);
    }
    return std::nullopt;
}

}  // namespace hcoll
