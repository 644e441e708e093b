// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/plan_builder.hpp"

#include <bit>
#include <set>
#include <utility>

#include "base/check.hpp"

namespace hcoll {

namespace {

// Operations take counts of `int`: so many units can be combined by one call of every MPI library.
constexpr std::uint64_t most_segment_units = std::uint64_t{1} << 30;

// A window of several segments has no more scratch than this. One segment may: its length is a setting.
constexpr std::uint64_t most_scratch_bytes = std::uint64_t{16} << 20;

// A ring moves on only if two chunks may be open at once; a third one keeps it from waiting.
constexpr std::uint64_t ring_chunks_open = 3;
constexpr std::uint64_t most_segments_of_chunk = max_window / ring_chunks_open;

bool covers(const Region& outer, const Region& inner) {
    return outer.buffer == inner.buffer && outer.part == inner.part && outer.first() <= inner.first() &&
           inner.end() <= outer.end();
}

}  // namespace

Region piece_of(const Region& region, int index, int count) {
    const auto edge = [&](int i) {
        const std::uint64_t each = region.length / static_cast<std::uint64_t>(count);
        const std::uint64_t more = region.length % static_cast<std::uint64_t>(count);
        return static_cast<std::uint64_t>(i) * each + std::min(static_cast<std::uint64_t>(i), more);
    };
    return {region.buffer, region.part, region.begin + edge(index), edge(index + 1) - edge(index), region.base};
}

Region span_of(const Region& first, const Region& last) {
    return {first.buffer, first.part, first.begin, last.begin + last.length - first.begin, first.base};
}

PlanBuilder::PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline, NoPhase)
    : pipeline_(pipeline),
      unit_bytes_(request.unit_bytes),
      messages_to_(static_cast<std::size_t>(request.ranks), 0),
      messages_from_(static_cast<std::size_t>(request.ranks), 0) {
    plan_.sends = pipeline.sends;
    plan_.receives = pipeline.receives;
}

PlanBuilder::PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline)
    : PlanBuilder(request, pipeline, NoPhase{}) {
    begin_phase({.units = request.units,
                 .segment_units = std::min(wanted_segment(request.units), most_segment_units),
                 .chunk_units = request.units});
}

void PlanBuilder::begin_whole(std::uint64_t units) {
    begin_phase({.units = units, .segment_units = std::max<std::uint64_t>(units, 1), .chunk_units = units});
}

void PlanBuilder::begin_ring(std::uint64_t origin, std::uint64_t area_units, std::uint64_t chunk_units, int chunks,
                             int begin_chunk) {
    check(chunks > 1 && begin_chunk >= 0 && begin_chunk < chunks, "a ring has at least two ranks");
    const std::uint64_t least = (chunk_units + most_segments_of_chunk - 1) / most_segments_of_chunk;
    begin_phase({.origin = origin,
                 .units = area_units,
                 .segment_units = std::max({wanted_segment(chunk_units), least, std::uint64_t{1}}),
                 .chunks = static_cast<std::uint32_t>(chunks),
                 .begin_chunk = static_cast<std::uint32_t>(begin_chunk),
                 .chunk_units = std::max<std::uint64_t>(chunk_units, 1)});
}

std::uint64_t PlanBuilder::ring_chunk_units(std::uint64_t area_units, int chunks) const {
    const std::uint64_t most = std::max<std::uint64_t>(most_scratch_bytes / ring_chunks_open / unit_bytes_, 1);
    const std::uint64_t each =
        (area_units + static_cast<std::uint64_t>(chunks) - 1) / static_cast<std::uint64_t>(chunks);
    const std::uint64_t blocks = std::max<std::uint64_t>((each + most - 1) / most, 1);
    return (each + blocks - 1) / blocks;
}

// A segment as the parameters want it, of at most `units`.
std::uint64_t PlanBuilder::wanted_segment(std::uint64_t units) const {
    const std::uint64_t wanted = pipeline_.segment_bytes == 0 ? units : pipeline_.segment_bytes / unit_bytes_;
    return std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(units, 1));
}

