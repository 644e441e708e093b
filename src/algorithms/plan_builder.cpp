#include "algorithms/plan_builder.hpp"

#include <cassert>
#include <utility>

namespace hcoll {

namespace {

// MPI counts are `int`: a message of at most this many units, of any size, can be sent by every MPI.
constexpr std::uint64_t max_segment_units = std::uint64_t{1} << 30;

// A window of several segments has no more scratch than this. One segment may: its length is a setting.
constexpr std::uint64_t most_scratch_bytes = std::uint64_t{16} << 20;

bool conflict(const Step& earlier, const Step& later) {
    const bool target_read = later.has_source() && earlier.has_target() && overlap(earlier.target, later.source);
    const bool source_overwritten = earlier.has_source() && later.has_target() && overlap(earlier.source, later.target);
    const bool written_twice = earlier.has_target() && later.has_target() && overlap(earlier.target, later.target);
    return target_read || source_overwritten || written_twice;
}

}  // namespace

PlanBuilder::PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline)
    : unit_bytes_(request.unit_bytes) {
    const std::uint64_t wanted =
        pipeline.segment_bytes == 0 ? request.units : pipeline.segment_bytes / request.unit_bytes;
    plan_.units = request.units;
    plan_.segment_units = std::clamp<std::uint64_t>(wanted, 1, max_segment_units);
    plan_.segment_units = std::min(plan_.segment_units, std::max<std::uint64_t>(request.units, 1));
    plan_.sends = pipeline.sends;
    plan_.receives = pipeline.receives;
}

void PlanBuilder::send(int peer, const Region& source) {
    add({.kind = StepKind::send,
         .peer = peer,
         .channel = next_channel(StepKind::send, peer),
         .source = source,
         .target = {}});
}

void PlanBuilder::recv(int peer, const Region& target) {
    add({.kind = StepKind::recv,
         .peer = peer,
         .channel = next_channel(StepKind::recv, peer),
         .source = {},
         .target = target});
}

void PlanBuilder::reduce(const Region& left, const Region& right) {
    add({.kind = StepKind::reduce, .source = left, .target = right});
}

void PlanBuilder::copy(const Region& source, const Region& target) {
    add({.kind = StepKind::copy, .source = source, .target = target});
}

// Both ranks of a pair number the messages between them in the order of their programs, which is the same on both.
std::uint32_t PlanBuilder::next_channel(StepKind kind, int peer) const {
    const auto count = std::count_if(plan_.steps.begin(), plan_.steps.end(),
                                     [&](const Step& step) { return step.kind == kind && step.peer == peer; });
    assert(std::cmp_less(count, max_channels) && "more messages between two ranks than tags can tell apart");
    return static_cast<std::uint32_t>(count);
}

// From the latest step backwards: a conflicting step that one of the found predecessors already waits for needs no edge.
void PlanBuilder::add(Step step) {
    const std::size_t count = plan_.steps.size();
    std::vector<std::uint32_t> found;
    std::vector<char> implied(count, 0);
    for (std::size_t earlier = count; earlier-- > 0;) {
        if (implied[earlier] == 0 && conflict(plan_.steps[earlier], step)) {
            found.push_back(static_cast<std::uint32_t>(earlier));
            implied[earlier] = 1;
        }
        if (implied[earlier] != 0)
            for (const std::uint32_t before : predecessors_[earlier]) implied[before] = 1;
    }
    step.dependencies = static_cast<std::uint32_t>(found.size());
    plan_.steps.push_back(step);
    predecessors_.push_back(std::move(found));
}

Plan PlanBuilder::finish() {
    std::vector<std::vector<std::uint32_t>> after(plan_.steps.size());
    for (std::uint32_t step = 0; step < plan_.steps.size(); ++step)
        for (const std::uint32_t before : predecessors_[step]) after[before].push_back(step);
    for (std::size_t step = 0; step < after.size(); ++step) {
        plan_.steps[step].first_successor = static_cast<std::uint32_t>(plan_.successors.size());
        plan_.steps[step].successors = static_cast<std::uint32_t>(after[step].size());
        plan_.successors.insert(plan_.successors.end(), after[step].begin(), after[step].end());
    }
    // Where scratch is used, the window is what it costs: twice what can be in flight keeps the pipeline full. Where it
    // is not, a slow child should hold back nobody, and a wide window is only a few counters.
    const std::uint64_t in_flight = std::max(plan_.sends, plan_.receives);
    std::uint64_t wanted = max_window;
    if (plan_.scratch_parts != 0) {
        const std::uint64_t segment_scratch = plan_.scratch_parts * plan_.segment_units * unit_bytes_;
        wanted = std::min<std::uint64_t>({2 * in_flight, max_window, most_scratch_bytes / segment_scratch});
        wanted = std::max<std::uint64_t>(wanted, 1);
    }
    plan_.window = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plan_.segments(), 1, wanted));
    predecessors_.clear();
    return std::exchange(plan_, Plan{});
}

}  // namespace hcoll
