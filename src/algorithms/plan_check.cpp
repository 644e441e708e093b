#include "algorithms/plan_check.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace hcoll {

namespace {

using Defect = std::optional<std::string>;

// reachable[a][b]: b can only run after a. Steps are in topological order: edges point forwards.
std::vector<std::vector<bool>> reachability(const Plan& plan) {
    const std::size_t count = plan.steps.size();
    std::vector<std::vector<bool>> reachable(count, std::vector<bool>(count, false));
    for (std::size_t from = count; from-- > 0;) {
        const Step& step = plan.steps[from];
        for (std::uint32_t i = 0; i < step.successors; ++i) {
            const std::uint32_t next = plan.successors[step.first_successor + i];
            reachable[from][next] = true;
            for (std::size_t to = next + 1; to < count; ++to)
                if (reachable[next][to]) reachable[from][to] = true;
        }
    }
    return reachable;
}

Defect find_structural_defect(const Plan& plan) {
    if (plan.window < 1 || plan.window > max_window) return fmt::format("window {} is out of range", plan.window);
    if (plan.sends < 1 || plan.receives < 1) return "nothing may be in flight";
    std::vector<std::uint32_t> dependencies(plan.steps.size(), 0);
    for (std::size_t index = 0; index < plan.steps.size(); ++index) {
        const Step& step = plan.steps[index];
        if (step.is_communication() != (step.peer >= 0)) return fmt::format("step {}: peer {}", index, step.peer);
        if (step.channel >= max_channels) return fmt::format("step {}: channel {}", index, step.channel);
        if (step.has_target() && step.target.buffer == Buffer::input) return fmt::format("step {} writes input", index);
        for (const Region* region :
             {step.has_source() ? &step.source : nullptr, step.has_target() ? &step.target : nullptr}) {
            if (region == nullptr) continue;
            if (region->begin + region->length > plan.segment_units || region->length == 0)
                return fmt::format("step {}: region outside of its segment", index);
            const std::uint32_t parts = region->buffer == Buffer::scratch ? plan.scratch_parts : 1;
            if (region->part >= parts) return fmt::format("step {}: no such part of scratch", index);
        }
        if (step.kind == StepKind::reduce || step.kind == StepKind::copy)
            if (step.source.length != step.target.length) return fmt::format("step {}: lengths differ", index);
        for (std::uint32_t i = 0; i < step.successors; ++i) {
            const std::uint32_t next = plan.successors[step.first_successor + i];
            if (next <= index || next >= plan.steps.size()) return fmt::format("step {}: edge to {}", index, next);
            ++dependencies[next];
        }
    }
    for (std::size_t index = 0; index < plan.steps.size(); ++index)
        if (dependencies[index] != plan.steps[index].dependencies)
            return fmt::format("step {} waits for {} steps, but {} lead to it", index, plan.steps[index].dependencies,
                               dependencies[index]);
    return std::nullopt;
}

bool touch_same_units(const Step& a, const Step& b) {
    const auto writes_to = [](const Step& writer, const Step& other) {
        return writer.has_target() && ((other.has_source() && overlap(writer.target, other.source)) ||
                                       (other.has_target() && overlap(writer.target, other.target)));
    };
    return writes_to(a, b) || writes_to(b, a);
}

Defect find_race(const Plan& plan) {
    const auto reachable = reachability(plan);
    for (std::size_t a = 0; a < plan.steps.size(); ++a) {
        const Step& step = plan.steps[a];
        if (step.has_source() && step.has_target() && overlap(step.source, step.target))
            return fmt::format("step {} reads and writes the same units", a);
        for (std::size_t b = a + 1; b < plan.steps.size(); ++b)
            if (touch_same_units(step, plan.steps[b]) && !reachable[a][b])
                return fmt::format("race between steps {} and {}", a, b);
        for (std::uint32_t i = 0; i < step.successors; ++i)
            for (std::uint32_t j = 0; j < step.successors; ++j) {
                const std::uint32_t near = plan.successors[step.first_successor + i];
                const std::uint32_t far = plan.successors[step.first_successor + j];
                if (reachable[near][far]) return fmt::format("superfluous edge from step {} to {}", a, far);
            }
    }
    return std::nullopt;
}

// (from, to, channel)
using MessageKey = std::tuple<int, int, std::uint32_t>;
struct StepPlace {
    std::size_t rank;
    std::size_t step;
};

Defect match_messages(const std::vector<Plan>& plans, std::map<MessageKey, StepPlace>& sends,
                      std::map<MessageKey, StepPlace>& receives) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank)
        for (std::size_t index = 0; index < plans[rank].steps.size(); ++index) {
            const Step& step = plans[rank].steps[index];
            if (!step.is_communication()) continue;
            const int self = static_cast<int>(rank);
            if (step.peer == self || step.peer >= static_cast<int>(plans.size()))
                return fmt::format("rank {} step {}: peer {}", rank, index, step.peer);
            const bool is_send = step.kind == StepKind::send;
            const MessageKey key =
                is_send ? MessageKey{self, step.peer, step.channel} : MessageKey{step.peer, self, step.channel};
            if (!(is_send ? sends : receives).emplace(key, StepPlace{rank, index}).second)
                return fmt::format("rank {} step {}: message used twice", rank, index);
        }
    if (sends.size() != receives.size()) return "a message has no counterpart";
    for (const auto& [key, place] : sends) {
        const auto counterpart = receives.find(key);
        if (counterpart == receives.end())
            return fmt::format("rank {} step {}: nobody receives", place.rank, place.step);
        const Plan& sender = plans[place.rank];
        const Plan& receiver = plans[counterpart->second.rank];
        const Region& sent = sender.steps[place.step].source;
        const Region& received = receiver.steps[counterpart->second.step].target;
        for (const std::uint64_t segment : {std::uint64_t{0}, sender.segments() - 1})
            if (sender.region_length(sent, segment) != receiver.region_length(received, segment))
                return fmt::format("rank {} step {}: lengths of send and receive differ", place.rank, place.step);
    }
    return std::nullopt;
}