void PlanBuilder::begin_phase(const Phase& phase) {
    end_phase();
    plan_.phases.push_back(phase);
    this->phase().first_step = static_cast<std::uint32_t>(plan_.steps.size());
    positions_ = any_chunk;
}

// Of two chunks, none is in the middle.
void PlanBuilder::at(std::uint8_t positions) {
    positions_ = phase().chunks == 2 ? positions & ~middle_chunk : positions;
}

Region PlanBuilder::scratch(const Region& like) {
    Region region{Buffer::scratch, 0, like.begin, like.length, like.begin};
    phase().scratch_part_units = std::max(phase().scratch_part_units, like.length);
    if (free_parts_.empty()) {
        region.part = phase().scratch_parts++;
    } else {
        // The one that has been free for longest: what still uses it is the least likely to hold up its next use.
        region.part = free_parts_.front();
        free_parts_.erase(free_parts_.begin());
    }
    return region;
}

void PlanBuilder::send(int peer, const Region& source) { send_after(no_step, peer, source); }

int PlanBuilder::send_after(int earlier, int peer, const Region& source) {
    if (source.length == 0 || positions_ == 0) return earlier;
    const std::uint32_t channel = next_channel(StepKind::send, peer);
    add({.kind = StepKind::send, .peer = peer, .channel = channel, .source = source, .target = {}}, earlier);
    return static_cast<int>(predecessors_.size()) - 1;
}

void PlanBuilder::recv(int peer, const Region& target) {
    if (target.length == 0 || positions_ == 0) return;
    const std::uint32_t channel = next_channel(StepKind::recv, peer);
    add({.kind = StepKind::recv, .peer = peer, .channel = channel, .source = {}, .target = target});
}

void PlanBuilder::exchange(int to, const Region& source, int from, const Region& target) {
    send(to, source);
    recv(from, target);
    if (source.length != 0 && target.length != 0 && positions_ != 0) (plan_.steps.end() - 2)->exchanges = true;
}

void PlanBuilder::reduce(const Region& left, const Region& right) {
    if (left.length != 0 && positions_ != 0) add({.kind = StepKind::reduce, .source = left, .target = right});
}

void PlanBuilder::copy(const Region& source, const Region& target) {
    if (source.length != 0 && positions_ != 0) add({.kind = StepKind::copy, .source = source, .target = target});
}

void PlanBuilder::collective(Collective which, int root, const Region& source, const Region& target) {
    add({.kind = StepKind::collective, .collective = which, .peer = root, .source = source, .target = target});
}

// Both ranks of a pair number the messages between them in the order of their programs, which is the same on both. Steps
// of a ring that are for chunks of different positions are one message.
std::uint32_t PlanBuilder::next_channel(StepKind kind, int peer) {
    auto& used = (kind == StepKind::send ? messages_to_ : messages_from_)[static_cast<std::size_t>(peer)];
    if (phase().is_ring()) {
        std::uint64_t of_phase = 0;
        std::uint64_t taken = 0;
        for (std::size_t index = phase().first_step; index < plan_.steps.size(); ++index) {
            const Step& step = plan_.steps[index];
            if (step.kind != kind || step.peer != peer) continue;
            of_phase |= std::uint64_t{1} << step.channel;
            if ((step.positions & positions_) != 0) taken |= std::uint64_t{1} << step.channel;
        }
        if (const std::uint64_t free = of_phase & ~taken; free != 0)
            return static_cast<std::uint32_t>(std::countr_zero(free));
    }
    check(used < max_channels, "more messages between two ranks than tags can tell apart");
    return used++;
}

