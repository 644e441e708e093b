// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/moves.hpp"

namespace hcoll {

namespace {

constexpr std::size_t most_passing = 4;

Region mirrored(Region region) {
    if (region.buffer != Buffer::scratch)
        region.buffer = region.buffer == Buffer::input ? Buffer::output : Buffer::input;
    return region;
}

void collect_by_rank(Moves& moves, const BlockOrder& order, const Subtree& node, const Region& own, Apart apart) {
    const Region place = order.by_rank(Buffer::output, {node.run.first, node.run.first + 1});
    if (!(own == place)) moves.copy(own, place);
    for (const Run& child : node.children) {
        const std::vector<Run> runs = order.consecutive(child);
        const int peer = order.rank(child.first);
        if (runs.size() == 1 || apart == Apart::messages) {
            for (const Run& run : runs) moves.recv(peer, order.by_rank(Buffer::output, run));
            continue;
        }
        const Region passing = moves.passing_scratch(order.in_order(moves.plan().output(), child));
        moves.recv(peer, passing);
        for (const Run& run : runs) moves.copy(order.in_order(passing, run), order.by_rank(Buffer::output, run));
    }
}

}  // namespace

Region Moves::passing_scratch(const Region& like) {
    if (passing_.size() < most_passing) {
        passing_.push_back(plan_.scratch(like));
        return passing_.back();
    }
    std::rotate(passing_.begin(), passing_.begin() + 1, passing_.end());
    // Parts have the length of the longest: whoever takes one over asks for its own.
    Region& taken = passing_.back();
    plan_.release(taken);
    taken = plan_.scratch(like);
    return taken;
}

void Moves::carry_out(Direction direction) {
    const bool is_scatter = direction == Direction::scatter;
    if (is_scatter) std::reverse(list_.begin(), list_.end());
    for (const Move& move : list_) {
        if (move.kind == StepKind::copy) {
            if (is_scatter)
                plan_.copy(mirrored(move.target), mirrored(move.source));
            else
                plan_.copy(move.source, move.target);
        } else if (move.kind == StepKind::send) {
            if (is_scatter)
                plan_.recv(move.peer, mirrored(move.source));
            else
                plan_.send(move.peer, move.source);
        } else if (is_scatter) {
            plan_.send(move.peer, mirrored(move.target));
        } else {
            plan_.recv(move.peer, move.target);
        }
    }
    list_.clear();
}

void collect(Moves& moves, const BlockOrder& order, const Subtree& node, const Region& own, const Region& memory) {
    const int self = node.run.first;
    const Region place = order.in_order(memory, {self, self + 1});
    if (!(own == place)) moves.copy(own, place);
    for (const Run& child : node.children) moves.recv(order.rank(child.first), order.in_order(memory, child));
}

void gather_along(Moves& moves, const BlockOrder& order, const Subtree& node, const Region& own, Apart apart) {
    if (node.parent < 0) return collect_by_rank(moves, order, node, own, apart);
    const int parent = order.rank(node.parent);
    if (node.children.empty()) return moves.send(parent, own);
    const Region memory = order.scratch(moves.plan(), node.run);
    collect(moves, order, node, own, memory);
    const bool is_apart = node.parent == 0 && apart == Apart::messages;
    for (const Run& run : is_apart ? order.consecutive(node.run) : std::vector{node.run})
        moves.send(parent, order.in_order(memory, run));
}

Region own_block(const PlanRequest& request) {
    const std::uint64_t place = request.in_place ? static_cast<std::uint64_t>(request.rank) * request.units : 0;
    return {request.in_place ? Buffer::output : Buffer::input, 0, place, request.units};
}

Plan plan_of_moves(const PlanRequest& request, const PipelineParameters& pipeline, Direction direction,
                   const std::function<void(Moves&)>& tell) {
    PlanBuilder plan(request, pipeline, PlanBuilder::NoPhase{});
    plan.begin_whole(request.units * static_cast<std::uint64_t>(request.ranks));
    Moves moves(plan);
    tell(moves);
    moves.carry_out(direction);
    return plan.finish();
}

}  // namespace hcoll
