// SPDX-License-Identifier: BSD-3-Clause
// What ADAPT is for: a rank that is slow for a while delays nobody but those who need its data (Luo 2020, section 3.3 and
// figure 3.5: 4 MB to 16 ranks along a binary tree, one of which is paused).
//
//                 0
//               /   \                 the paused rank: 6
//             1       9               Bcast: 7 and 8 need its data
//           /   \    /  \             Reduce: 1 and 0 do
//          2     6  10   13
//         / \   / \ ...  ...
//        3  5  7   8
//
// The same plans are priced twice: as the engine runs them, and with one segment open at a time, so that a segment must be
// complete at a rank, its sends to all children included, before the next one is begun: the wait between segments of
// the thesis' algorithm 2.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "plan_cases.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

constexpr int ranks = 16;
constexpr std::uint64_t bytes = 4 << 20;
constexpr std::uint64_t segments = 64;
constexpr double alpha = 1e-6;
constexpr double beta = 1e-10;
constexpr double message_seconds = alpha + beta * bytes / segments;

// A rank receives and sends one message at a time. Operations are free: the question is who waits for whom.
MachineModel single_port() { return hockney(alpha, beta, 0); }

// Any number of messages at a time: nobody waits for anything but data, windows and numbers in flight. (Where ports are
// shared, what was held up meets later what was not, on the way to an ancestor that both have.)
MachineModel many_ports() { return log_gp(message_seconds, 0, 0, 0); }

struct Scenario {
    Collective collective;
    MachineModel machine;
    std::uint32_t receives;
    int pause_messages;  // for how many messages' time the rank is paused
};

bool is_inside(int rank, int subtree_root) {
    while (rank > subtree_root) rank = tree_node({TreeShape::binary}, ranks, rank, 0).parent;
    return rank == subtree_root;
}

// Who cannot finish without what `paused` passes on: its descendants in Bcast, its ancestors in Reduce; and itself.
bool depends_on(Collective collective, int rank, int paused) {
    return collective == Collective::bcast ? is_inside(rank, paused) : is_inside(paused, rank);
}

std::vector<Plan> plans_of(const Scenario& scenario, const PipelineParameters& pipeline) {
    PlanCase plan_case;
    plan_case.algorithm = find_algorithm(scenario.collective, "binary");
    plan_case.parameters = plan_case.algorithm->defaults;
    plan_case.parameters.pipeline = pipeline;
    plan_case.ranks = ranks;
    plan_case.units = bytes;
    return build_plans(plan_case);
}

std::vector<Plan> event_driven(const Scenario& scenario) {
    return plans_of(scenario, {.segment_bytes = bytes / segments, .sends = 2, .receives = scenario.receives});
}

std::vector<Plan> waiting_between_segments(const Scenario& scenario) {
    return plans_of(scenario, {.segment_bytes = bytes / segments, .sends = 1, .receives = 1, .window = 1});
}

struct Effect {
    double seconds = 0;           // without the pause
    double slow_down = 0;         // of the last rank to finish
    std::vector<double> delayed;  // by rank, seconds; exactly 0 where the pause was not noticed
};

Effect pause_in_the_middle(const std::vector<Plan>& plans, const Scenario& scenario, int paused) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < ranks; ++rank) seats.push_back({rank, 0, 0});
    const Placement placement(seats);
    const Price quiet = price(plans, placement, scenario.machine, 1);
    const Pause pause{paused, quiet.seconds / 2, quiet.seconds / 2 + scenario.pause_messages * message_seconds};
    const Price noisy = price(plans, placement, scenario.machine, 1, {.start_delay = {}, .pauses = {&pause, 1}});
    EXPECT_FALSE(quiet.defect || noisy.defect);
    Effect effect{quiet.seconds, noisy.seconds - quiet.seconds, {}};
    for (std::size_t rank = 0; rank < ranks; ++rank) effect.delayed.push_back(noisy.finish[rank] - quiet.finish[rank]);
    return effect;
}

