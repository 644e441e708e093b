// SPDX-License-Identifier: BSD-3-Clause
// Prices of plans against the closed forms of the papers, and what the pricing promises besides.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "plan_cases.hpp"
#include "tuning/closed_forms.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

constexpr double alpha = 1.7e-6;
constexpr double beta = 1.3e-10;
constexpr double gamma_per_byte = 0.9e-10;
constexpr Postal link{alpha, beta};

// `nodes` nodes with `ppn` ranks each, in the order of ranks, of one socket.
Placement placed(int nodes, int ppn) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < nodes * ppn; ++rank) seats.push_back({rank / ppn, 0, rank % ppn});
    return Placement(seats);
}

PlanCase call(Collective collective, std::string_view algorithm, int ranks, std::uint64_t bytes,
              std::uint64_t segment_bytes = 0) {
    PlanCase plan_case;
    plan_case.algorithm = find_algorithm(collective, algorithm);
    plan_case.parameters = plan_case.algorithm->defaults;
    plan_case.parameters.pipeline.segment_bytes = segment_bytes;
    plan_case.ranks = ranks;
    plan_case.units = bytes;
    return plan_case;
}

Price price_of(const PlanCase& plan_case, const Placement& placement, const MachineModel& machine,
               const Disturbance& disturbance = {}) {
    const std::vector<Plan> plans = build_plans(plan_case);
    Price result = price(plans, placement, machine, plan_case.unit_bytes, disturbance);
    EXPECT_FALSE(result.defect) << plan_case.name() << ": " << *result.defect;
    return result;
}

double seconds_of(const PlanCase& plan_case, const MachineModel& machine) {
    return price_of(plan_case, Placement::one_node(plan_case.ranks), machine).seconds;
}

#define EXPECT_SECONDS(found, expected) EXPECT_NEAR((found) / (expected), 1, 1e-9)

// ---- closed forms -------------------------------------------------------------------------------------------------------

TEST(PriceOfAPlan, IsTheChainsClosedForm) {
    for (const int ranks : {2, 3, 8, 17})
        for (const std::uint64_t segments : {1, 2, 7, 64, 100}) {
            const PlanCase chain = call(Collective::bcast, "chain", ranks, segments * 4096, 4096);
            EXPECT_SECONDS(seconds_of(chain, hockney(alpha, beta, gamma_per_byte)),
                           chain_seconds(link, ranks, static_cast<double>(segments), static_cast<double>(chain.units)));
        }
}

