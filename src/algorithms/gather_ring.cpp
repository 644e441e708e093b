// SPDX-License-Identifier: BSD-3-Clause
// Gather and Scatter around both sides of the ring of ranks: messages go between neighbors only.
//
//   root 1 of 6      1 <- 2 <- 3 <- 4        2 sends its own block, then passes on 3's and 4's
//                    1 <- 0 <- 5             0 sends its own block, then passes on 5's
//
// A rank sends its own block first and then those of the ranks behind it, one by one as they come, so that all links
// work at the same time and nobody holds more than a few blocks. On arms of more than 63 ranks the blocks of neighbors
// travel together, in 63 messages at most and one more where ranks go around from n - 1 to 0 (max_channels). Scatter is
// the same backwards: the farthest blocks leave the root first.
//
// Source: Herschberg 2021 (thesis), Simplifying the creation of virtual topologies using MPI Sessions, section 3.5: the
// topological MPI_Gather and MPI_Scatter go around one side of the ring; two sides halve the longest way.
// n ranks, blocks of m bytes: arms of a = floor(n/2) and b = n - 1 - a ranks. For n <= 127: a block at distance d is sent
// d times, a (a + 1)/2 + b (b + 1)/2 messages of m bytes in total; n - 1 messages reach (Scatter: leave) the root, a of
// them over one link. With a port for each link a steps; with a single port n - 1, in Scatter up to n where the port
// serves one side twice in a row.
#include "algorithms/algorithms.hpp"
#include "algorithms/moves.hpp"

namespace hcoll {

namespace {

// One side of the ring, in distances from the root, which has 0: up to `length`.
class Arm {
public:
    Arm(const PlanRequest& request, int length, int direction)
        : request_(request), length_(length), direction_(direction) {}

    int length() const { return length_; }
    int rank(int distance) const { return (request_.root + direction_ * distance + request_.ranks) % request_.ranks; }
    // The distances whose blocks travel together: nowhere around from rank n - 1 to 0.
    std::vector<Run> groups() const {
        const int most = (length_ + limit - 1) / limit;
        std::vector<Run> groups;
        for (int distance = 1; distance <= length_; ++distance) {
            const bool continues =
                !groups.empty() && (distance - 1) % most != 0 && rank(distance) == rank(distance - 1) + direction_;
            if (continues)
                groups.back().end = distance + 1;
            else
                groups.push_back({distance, distance + 1});
        }
        return groups;
    }
    // Their blocks in a buffer that is in the order of ranks.
    Region blocks(const Run& group, Region memory) const {
        const int first = std::min(rank(group.first), rank(group.end - 1));
        memory.begin = static_cast<std::uint64_t>(first) * request_.units;
        memory.length = static_cast<std::uint64_t>(group.end - group.first) * request_.units;
        return memory;
    }

private:
    static constexpr int limit = static_cast<int>(max_channels) - 1;
    const PlanRequest& request_;
    int length_;
    int direction_;
};

// What the rank at distance `self` does with a group that has somebody at that distance or behind it.
void pass_on(Moves& moves, const Arm& arm, const Run& group, int self, const Region& own) {
    const Run sent{std::max(group.first, self), group.end};
    const Run received{std::max(group.first, self + 1), group.end};
    const int next = arm.rank(self - 1);
    if (received.first == received.end) return moves.send(next, own);
    const Region passing = moves.passing_scratch(arm.blocks(sent, moves.plan().output()));
    if (sent.first == self) moves.copy(own, arm.blocks({self, self + 1}, passing));
    moves.recv(arm.rank(self + 1), arm.blocks(received, passing));
    moves.send(next, passing);
}

void around_ring(Moves& moves, const PlanRequest& request) {
    const int upper = request.ranks / 2;
    const Arm arms[] = {{request, upper, 1}, {request, request.ranks - 1 - upper, -1}};
    const int vrank = (request.rank - request.root + request.ranks) % request.ranks;
    const Region own = own_block(request);
    const Region all = moves.plan().output();
    if (vrank != 0) {
        const Arm& arm = arms[vrank <= upper ? 0 : 1];
        const int self = vrank <= upper ? vrank : request.ranks - vrank;
        for (const Run& group : arm.groups())
            if (group.end > self) pass_on(moves, arm, group, self, own);
        return;
    }
    if (!request.in_place) moves.copy(own, arms[0].blocks({0, 1}, all));
    // In turns, so that in a scatter both sides are busy from the beginning.
    const std::vector<Run> groups[] = {arms[0].groups(), arms[1].groups()};
    for (std::size_t index = 0; index < std::max(groups[0].size(), groups[1].size()); ++index)
        for (std::size_t side = 0; side < 2; ++side)
            if (index < groups[side].size())
                moves.recv(arms[side].rank(1), arms[side].blocks(groups[side][index], all));
}

Plan around(Direction direction, const PlanRequest& request, const AlgorithmParameters& parameters) {
    return plan_of_moves(request, parameters.pipeline, direction, [&](Moves& moves) { around_ring(moves, request); });
}

}  // namespace

Plan gather_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return around(Direction::gather, request, parameters);
}
Plan scatter_ring(const PlanRequest& request, const AlgorithmParameters& parameters) {
    return around(Direction::scatter, request, parameters);
}

}  // namespace hcoll