void PlanBuilder::add(Step step, int after) {
    step.positions = positions_;
    std::vector<std::uint32_t> found;
    if (step.has_source()) find_conflicts(writes_, step.source, step, false, found);
    if (step.has_target()) {
        find_conflicts(reads_, step.target, step, true, found);
        find_conflicts(writes_, step.target, step, true, found);
    }
    if (after != no_step) found.push_back(static_cast<std::uint32_t>(after));
    remove_implied(found);
    step.dependencies = static_cast<std::uint32_t>(found.size());
    const auto index = static_cast<std::uint32_t>(predecessors_.size());
    if (step.has_source()) reads_.push_back({step.source, index, step.positions});
    // What a reduction combines with, it reads as well; but who waits for the writer needs not wait for the reader.
    if (step.has_target()) writes_.push_back({step.target, index, step.positions});
    plan_.steps.push_back(step);
    predecessors_.push_back(std::move(found));
}

// Appends the steps whose accesses conflict. Those that are overwritten as a whole are forgotten: whoever conflicts with
// them later conflicts with their successor, too.
void PlanBuilder::find_conflicts(std::vector<Access>& accesses, const Region& region, const Step& step, bool is_write,
                                 std::vector<std::uint32_t>& found) {
    std::erase_if(accesses, [&](const Access& access) {
        if ((access.positions & step.positions) == 0 || !overlap(access.region, region)) return false;
        found.push_back(access.step);
        return is_write && (access.positions & ~step.positions) == 0 && covers(region, access.region);
    });
}

// Leaves out the steps that another one of them waits for anyhow.
void PlanBuilder::remove_implied(std::vector<std::uint32_t>& found) const {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() < 2) return;
    const std::uint32_t first = found.front();
    std::vector<char> implied(found.back() - first, 0);
    std::vector<std::uint32_t> kept;
    for (std::uint32_t step = found.back();; --step) {
        const bool is_found = std::binary_search(found.begin(), found.end(), step);
        const bool is_implied = step != found.back() && implied[step - first] != 0;
        if (is_found && !is_implied) kept.push_back(step);
        if (is_found || is_implied)
            for (const std::uint32_t before : predecessors_[step])
                if (before >= first) implied[before - first] = 1;
        if (step == first) break;
    }
    found.assign(kept.rbegin(), kept.rend());
}

void PlanBuilder::end_phase() {
    if (plan_.phases.empty()) return;
    Phase& ended = phase();
    ended.steps = static_cast<std::uint32_t>(plan_.steps.size()) - ended.first_step;
    std::vector<std::vector<std::uint32_t>> after(ended.steps);
    for (std::uint32_t step = 0; step < ended.steps; ++step)
        for (const std::uint32_t before : predecessors_[step]) after[before].push_back(step);
    for (std::uint32_t index = 0; index < ended.steps; ++index) {
        Step& step = plan_.steps[ended.first_step + index];
        step.first_successor = static_cast<std::uint32_t>(plan_.successors.size());
        step.successors = static_cast<std::uint32_t>(after[index].size());
        plan_.successors.insert(plan_.successors.end(), after[index].begin(), after[index].end());
    }
    // Where scratch is used, the window is what it costs: twice what can be in flight keeps the pipeline full. Where it
    // is not, a slow child should hold back nobody, and a wide window is only a few counters.
    std::uint64_t wanted = max_window;
    if (ended.is_ring()) {
        wanted = ring_chunks_open * ended.segments_per_chunk();
    } else if (ended.scratch_parts != 0) {
        const std::uint64_t in_flight = std::max(plan_.sends, plan_.receives);
        const std::uint64_t segment_scratch =
            std::max<std::uint64_t>(ended.scratch_parts * ended.scratch_part_units * unit_bytes_, 1);
        wanted = std::min<std::uint64_t>({2 * in_flight, max_window, most_scratch_bytes / segment_scratch});
        wanted = std::max<std::uint64_t>(wanted, 1);
    }
    // A ring would come to a halt.
    if (pipeline_.window != 0 && !ended.is_ring()) wanted = std::min<std::uint64_t>(wanted, pipeline_.window);
    ended.window = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ended.segments(), 1, wanted));
    predecessors_.clear();
    reads_.clear();
    writes_.clear();
    free_parts_.clear();
}