void print(const char* how, const Scenario& scenario, int paused, const Effect& effect) {
    const auto late = std::count_if(effect.delayed.begin(), effect.delayed.end(), [](double d) { return d > 0; });
    double sum = 0;
    for (const double delay : effect.delayed) sum += delay;
    std::printf(
        "%s, %s: %.0f us; rank %d paused for %.0f us: %.0f us (%.0f %%) longer, %d of %d ranks late, %.0f us on "
        "average\n",
        std::string(name_of(scenario.collective)).c_str(), how, effect.seconds * 1e6, paused,
        scenario.pause_messages * message_seconds * 1e6, effect.slow_down * 1e6,
        100 * effect.slow_down / effect.seconds, static_cast<int>(late), ranks, sum / ranks * 1e6);
}

// Sends are rendezvous: a paused rank's neighbors go on only as far as it has posted its side before. In Bcast a pause
// is short enough if its receives last: with a single port a segment comes every two messages' time, which is 2 x 4 and
// 2 x 16 here. In Reduce the other children of an ancestor also need room in its window, which is 64 for 64 receives.
const Scenario bcast_short{Collective::bcast, single_port(), 4, 6};
const Scenario bcast_long{Collective::bcast, single_port(), 16, 20};
const Scenario bcast_many_ports{Collective::bcast, many_ports(), 16, 6};
const Scenario reduce_short{Collective::reduce, many_ports(), 16, 6};
const Scenario reduce_long{Collective::reduce, many_ports(), 64, 20};

TEST(Adapt, APauseDelaysExactlyThoseWhoNeedTheData) {
    for (const Scenario& scenario : {bcast_short, bcast_long, bcast_many_ports, reduce_short, reduce_long}) {
        const Effect effect = pause_in_the_middle(event_driven(scenario), scenario, 6);
        print("event-driven", scenario, 6, effect);
        for (int rank = 0; rank < ranks; ++rank) {
            const double delayed = effect.delayed[static_cast<std::size_t>(rank)];
            if (depends_on(scenario.collective, rank, 6)) {
                EXPECT_GT(delayed, message_seconds) << rank;
            } else {
                EXPECT_EQ(delayed, 0) << rank;
            }
        }
    }
}

// A leaf of a Bcast makes up for its pause, since nothing waits for its own sends: it need not be late itself.
TEST(Adapt, NobodyElseNoticesWhicheverRankIsPaused) {
    for (const Scenario& scenario : {bcast_short, bcast_long, bcast_many_ports, reduce_short, reduce_long})
        for (int paused = 0; paused < ranks; ++paused) {
            const Effect effect = pause_in_the_middle(event_driven(scenario), scenario, paused);
            for (int rank = 0; rank < ranks; ++rank) {
                if (depends_on(scenario.collective, rank, paused)) continue;
                EXPECT_EQ(effect.delayed[static_cast<std::size_t>(rank)], 0)
                    << name_of(scenario.collective) << " " << scenario.receives << " paused " << paused << " rank "
                    << rank;
            }
        }
}

// With a single port the messages that rank 6 held up meet those of its sibling's and its parent's sibling's subtrees at
// the ports of their common ancestors: it is a few messages' time, however long the pause.
TEST(Adapt, OfAReduceThroughSinglePortsOthersWaitForAPortAndNoMore) {
    for (const int pause_messages : {6, 20, 30}) {
        const Scenario scenario{Collective::reduce, single_port(), 64, pause_messages};
        const Effect effect = pause_in_the_middle(event_driven(scenario), scenario, 6);
        print("event-driven, single port", scenario, 6, effect);
        for (int rank = 0; rank < ranks; ++rank) {
            if (depends_on(scenario.collective, rank, 6)) continue;
            EXPECT_LE(effect.delayed[static_cast<std::size_t>(rank)], 4.001 * message_seconds) << rank;
        }
    }
}

TEST(Adapt, AWaitBetweenSegmentsDelaysEverybody) {
    for (const Scenario& scenario : {bcast_short, bcast_long, bcast_many_ports, reduce_short, reduce_long}) {
        const Effect effect = pause_in_the_middle(waiting_between_segments(scenario), scenario, 6);
        print("waiting between segments", scenario, 6, effect);
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_GT(effect.delayed[static_cast<std::size_t>(rank)], message_seconds) << rank;
    }
}

}  // namespace
}  // namespace hcoll::test
