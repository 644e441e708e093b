// SPDX-License-Identifier: BSD-3-Clause
// Writes a plan from an algorithm told as a sequential program.
//
// The algorithm says, in any order that would be right if each step were finished before the next begins, what is sent,
// received, reduced and copied. The builder derives the DAG: a step waits for an earlier one exactly if both touch
// the same units and one of them writes, and edges that others imply are left out. So a plan has no race by
// construction, and everything that is independent in the data is independent in the execution (ADAPT).
#pragma once

#include "algorithms/plan.hpp"
#include "topology/placement.hpp"

namespace hcoll {

// What a plan is made for: the part of a call that every rank knows, and the caller's own rank.
struct PlanRequest {
    int ranks = 1;
    int rank = 0;
    int root = 0;                  // 0 where the collective has none
    std::uint64_t units = 0;       // of the message; of one rank's part of it in Gather, Scatter and Allgather
    std::uint64_t unit_bytes = 1;  // bytes of a unit's type signature
    bool in_place = false;         // this rank's contribution is in its output; differs between ranks, messages do not
    bool ordered = false;          // the operation does not commute: operands are combined in the order of ranks
    const Placement* placement = nullptr;  // of the communicator; only algorithms that ask where ranks sit need it
};

struct PipelineParameters {
    std::uint64_t segment_bytes = 0;  // 0: the message is one segment
    std::uint32_t sends = 2;
    std::uint32_t receives = 4;
    std::uint32_t window = 0;  // most segments that may be open at once, but in rings; 0: what pays
};

// The `index`-th of `count` nearly equal pieces of a region; may be empty.
Region piece_of(const Region& region, int index, int count);
// From the first of two pieces of a region to the end of the second.
Region span_of(const Region& first, const Region& last);

class PlanBuilder {
public:
    // Begins with a phase for the whole message, cut into segments.
    PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline);
    // Begins without a phase.
    struct NoPhase {};
    PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline, NoPhase);

    // Later phases; each begins when this rank has finished the one before. All ranks have the same phases, with or
    // without steps.
    //
    // `units` in one piece, from the beginning of input and output.
    void begin_whole(std::uint64_t units);
    // A ring over `area_units` from `origin`, cut into chunks of `chunk_units` for each of `chunks` ranks (at least 2),
    // and once more where that is not all. This rank handles chunk `begin_chunk` first, then the one below, and so on: it
    // sends to the next rank, which handles the same chunk one turn later.
    void begin_ring(std::uint64_t origin, std::uint64_t area_units, std::uint64_t chunk_units, int chunks,
                    int begin_chunk);
    // The longest chunk that a ring with scratch should have, so that what it holds stays bounded.
    std::uint64_t ring_chunk_units(std::uint64_t area_units, int chunks) const;
    // In a ring, the steps that follow are for chunks of these positions.
    void at(std::uint8_t positions);

    // Of send_after: none.
    static constexpr int no_step = -1;

    std::uint64_t segment_units() const { return phase().segment_units; }
    // Regions that span a whole segment.
    Region input() const { return {Buffer::input, 0, 0, segment_units()}; }
    Region output() const { return {Buffer::output, 0, 0, segment_units()}; }
    // Memory of this phase for the same units as `like` (a whole segment, if not said). What was given back is given out
    // again.
    Region scratch() { return scratch(output()); }
    Region scratch(const Region& like);
    void release(const Region& scratch) { free_parts_.push_back(scratch.part); }

    // What is empty is left out.
    void send(int peer, const Region& source);
    // The same, once an earlier step of this segment is done (where `earlier` is one); returns its own number, `earlier` if left out.
    int send_after(int earlier, int peer, const Region& source);
    void recv(int peer, const Region& target);
    // A send and a receive that wait for each other in no rank's plan: whoever it sends to, and receives from, is in an exchange, too.
    void exchange(int to, const Region& source, int from, const Region& target);
    // right = left op right. The operation's left operand always comes from the lower ranks.
    void reduce(const Region& left, const Region& right);
    void copy(const Region& source, const Region& target);
    // The MPI library's own collective among the node leaders; `root` counts leaders. At most one in a plan. Of a Reduce,
    // all leaders have a target, which is spoilt where they are not the root.
    void collective(Collective which, int root, const Region& source, const Region& target);

    // Ends the plan; the builder is empty afterwards.
    Plan finish();

private:
    struct Access {
        Region region;
        std::uint32_t step;
        std::uint8_t positions;
    };
    const Phase& phase() const { return plan_.phases.back(); }
    Phase& phase() { return plan_.phases.back(); }
    std::uint64_t wanted_segment(std::uint64_t units) const;
    void begin_phase(const Phase& phase);
    void end_phase();
    void find_sequence();
    std::uint32_t next_channel(StepKind kind, int peer);
    void add(Step step, int after = no_step);
    static void find_conflicts(std::vector<Access>& accesses, const Region& region, const Step& step, bool is_write,
                               std::vector<std::uint32_t>& found);
    void remove_implied(std::vector<std::uint32_t>& found) const;

    Plan plan_;
    PipelineParameters pipeline_;
    std::uint64_t unit_bytes_;
    std::uint8_t positions_ = any_chunk;
    std::vector<std::uint8_t> messages_to_;    // by rank: channels used
    std::vector<std::uint8_t> messages_from_;  // by rank
    // Of the phase:
    std::vector<std::vector<std::uint32_t>> predecessors_;
    std::vector<Access> reads_;
    std::vector<Access> writes_;
    std::vector<std::uint32_t> free_parts_;
};

}  // namespace hcoll