// The steps of a plan of one segment one after another: each as early as it can be, but receives, for which a rank has to wait, only
// when nothing else is left to do, and then the one that the first of the others waits for. Those of an exchange follow its send.
void PlanBuilder::find_sequence() {
    if (plan_.phases.size() != 1 || plan_.phases.front().is_ring() || plan_.phases.front().segments() != 1) return;
    const Phase& only = plan_.phases.front();
    const Segment segment = only.segment(0);
    const auto count = static_cast<std::uint32_t>(plan_.steps.size());
    std::vector<std::uint32_t> waiting(count);
    std::vector<std::uint32_t> sends_over(count, 0);
    std::uint32_t sends = 0;
    std::vector<std::uint32_t> needed_by(
        count, count);  // the first step that is no receive and waits for it, at whatever remove
    for (std::uint32_t index = count; index-- > 0;) {
        const Step& step = plan_.steps[index];
        if (step.kind == StepKind::collective) return;
        waiting[index] = step.dependencies;
        if (step.kind != StepKind::recv) needed_by[index] = index;
        for (std::uint32_t i = 0; i < step.successors; ++i)
            needed_by[index] = std::min(needed_by[index], needed_by[plan_.successors[step.first_successor + i]]);
    }
    std::set<std::uint32_t> ready;
    std::set<std::pair<std::uint32_t, std::uint32_t>> receives;  // that are ready, by who needs them
    const auto release = [&](std::uint32_t index) {
        if (plan_.steps[index].kind == StepKind::recv)
            receives.emplace(needed_by[index], index);
        else
            ready.insert(index);
    };
    for (std::uint32_t index = 0; index < count; ++index)
        if (waiting[index] == 0) release(index);
    auto goes_with_last = receives.end();  // what the last step is an exchange with
    while (!ready.empty() || !receives.empty()) {
        const bool receives_now = goes_with_last != receives.end() || ready.empty();
        const auto receive = goes_with_last != receives.end() ? goes_with_last : receives.begin();
        const std::uint32_t index =
            receives_now ? receives.extract(receive).value().second : ready.extract(ready.begin()).value();
        const Step& step = plan_.steps[index];
        plan_.sequence.push_back({.kind = step.kind,
                                  .source_buffer = step.source.buffer,
                                  .target_buffer = step.target.buffer,
                                  .peer = step.peer,
                                  .tag = message_tag(step.channel, 0),
                                  .sends_over = sends_over[index],
                                  .number = index,
                                  .units = Phase::region_length(step.has_target() ? step.target : step.source, segment),
                                  .source = step.has_source() ? only.region_offset(step.source, segment) : 0,
                                  .target = step.has_target() ? only.region_offset(step.target, segment) : 0});
        if (step.kind == StepKind::send) ++sends;
        if (step.kind == StepKind::recv)
            plan_.steps_to_last_receive = static_cast<std::uint32_t>(plan_.sequence.size());
        if (step.is_message())
            plan_.longest_message = std::max({plan_.longest_message, step.source.length, step.target.length});
        for (std::uint32_t i = 0; i < step.successors; ++i) {
            const std::uint32_t next = plan_.successors[step.first_successor + i];
            if (step.kind == StepKind::send) sends_over[next] = sends;
            if (--waiting[next] == 0) release(next);
        }
        goes_with_last = receives.end();
        if (step.exchanges && sends_over[index + 1] < sends)
            goes_with_last = receives.find({needed_by[index + 1], index + 1});
        plan_.sequence.back().is_exchange = goes_with_last != receives.end();
    }
    for (std::uint32_t i = 0; i + 1 < plan_.steps_to_last_receive; ++i) plan_.sequence[i].is_before_receive = true;
}

Plan PlanBuilder::finish() {
    end_phase();
    find_sequence();
    return std::exchange(plan_, Plan{});
}

}  // namespace hcoll
