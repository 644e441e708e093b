// SPDX-License-Identifier: BSD-3-Clause
// The plan: what one rank does in one collective, as data.
//
// A plan is a small DAG of steps `send | recv | reduce | copy | collective`. It holds no pointer, no MPI handle and no
// clock, so the same plan is checked without running, simulated with all its ranks in one process, priced by a cost model,
// and executed for real.
//
//   unit      the indivisible piece of the message: one byte for Bcast and the like, one element for reductions
//   phase     a loop over segments of an area of the message; a rank's phases follow one another
//   segment   a run of consecutive units; segments flow through a phase as a pipeline. The steps are a template for one
//             segment, so that a plan's size depends neither on the length of the message nor on that of a ring
//   chunk     in a ring, the part of the area (or of a block of it) that belongs to one rank
//   window    how many segments may be open at once; segment k is opened, in order, once segment k - window is complete
//   sends     how many instances of one send step may be in flight (ADAPT's N; Luo 2020, chapter 3)
//   receives  the same for one recv step (ADAPT's M > N)
//
// What orders two steps of one segment is an edge of the DAG. What orders two segments is the window, and, for one and
// the same send or recv step, its number in flight. Nothing else does: segments and children are independent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hcoll {

enum class Collective : std::uint8_t { bcast, reduce, allreduce, barrier, gather, scatter, allgather };
// Does every rank wait for every other one in it, whatever runs it? Where there are any bytes.
constexpr bool waits_for_all(Collective collective) {
    return collective == Collective::barrier || collective == Collective::allreduce ||
           collective == Collective::allgather;
}

// `collective` is one of the MPI library's own, non-blocking, among the leaders of all nodes.
enum class StepKind : std::uint8_t { send, recv, reduce, copy, collective };

// Input is what the caller contributes and is never written; output is what he gets back, and also what he contributes
// where a call is in place (and in Bcast). Scratch belongs to the run and has no content at its start.
enum class Buffer : std::uint8_t { input, output, scratch };

// Memory for `length` units from unit `begin` of the current segment; in the last, shorter segment only for those that
// exist. Scratch is divided into parts of equal length, and there is one set of parts for every segment of the window; the
// first unit of the part is for unit `base` of the segment.
struct Region {
    Buffer buffer = Buffer::output;
    std::uint32_t part = 0;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    std::uint64_t base = 0;

    std::uint64_t first() const { return begin - base; }
    std::uint64_t end() const { return begin - base + length; }
    friend bool operator==(const Region&, const Region&) = default;
};

inline bool overlap(const Region& a, const Region& b) {
    return a.buffer == b.buffer && a.part == b.part && a.first() < b.end() && b.first() < a.end();
}

// Where a chunk stands in the order in which a ring handles them. A step that is not for the chunk's position does
// nothing there. Outside of rings every step is for every segment.
enum Position : std::uint8_t { first_chunk = 1, middle_chunk = 2, last_chunk = 4, any_chunk = 7 };

// The number of messages that one rank may send to one other rank in one segment, and of segments that messages can be
// told apart by. Both are part of a message's tag (see message_tag), and a window is never wider than the latter.
inline constexpr std::uint32_t max_channels = 64;
inline constexpr std::uint32_t max_window = 64;

// In a non-blocking collective, what a calling rank is to run by itself: nothing; the steps that come first, in the call; or
// those that come last, when it waits. The rest runs in the background ("split-tree", algorithms/cut.hpp).
enum class CallersPart : std::uint8_t { none, first, last };

struct Step {
    StepKind kind = StepKind::copy;
    std::uint8_t positions = any_chunk;
    Collective collective = Collective::bcast;  // collective only: which
    bool by_caller = false;                     // it is in the callers' part
    // Of a send: all ranks send and receive here at the same time, and the next step is what this one receives.
    bool exchanges = false;
    std::int32_t peer = -1;  // rank in the communicator (send, recv); the root's index among the leaders (collective)
    std::uint32_t channel = 0;  // which message between the two in this segment
    // A collective contributes its source and receives into its target, which is another region.
    Region source;  // send: the data; reduce: the left operand; copy: from
    Region target;  // recv: the data; reduce: the right operand and the result; copy: to
    std::uint32_t first_successor = 0;
    std::uint32_t successors = 0;
    std::uint32_t dependencies = 0;  // how many steps of the same segment this one waits for

    bool is_message() const { return kind == StepKind::send || kind == StepKind::recv; }
    // Is it carried out by the transport?
    bool is_communication() const { return is_message() || kind == StepKind::collective; }
    bool has_source() const { return source.length != 0; }
    bool has_target() const { return target.length != 0; }
};

// One segment of a phase: which units of input and output it covers.
struct Segment {
    std::uint64_t number = 0;  // in the order in which this rank opens them
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
    std::uint8_t position = any_chunk;
};

struct Phase {
    std::uint32_t first_step = 0;  // its steps in the plan's list
    std::uint32_t steps = 0;
    std::uint64_t origin = 0;  // of the area, in units of input and output
    std::uint64_t units = 0;   // of the area
    std::uint64_t segment_units = 0;
    std::uint32_t window = 1;
    std::uint32_t scratch_parts = 0;
    std::uint64_t scratch_part_units = 0;
    // A ring: the area is cut into blocks of one chunk for each of its ranks. In every block this rank begins with the same
    // chunk and goes on downwards, modulo their number.
    std::uint32_t chunks = 1;
    std::uint32_t begin_chunk = 0;
    std::uint64_t chunk_units = 0;  // the last block's may be shorter or empty