TEST(PriceOfAPlan, IsTheBinomialTreesClosedForm) {
    for (int ranks = 2; ranks <= 256; ranks *= 2)
        EXPECT_SECONDS(seconds_of(call(Collective::bcast, "binomial", ranks, 100'000), hockney(alpha, beta, 0)),
                       binomial_seconds(link, ranks, 100'000));
}

// From one rank to all others, through a port that some messages pass at once.
TEST(PriceOfAPlan, OfAFlatTreeIsThatOfItsRowsOfMessages) {
    for (const int at_once : {1, 3, any_number})
        for (const int ranks : {2, 4, 8, 9}) {
            MachineModel machine = hockney(alpha, beta, 0);
            machine[Link::socket].at_once = at_once;
            const int rows = (ranks - 2) / std::min(at_once, ranks) + 1;
            EXPECT_SECONDS(seconds_of(call(Collective::bcast, "flat", ranks, 100'000), machine),
                           rows * (alpha + beta * 100'000))
                << ranks << " ranks, " << at_once << " at once";
        }
}

TEST(PriceOfAPlan, IsRecursiveDoublingsClosedForm) {
    constexpr double bytes = 4096;
    for (int ranks = 2; ranks <= 256; ranks *= 2)
        EXPECT_SECONDS(seconds_of(call(Collective::allreduce, "recursive_doubling", ranks, 4096),
                                  hockney(alpha, beta, gamma_per_byte)),
                       std::log2(ranks) * (alpha + beta * bytes + gamma_per_byte * bytes));
}

// Two injection rates: of 10 GB/s, which binds for two senders of a node and more, and of 1000 GB/s, which does not.
MaxRate max_rate_machine(double injection_rate) {
    return {.alpha_local = 0.4e-6,
            .beta_local = 1.1e-10,
            .alpha = 1.5e-6,
            .rate = 6e9,
            .injection_rate = injection_rate,
            .gamma = gamma_per_byte};
}

TEST(PriceOfAPlan, IsTheMaxRateModelsForRecursiveDoubling) {
    for (const auto& [nodes, ppn] : {std::pair{4, 4}, std::pair{2, 8}, std::pair{16, 16}, std::pair{8, 1}})
        for (const double injection_rate : {10e9, 1000e9})
            for (const std::uint64_t bytes : {8U, 65536U}) {
                const MaxRate machine = max_rate_machine(injection_rate);
                const Price found = price_of(call(Collective::allreduce, "recursive_doubling", nodes * ppn, bytes),
                                             placed(nodes, ppn), max_rate(machine));
                EXPECT_SECONDS(found.seconds,
                               recursive_doubling_seconds(machine, nodes, ppn, static_cast<double>(bytes)));
            }
}

double seconds_on(std::string_view algorithm, int nodes, int ppn, std::uint64_t bytes, const MachineModel& machine) {
    const Layout layout{"", std::make_shared<const Placement>(placed(nodes, ppn))};
    PlanCase plan_case = call(Collective::allreduce, algorithm, nodes * ppn, bytes);
    plan_case.layout = layout;
    return price_of(plan_case, *layout.placement, machine).seconds;
}

// Equation 5, and log2(ppn) messages of the broadcast on the node, which it leaves out. The rest is the same to the last
// term: one rank of each node sends over the network, so that the injection rate never binds.
TEST(PriceOfAPlan, IsEquation5ForSmpWithItsBroadcast) {
    for (const auto& [nodes, ppn] : {std::pair{4, 4}, std::pair{2, 8}, std::pair{16, 16}, std::pair{8, 1}})
        for (const double injection_rate : {10e9, 1000e9})
            for (const std::uint64_t bytes : {8U, 65536U}) {
                const MaxRate machine = max_rate_machine(injection_rate);
                const auto m = static_cast<double>(bytes);
                const double broadcast = (machine.alpha_local + machine.beta_local * m) * std::log2(ppn);
                EXPECT_SECONDS(seconds_on("smp", nodes, ppn, bytes, max_rate(machine)),
                               smp_seconds(machine, nodes, ppn, m) + broadcast);
            }
}

// What equation 6 has that the plan has not. Its log2 of all ranks is log2(ppn) for each of 1 + log_ppn(n) allreduces on
// the node, as in the plan. But:
// - the operation at each arrival from another node is none of its own in the plan: what arrives is what its rank
//   contributes to the allreduce that follows, and the rank that is idle contributes what the node had;
// - one rank of a node is idle in each network step: with one step ppn - 1 ranks share the injection rate; with more,
//   it is another one each time on most nodes, and all ppn do.
double nap_seconds_of_plan(const MaxRate& machine, int nodes, int ppn, double bytes) {
    const double steps = std::log2(nodes) / std::log2(ppn);
    const int senders = nodes == ppn ? ppn - 1 : ppn;
    return nap_seconds(machine, nodes, ppn, bytes) - machine.gamma * bytes * steps -
           steps * (max_rate_message_seconds(machine, ppn, bytes) - max_rate_message_seconds(machine, senders, bytes));
}

// Exactly so where messages on a node do not keep ports busy. Where they do, a rank that is idle in a network step begins
// the next allreduce on the node early, and its message is in the way of one from another node: up to two messages on the
// node more in each step.
TEST(PriceOfAPlan, IsEquation6ForNapButForTheIdleRank) {
    for (const auto& [nodes, ppn] : {std::pair{4, 4}, std::pair{16, 4}, std::pair{8, 2}, std::pair{16, 16}})
        for (const double injection_rate : {10e9, 1000e9})
            for (const std::uint64_t bytes : {8U, 65536U}) {
                const auto m = static_cast<double>(bytes);
                MaxRate parameters = max_rate_machine(injection_rate);
                const double on_node = parameters.alpha_local + parameters.beta_local * m;
                const double form = nap_seconds_of_plan(parameters, nodes, ppn, m);
                const double found = seconds_on("nap", nodes, ppn, bytes, max_rate(parameters));
                EXPECT_GE(found, form * (1 - 1e-9)) << nodes << " x " << ppn;
                EXPECT_LE(found, form + 2 * on_node * std::log2(nodes) / std::log2(ppn)) << nodes << " x " << ppn;

                parameters.beta_local = 0;
                MachineModel free_ports = max_rate(parameters);
                free_ports[Link::socket].gap = 0;
                EXPECT_SECONDS(seconds_on("nap", nodes, ppn, bytes, free_ports),
                               nap_seconds_of_plan(parameters, nodes, ppn, m));
            }
}

// The formulas against values worked out by hand: 16 nodes, 4 ranks each, 100 bytes; R_N = 2 R_b, so that 4 ranks share it
// and a message takes twice as long.
TEST(ClosedForms, AreTheEquations) {
    const MaxRate machine{
        .alpha_local = 1, .beta_local = 0.01, .alpha = 10, .rate = 10, .injection_rate = 20, .gamma = 0.001};
    EXPECT_DOUBLE_EQ(recursive_doubling_seconds(machine, 16, 4, 100), 2 * 2 + 4 * (10 + 20) + 0.1 * 6);
    EXPECT_DOUBLE_EQ(smp_seconds(machine, 16, 4, 100), 2 * 2 + 4 * (10 + 10) + 0.1 * 6);
    EXPECT_DOUBLE_EQ(nap_seconds(machine, 16, 4, 100), 6 * 2 + 2 * (10 + 20) + 0.1 * (6 + 2));
    EXPECT_DOUBLE_EQ(chain_seconds({1, 0.01}, 5, 4, 400), 7 * 2);
}

// Two messages from 0 to 1 in LogGP: the second one starts gap + bytes G after the first; the overheads lie at both ends.
TEST(PriceOfAPlan, IsLogGp) {
    constexpr double latency = 5, overhead = 1, gap = 2, per_byte = 0.01;
    const MachineModel machine = log_gp(latency, overhead, gap, per_byte);
    PlanCase two = call(Collective::bcast, "chain", 2, 200, 100);
    EXPECT_SECONDS(seconds_of(two, machine), overhead + (gap + 1) + (latency + 1) + overhead);
    two.units = 100;
    EXPECT_SECONDS(seconds_of(two, machine), overhead + latency + 1 + overhead);
}

// ---- steps --------------------------------------------------------------------------------------------------------------

// The column "steps" of docs/algorithms.md.
TEST(PriceOfAPlan, InUnitLatenciesIsTheNumberOfSteps) {
    for (int ranks = 2; ranks <= 65; ++ranks) {
        const int log2_ceil = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks) - 1));
        const int depth = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
        for (const Collective collective : {Collective::bcast, Collective::reduce}) {
            EXPECT_EQ(seconds_of(call(collective, "binomial", ranks, 64), unit_latency()), log2_ceil) << ranks;
            for (const int segments : {1, 2, 10, 80}) {
                const std::uint64_t bytes = static_cast<std::uint64_t>(segments) * 8;
                EXPECT_EQ(seconds_of(call(collective, "chain", ranks, bytes, 8), unit_latency()), ranks + segments - 2);
                // In a Reduce the subtrees of a node that differ in depth take turns at its port in an order that can
                // cost a step (n = 13, 27, 55).
                const double found = seconds_of(call(collective, "binary", ranks, bytes, 8), unit_latency());
                const int most = 2 * depth + 2 * (segments - 1);
                const bool is_full = std::has_single_bit(static_cast<unsigned>(ranks) + 1);
                EXPECT_LE(found, most + (collective == Collective::reduce && !is_full ? 1 : 0)) << ranks;
                EXPECT_GE(found, is_full ? most : 0) << ranks;
            }
        }
        const bool is_power = std::has_single_bit(static_cast<unsigned>(ranks));
        EXPECT_EQ(seconds_of(call(Collective::allreduce, "recursive_doubling", ranks, 64), unit_latency()),
                  is_power ? depth : depth + 2)
            << ranks;
    }
}

TEST(PriceOfAPlan, InUnitLatenciesOfALinkIsTheNumberOfStepsAtThatLevel) {
    std::vector<Seat> seats;  // 4 nodes of 2 sockets with 4 ranks each
    for (int rank = 0; rank < 32; ++rank) seats.push_back({rank / 8, rank / 4 % 2, rank});
    const Placement placement(seats);
    const PlanCase doubling = call(Collective::allreduce, "recursive_doubling", 32, 64);
    EXPECT_EQ(price_of(doubling, placement, unit_latency(Link::socket)).seconds, 2);
    EXPECT_EQ(price_of(doubling, placement, unit_latency(Link::node)).seconds, 1);
    EXPECT_EQ(price_of(doubling, placement, unit_latency(Link::network)).seconds, 2);
    EXPECT_EQ(price_of(doubling, placement, unit_latency()).seconds, 5);
}

TEST(Traffic, IsCountedByLevelForAllTheBusiestRankAndTheBusiestNode) {
    const Price doubling =
        price_of(call(Collective::allreduce, "recursive_doubling", 16, 100), placed(4, 4), default_machine());
    EXPECT_EQ(doubling[Link::socket].total, (Traffic{32, 3200}));
    EXPECT_EQ(doubling[Link::socket].busiest_node, (Traffic{8, 800}));
    EXPECT_EQ(doubling[Link::socket].busiest_rank, (Traffic{2, 200}));
    EXPECT_EQ(doubling[Link::node].total, Traffic{});
    EXPECT_EQ(doubling[Link::network].total, (Traffic{32, 3200}));

    const Price binomial = price_of(call(Collective::bcast, "binomial", 16, 100), placed(4, 4), default_machine());
    EXPECT_EQ(binomial[Link::socket].total, (Traffic{12, 1200}));
    EXPECT_EQ(binomial[Link::network].total, (Traffic{3, 300}));
    EXPECT_EQ(binomial[Link::network].busiest_rank, (Traffic{2, 200}));
}

// ---- disturbances, protocols --------------------------------------------------------------------------------------------

TEST(Disturbances, ADelayOfAllIsADelayOfTheEnd) {
    const PlanCase plan_case = call(Collective::allreduce, "reduce_bcast", 13, 10'000, 1000);
    const std::vector<double> late(13, 1.0);
    const Price delayed = price_of(plan_case, placed(13, 1), default_machine(), {.start_delay = late, .pauses = {}});
    const Price usual = price_of(plan_case, placed(13, 1), default_machine());
    for (std::size_t rank = 0; rank < 13; ++rank)
        EXPECT_NEAR(delayed.finish[rank], 1 + usual.finish[rank], 1e-12) << rank;
}

TEST(Disturbances, APauseInterruptsWorkAndIsMadeUpForAfterwards) {
    const PlanCase plan_case = call(Collective::allreduce, "recursive_doubling", 2, 1);
    const MachineModel machine = hockney(1, 0, 10);  // message until 1, operation until 11
    const auto finish_of_0 = [&](std::vector<Pause> pauses) {
        return price_of(plan_case, placed(2, 1), machine, {.start_delay = {}, .pauses = pauses}).finish[0];
    };
    EXPECT_DOUBLE_EQ(finish_of_0({}), 11);
    EXPECT_DOUBLE_EQ(finish_of_0({{0, 5, 7}}), 13);
    EXPECT_DOUBLE_EQ(finish_of_0({{0, 8, 9}, {0, 3, 4}, {0, 11.5, 12.5}}), 14);
    EXPECT_DOUBLE_EQ(finish_of_0({{0, 0.5, 4}}), 14);
    EXPECT_DOUBLE_EQ(finish_of_0({{0, 0.5, 0.75}, {0, 20, 30}}), 11);
    EXPECT_DOUBLE_EQ(finish_of_0({{0, 0, 2}}), 13);
    EXPECT_DOUBLE_EQ(finish_of_0({{1, 0, 2}}), 13) << "nothing starts before both sides are there";
    EXPECT_DOUBLE_EQ(finish_of_0({{1, 1, 9}}), 11);
}

TEST(Protocols, AnEagerSenderDoesNotWaitForALateReceiver) {
    const PlanCase plan_case = call(Collective::bcast, "chain", 2, 100);
    const std::vector<double> late = {0, 50};
    MachineModel machine = hockney(1, 0.01, 0);
    const Disturbance disturbance{.start_delay = late, .pauses = {}};
    const Price rendezvous = price_of(plan_case, placed(2, 1), machine, disturbance);
    EXPECT_DOUBLE_EQ(rendezvous.finish[0], 52);
    EXPECT_DOUBLE_EQ(rendezvous.finish[1], 52);
    machine.set_eager_below(101);
    const Price eager = price_of(plan_case, placed(2, 1), machine, disturbance);
    EXPECT_DOUBLE_EQ(eager.finish[0], 2);
    EXPECT_DOUBLE_EQ(eager.finish[1], 50);
    machine.set_eager_below(100);
    EXPECT_DOUBLE_EQ(price_of(plan_case, placed(2, 1), machine, disturbance).finish[0], 52);
}

// ---- defects ------------------------------------------------------------------------------------------------------------

template <typename Program>
Price price_of_two(const MachineModel& machine, Program&& program) {
    std::vector<Plan> plans;
    for (int rank = 0; rank < 2; ++rank) {
        PlanBuilder plan({.ranks = 2, .rank = rank, .units = 8}, {});
        program(rank, plan);
        plans.push_back(plan.finish());
    }
    return price(plans, placed(2, 1), machine, 1);
}

TEST(Defects, AreReported) {
    const MachineModel machine = hockney(1, 1, 1);
    MachineModel eager = machine;
    eager.set_eager_below(all_eager);

    const auto both_receive_first = [](int rank, PlanBuilder& plan) {
        plan.recv(1 - rank, plan.output());
        plan.send(1 - rank, plan.output());
    };
    for (const MachineModel& either : {machine, eager}) {
        const Price deadlock = price_of_two(either, both_receive_first);
        EXPECT_EQ(deadlock.defect, "deadlock: 2 ranks wait for ever, the first of them is rank 0");
        EXPECT_TRUE(std::isinf(deadlock.seconds) && std::isinf(deadlock.finish[1]));
    }

    const auto nobody_receives = [](int rank, PlanBuilder& plan) {
        if (rank == 0) plan.send(1, plan.output());
    };
    EXPECT_EQ(price_of_two(machine, nobody_receives).defect,
              "deadlock: 1 ranks wait for ever, the first of them is rank 0");
    EXPECT_EQ(price_of_two(eager, nobody_receives).defect, "1 messages are sent that nobody receives");

    const auto lengths_differ = [](int rank, PlanBuilder& plan) {
        Region region = plan.output();
        region.length -= static_cast<std::uint64_t>(rank);
        if (rank == 0)
            plan.send(1, region);
        else
            plan.recv(0, region);
    };
    for (const MachineModel& either : {machine, eager}) {
        const auto defect = price_of_two(either, lengths_differ).defect;
        ASSERT_TRUE(defect);
        EXPECT_NE(defect->find("differ in the length"), std::string::npos) << *defect;
    }
}

TEST(Defects, APlanThatCannotEndIsReportedByEveryMachine) {
    std::vector<Plan> plans = build_plans(call(Collective::bcast, "chain", 3, 8));
    for (Step& step : plans[1].steps) step.dependencies += 1;
    for (const MachineModel& machine : {hockney(1, 1, 1), default_machine()})
        EXPECT_EQ(price(plans, placed(3, 1), machine, 1).defect.value_or("").substr(0, 9), "deadlock:");
}

// ---- every algorithm ----------------------------------------------------------------------------------------------------

// No rank can receive m bytes, nor combine the operands, in less time than one message of m bytes takes.
TEST(EveryAlgorithmHasAPrice, ThatIsTheSameTwiceAndNoLessThanOneMessage) {
    std::mt19937_64 random(test_seed());
    MachineModel eager = default_machine();
    eager.set_eager_below(all_eager);
    MachineModel rendezvous = default_machine();
    rendezvous.set_eager_below(0);
    for (const Algorithm& algorithm : algorithms())
        for (const int ranks : {1, 2, 3, 8, 13, 32}) {
            std::vector<Seat> seats;
            for (int rank = 0; rank < ranks; ++rank)
                seats.push_back({static_cast<int>(random() % 4), static_cast<int>(random() % 2), rank});
            const Placement placement(seats);
            for (const MachineModel& machine : {default_machine(), eager, rendezvous}) {
                PlanCase plan_case = call(algorithm.collective, algorithm.name, ranks, 100'001, 1000);
                if (algorithm.collective != Collective::allreduce) plan_case.root = ranks / 2;
                const Price once = price_of(plan_case, placement, machine);
                const Price again = price_of(plan_case, placement, machine);
                EXPECT_EQ(once.finish, again.finish) << plan_case.name();
                EXPECT_GE(once.seconds, ranks > 1 ? 100'001 / 12e9 : 0) << plan_case.name();
                std::uint64_t bytes = 0;
                for (const LinkTraffic& level : once.links) bytes += level.total.bytes;
                EXPECT_GE(bytes, static_cast<std::uint64_t>(ranks - 1) * 100'001) << plan_case.name();
            }
        }
}

// Printed, since what a machine takes depends on the machine; the bound only keeps out what grows faster than messages.
TEST(EveryAlgorithmHasAPrice, ThatTakesMillisecondsToFindForAThousandRanks) {
    for (const int ranks : {1024, 16384}) {
        const std::vector<Plan> plans = build_plans(call(Collective::allreduce, "recursive_doubling", ranks, 8));
        const Placement placement = placed(ranks / 16, 16);
        const auto begin = std::chrono::steady_clock::now();
        const Price found = price(plans, placement, default_machine(), 1);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf("recursive doubling, %d ranks: %.2f us, priced in %.1f ms\n", ranks, found.seconds * 1e6,
                    took.count() * 1e3);
        EXPECT_LT(took.count(), 1e-3 * ranks);
    }
}

}  // namespace
}  // namespace hcoll::test
