// Writes a plan from an algorithm told as a sequential program.
//
// The algorithm says, in any order that would be right if each step were finished before the next begins, what is sent,
// received, reduced and copied. The builder derives the DAG: a step waits for an earlier one exactly if both touch
// the same units and one of them writes, and edges that others imply are left out. So a plan has no race by
// construction, and everything that is independent in the data is independent in the execution (ADAPT).
#pragma once

#include "algorithms/plan.hpp"

namespace hcoll {

// What a plan is made for: the part of a call that every rank knows, and the caller's own rank.
struct PlanRequest {
    int ranks = 1;
    int rank = 0;
    int root = 0;  // 0 where the collective has none
    std::uint64_t units = 0;
    std::uint64_t unit_bytes = 1;  // bytes of a unit's type signature
    bool in_place = false;         // this rank's contribution is in its output; differs between ranks, messages do not
    bool ordered = false;          // the operation does not commute: operands are combined in the order of ranks
};

struct PipelineParameters {
    std::uint64_t segment_bytes = 0;  // 0: the message is one segment
    std::uint32_t sends = 2;
    std::uint32_t receives = 4;
};

class PlanBuilder {
public:
    PlanBuilder(const PlanRequest& request, const PipelineParameters& pipeline);

    // Regions that span a whole segment. Every call of scratch() makes a new part.
    Region input() const { return {Buffer::input, 0, 0, plan_.segment_units}; }
    Region output() const { return {Buffer::output, 0, 0, plan_.segment_units}; }
    Region scratch() { return {Buffer::scratch, plan_.scratch_parts++, 0, plan_.segment_units}; }

    void send(int peer, const Region& source);
    void recv(int peer, const Region& target);
    // right = left op right. The operation's left operand always comes from the lower ranks.
    void reduce(const Region& left, const Region& right);
    void copy(const Region& source, const Region& target);

    // Ends the plan; the builder is empty afterwards.
    Plan finish();

private:
    void add(Step step);
    std::uint32_t next_channel(StepKind kind, int peer) const;

    Plan plan_;
    std::uint64_t unit_bytes_;
    std::vector<std::vector<std::uint32_t>> predecessors_;
};

}  // namespace hcoll