    bool is_ring() const { return chunks > 1; }
    std::uint64_t segments_per_chunk() const { return (chunk_units + segment_units - 1) / segment_units; }
    std::uint64_t segments() const {
        if (steps == 0 || units == 0) return 0;
        const std::uint64_t block = chunks * chunk_units;
        return (units + block - 1) / block * chunks * segments_per_chunk();
    }
    Segment segment(std::uint64_t number) const {
        if (!is_ring()) {
            const std::uint64_t begin = number * segment_units;
            return {number, origin + begin, std::min(segment_units, units - begin), any_chunk};
        }
        const std::uint64_t per_chunk = segments_per_chunk();
        const std::uint64_t turn = number / per_chunk % chunks;
        const std::uint64_t first_of_block = number / per_chunk - turn;
        const std::uint64_t chunk = first_of_block + (begin_chunk + chunks - turn) % chunks;
        const std::uint64_t end = std::min(units, (chunk + 1) * chunk_units);
        const std::uint64_t begin = std::min(chunk * chunk_units + number % per_chunk * segment_units, end);
        const Position position = turn == 0 ? first_chunk : turn == chunks - 1 ? last_chunk : middle_chunk;
        return {number, origin + begin, std::min(segment_units, end - begin), position};
    }
    std::uint64_t scratch_units() const { return std::uint64_t{window} * scratch_parts * scratch_part_units; }

    // How many units `region` has in `segment`.
    static std::uint64_t region_length(const Region& region, const Segment& segment) {
        return region.begin >= segment.length ? 0 : std::min(region.length, segment.length - region.begin);
    }
    // The unit of its buffer at which `region` begins in `segment`.
    std::uint64_t region_offset(const Region& region, const Segment& segment) const {
        if (region.buffer != Buffer::scratch) return segment.begin + region.begin;
        return ((segment.number % window) * scratch_parts + region.part) * scratch_part_units + region.first();
    }
    // The number that both ranks of a pair give to a message: the sender's number of the segment. A ring's next rank
    // handles a chunk one turn later.
    std::uint64_t message_number(const Step& step, std::uint64_t segment) const {
        return step.kind == StepKind::recv && is_ring() ? segment - segments_per_chunk() : segment;
    }
};

// A step of a short plan that is run in order, with all that is to be known of it: offsets in units from the first one of a buffer.
struct InOrderStep {
    StepKind kind = StepKind::copy;
    bool is_before_receive = false;  // a later step receives
    bool is_exchange = false;        // of a send: the next step is the receive that goes with it
    Buffer source_buffer = Buffer::output;
    Buffer target_buffer = Buffer::output;
    std::int32_t peer = -1;
    std::uint32_t tag = 0;
    std::uint32_t sends_over = 0;  // so many of the sends before it have to be over first
    std::uint32_t number = 0;      // of the step, in the plan
    std::uint64_t units = 0;
    std::uint64_t source = 0;
    std::uint64_t target = 0;
};

struct Plan {
    std::uint32_t sends = 1;
    std::uint32_t receives = 1;
    CallersPart callers_part = CallersPart::none;
    // Of a plan of one segment without anything that only a pipeline or the background has: the order in which its steps may be run
    // one after another (progress/engine/in_order.hpp), how many of them there are up to the last receive, and the length of the
    // longest message in units. Others have none.
    std::vector<InOrderStep> sequence;
    std::uint32_t steps_to_last_receive = 0;
    std::uint64_t longest_message = 0;
    std::vector<Phase> phases;
    std::vector<Step> steps;
    std::vector<std::uint32_t> successors;  // counted from the first step of the phase

    std::uint64_t scratch_units() const {
        std::uint64_t most = 0;
        for (const Phase& phase : phases) most = std::max(most, phase.scratch_units());
        return most;
    }
    // How many instances of `step` may be in flight; 0 where nothing bounds them.
    std::uint32_t in_flight_limit(const Step& step) const {
        if (step.kind == StepKind::send) return sends;
        return step.kind == StepKind::recv ? receives : 0;
    }
    // How often steps are run, of the callers' part or of the rest.
    std::uint64_t instances(bool by_caller) const {
        std::uint64_t count = 0;
        for (const Phase& phase : phases)
            for (std::uint32_t step = 0; step < phase.steps; ++step)
                if (steps[phase.first_step + step].by_caller == by_caller) count += phase.segments();
        return count;
    }
    // What keeping this plan costs.
    std::size_t memory_bytes() const {
        return sizeof(Plan) + phases.capacity() * sizeof(Phase) + steps.capacity() * sizeof(Step) +
               successors.capacity() * sizeof(std::uint32_t) + sequence.capacity() * sizeof(InOrderStep);
    }
};

// What tells a message apart from the others of the same collective between the same two ranks. Two segments that share
// a tag are `max_window` apart: the later one is opened only after the earlier one is complete, on both sides, so that
// MPI's order of messages with equal tags is the order of the segments.
inline constexpr std::uint32_t tags_per_collective = max_channels * max_window;
inline std::uint32_t message_tag(std::uint32_t channel, std::uint64_t number) {
    return channel * max_window + static_cast<std::uint32_t>(number % max_window);
}

}  // namespace hcoll
