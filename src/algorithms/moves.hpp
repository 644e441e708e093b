// SPDX-License-Identifier: BSD-3-Clause
// A gather, told once, is a scatter as well: the same moves backwards.
//
//   gather    recv 5 -> scratch    copy input -> scratch    send scratch -> 3
//   scatter   recv 3 -> scratch    copy scratch -> output   send scratch -> 5
//
// Told backwards, a send is a receive, and input and output change places: what a rank contributes is what it gets, and
// what the root collects is what it deals out. So both share their trees, their memory and their proofs.
#pragma once

#include <functional>

#include "algorithms/block_runs.hpp"

namespace hcoll {

enum class Direction : std::uint8_t { gather, scatter };

// In the words of a gather. What is empty is left out.
class Moves {
public:
    explicit Moves(PlanBuilder& plan) : plan_(plan) {}

    void send(int peer, const Region& source) { list_.push_back({StepKind::send, peer, source, {}}); }
    void recv(int peer, const Region& target) { list_.push_back({StepKind::recv, peer, {}, target}); }
    void copy(const Region& source, const Region& target) { list_.push_back({StepKind::copy, -1, source, target}); }

    // Scratch for something that is passed on at once: one of a few parts in turn, so that a root or a forwarder holds
    // no more than it takes to keep its messages flowing.
    Region passing_scratch(const Region& like);

    PlanBuilder& plan() { return plan_; }
    // Adds the moves to the plan.
    void carry_out(Direction direction);

private:
    struct Move {
        StepKind kind;
        int peer;
        Region source;
        Region target;
    };
    PlanBuilder& plan_;
    std::vector<Move> list_;
    std::vector<Region> passing_;  // in the order of their last use
};

// A member's part in collecting its subtree in `memory`, which is in the order of the tree: its own block and the
// children's.
void collect(Moves& moves, const BlockOrder& order, const Subtree& node, const Region& own, const Region& memory);

// What reaches the root in more than one run of consecutive ranks: a message for each, or one message, which the root
// takes apart.
enum class Apart : std::uint8_t { messages, copies };

// A member's part in a gather along a tree, to the rank in the first position of the tree. `own` is the member's block;
// the root's may be in its place already.
void gather_along(Moves& moves, const BlockOrder& order, const Subtree& node, const Region& own, Apart apart);

// Where a rank's own block is in Gather and Allgather.
Region own_block(const PlanRequest& request);

// A plan in one segment for the blocks of all ranks.
Plan plan_of_moves(const PlanRequest& request, const PipelineParameters& pipeline, Direction direction,
                   const std::function<void(Moves&)>& tell);

}  // namespace hcoll