// Kahn's algorithm over the steps of all ranks, a send and its receive being one node.
Defect find_deadlock(const std::vector<Plan>& plans, const std::map<MessageKey, StepPlace>& sends,
                     const std::map<MessageKey, StepPlace>& receives) {
    std::vector<std::size_t> first(plans.size() + 1, 0);
    for (std::size_t rank = 0; rank < plans.size(); ++rank) first[rank + 1] = first[rank] + plans[rank].steps.size();
    const auto number = [&](const StepPlace& place) { return first[place.rank] + place.step; };

    std::vector<std::size_t> node(first.back());
    for (std::size_t i = 0; i < node.size(); ++i) node[i] = i;
    std::vector<std::vector<StepPlace>> members(node.size());
    for (const auto& [key, send] : sends) node[number(receives.at(key))] = number(send);
    std::vector<std::uint32_t> waiting(node.size(), 0);
    for (std::size_t rank = 0; rank < plans.size(); ++rank)
        for (std::size_t step = 0; step < plans[rank].steps.size(); ++step) {
            const std::size_t id = node[first[rank] + step];
            members[id].push_back({rank, step});
            waiting[id] += plans[rank].steps[step].dependencies;
        }

    std::vector<std::size_t> ready;
    std::size_t finished = 0;
    for (std::size_t id = 0; id < node.size(); ++id)
        if (!members[id].empty() && waiting[id] == 0) ready.push_back(id);
    while (!ready.empty()) {
        const std::size_t id = ready.back();
        ready.pop_back();
        for (const StepPlace& place : members[id]) {
            ++finished;
            const Plan& plan = plans[place.rank];
            const Step& step = plan.steps[place.step];
            for (std::uint32_t i = 0; i < step.successors; ++i) {
                const std::size_t next = node[first[place.rank] + plan.successors[step.first_successor + i]];
                if (--waiting[next] == 0) ready.push_back(next);
            }
        }
    }
    if (finished != node.size())
        return fmt::format("deadlock: {} of {} steps never run", node.size() - finished, node.size());
    return std::nullopt;
}

}  // namespace

std::optional<std::string> find_plan_defect(const std::vector<Plan>& plans) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        const Plan& plan = plans[rank];
        if (plan.units != plans[0].units || plan.segment_units != plans[0].segment_units)
            return fmt::format("rank {} cuts the message into other segments than rank 0", rank);
        Defect defect = find_structural_defect(plan);
        if (!defect) defect = find_race(plan);
        if (defect) return fmt::format("rank {}: {}", rank, *defect);
    }
    if (plans.empty() || plans[0].segments() == 0) return std::nullopt;
    std::map<MessageKey, StepPlace> sends;
    std::map<MessageKey, StepPlace> receives;
    if (Defect defect = match_messages(plans, sends, receives)) return defect;
    return find_deadlock(plans, sends, receives);
}

}  // namespace hcoll
