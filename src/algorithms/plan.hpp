// The plan: what one rank does in one collective, as data.
//
// A plan is a small DAG of steps `send | recv | reduce | copy`. It holds no pointer, no MPI handle and no clock, so the
// same plan is checked without running, simulated with all its ranks in one process, and executed for real.
//
//   unit      the indivisible piece of the message: one byte for Bcast, one element for reductions
//   segment   a run of `segment_units` consecutive units; segments flow through the plan as a pipeline. The steps below
//             are a template for one segment, so a plan's size never depends on the length of the message
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

enum class StepKind : std::uint8_t { send, recv, reduce, copy };

// Input is what the caller contributes and is never written; output is what he gets back, and also what he contributes
// where a call is in place (and in Bcast). Scratch belongs to the run and has no content at its start.
enum class Buffer : std::uint8_t { input, output, scratch };

// `length` units from unit `begin` of the current segment; in the last, shorter segment only those that exist. Scratch is
// divided into parts, each as long as a segment, and there is one set of parts for every segment of the window.
struct Region {
    Buffer buffer = Buffer::output;
    std::uint32_t part = 0;
    std::uint64_t begin = 0;
    std::uint64_t length = 0;

    friend bool operator==(const Region&, const Region&) = default;
};

inline bool overlap(const Region& a, const Region& b) {
    return a.buffer == b.buffer && a.part == b.part && a.begin < b.begin + b.length && b.begin < a.begin + a.length;
}

// The number of messages that one rank may send to one other rank in one segment, and of segments that messages can be
// told apart by. Both are part of a message's tag (see message_tag), and a window is never wider than the latter.
inline constexpr std::uint32_t max_channels = 16;
inline constexpr std::uint32_t max_window = 64;

struct Step {
    StepKind kind = StepKind::copy;
    std::int32_t peer = -1;     // rank in the communicator; send and recv only
    std::uint32_t channel = 0;  // which message between the two in this segment
    Region source;              // send: the data; reduce: the left operand; copy: from
    Region target;              // recv: the data; reduce: the right operand and the result; copy: to
    std::uint32_t first_successor = 0;
    std::uint32_t successors = 0;
    std::uint32_t dependencies = 0;  // how many steps of the same segment this one waits for

    bool is_communication() const { return kind == StepKind::send || kind == StepKind::recv; }
    bool reads_target() const { return kind == StepKind::reduce; }
    bool has_source() const { return kind != StepKind::recv; }
    bool has_target() const { return kind != StepKind::send; }
};

struct Plan {
    std::uint64_t units = 0;
    std::uint64_t segment_units = 0;
    std::uint32_t window = 1;
    std::uint32_t sends = 1;
    std::uint32_t receives = 1;
    std::uint32_t scratch_parts = 0;
    std::vector<Step> steps;
    std::vector<std::uint32_t> successors;

    std::uint64_t segments() const { return segment_units == 0 ? 0 : (units + segment_units - 1) / segment_units; }
    std::uint64_t segment_length(std::uint64_t segment) const {
        return std::min(segment_units, units - segment * segment_units);
    }
    std::uint64_t scratch_units() const { return std::uint64_t{window} * scratch_parts * segment_units; }

    // How many units `region` has in `segment`.
    std::uint64_t region_length(const Region& region, std::uint64_t segment) const {
        const std::uint64_t available = segment_length(segment);
        return region.begin >= available ? 0 : std::min(region.length, available - region.begin);
    }
    // The unit of its buffer at which `region` begins in `segment`.
    std::uint64_t region_offset(const Region& region, std::uint64_t segment) const {
        if (region.buffer != Buffer::scratch) return segment * segment_units + region.begin;
        return ((segment % window) * scratch_parts + region.part) * segment_units + region.begin;
    }
    // How many instances of `step` may be in flight; 0 where nothing bounds them.
    std::uint32_t in_flight_limit(const Step& step) const {
        if (step.kind == StepKind::send) return sends;
        return step.kind == StepKind::recv ? receives : 0;
    }
    // What keeping this plan costs.
    std::size_t memory_bytes() const {
        return sizeof(Plan) + steps.capacity() * sizeof(Step) + successors.capacity() * sizeof(std::uint32_t);
    }
};

// What tells a message apart from the others of the same collective between the same two ranks. Two segments that share
// a tag are `max_window` apart: the later one is opened only after the earlier one is complete, on both sides, so that
// MPI's order of messages with equal tags is the order of the segments.
inline constexpr std::uint32_t tags_per_collective = max_channels * max_window;
inline std::uint32_t message_tag(std::uint32_t channel, std::uint64_t segment) {
    return channel * max_window + static_cast<std::uint32_t>(segment % max_window);
}

}  // namespace hcoll
