// SPDX-License-Identifier: BSD-3-Clause
// Messages, bytes and steps of gather, scatter, allgather and barrier, by level, against the closed forms that the
// heads of their files give; and what else these plans promise.
#include <gtest/gtest.h>

#include <bit>
#include <utility>

#include "algorithms/plan_check.hpp"
#include "plan_cases.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

using Number = std::uint64_t;

constexpr Number block = 12;  // bytes of a rank's

PlanCase call(Collective collective, std::string_view algorithm, int ranks, int root = 0, Number units = block) {
    PlanCase plan_case;
    plan_case.algorithm = find_algorithm(collective, algorithm);
    plan_case.parameters = plan_case.algorithm->defaults;
    plan_case.ranks = ranks;
    plan_case.root = root;
    plan_case.units = collective == Collective::barrier ? 1 : units;
    return plan_case;
}

Price price_of(const PlanCase& plan_case) {
    const Placement one_node = Placement::one_node(plan_case.ranks);
    const Placement& placement = plan_case.layout.placement ? *plan_case.layout.placement : one_node;
    Price result = price(build_plans(plan_case), placement, unit_latency(), plan_case.unit_bytes);
    EXPECT_FALSE(result.defect) << plan_case.name() << ": " << *result.defect;
    return result;
}

Traffic sent(const Price& found) {
    Traffic sum;
    for (const LinkTraffic& link : found.links) {
        sum.messages += link.total.messages;
        sum.bytes += link.total.bytes;
    }
    return sum;
}

Number ceil_log(int radix, int ranks) {
    Number steps = 0;
    for (std::int64_t reached = 1; reached < ranks; reached *= radix) ++steps;
    return steps;
}

// Messages of one rank in dissemination: of the digits of numbers below `ranks`, all values but 0.
Number exchanges(int radix, int ranks) {
    Number count = 0;
    for (std::int64_t distance = 1; distance < ranks; distance *= radix)
        for (std::int64_t away = distance; away < distance * radix && away < ranks; away += distance) ++count;
    return count;
}

// All children that a member has in a binomial tree take turns at its port, and the deepest of them comes last.
TEST(Counts, OfGatherAndScatterAlongATree) {
    for (int ranks = 2; ranks <= 65; ++ranks)
        for (const int root : {0, 1, ranks - 1})
            for (const Collective collective : {Collective::gather, Collective::scatter}) {
                const auto n = static_cast<Number>(ranks);
                const Price linear = price_of(call(collective, "linear", ranks, root));
                EXPECT_EQ(sent(linear), (Traffic{n - 1, (n - 1) * block}));
                EXPECT_EQ(linear.seconds, ranks - 1);

                const PlanCase plan_case = call(collective, "binomial", ranks, root);
                const Price binomial = price_of(plan_case);
                Number hops = 0;
                for (unsigned vrank = 1; vrank < static_cast<unsigned>(ranks); ++vrank)
                    hops += static_cast<Number>(std::popcount(vrank));
                EXPECT_EQ(sent(binomial).bytes, hops * block) << plan_case.name();
                // A run of the root's that goes around: the one in which rank n - 1, not its last, has rank 0 after it.
                Number around = 0;
                for (int first = 1; first < ranks; first *= 2) {
                    const int end = std::min(2 * first, ranks);
                    around += first + root < ranks && end - 1 + root >= ranks ? 1 : 0;
                }
                EXPECT_LE(around, 1U);
                EXPECT_EQ(sent(binomial).messages, n - 1 + around) << plan_case.name();
                EXPECT_GE(binomial.seconds, static_cast<double>(ceil_log(2, ranks))) << plan_case.name();
                EXPECT_LE(binomial.seconds, static_cast<double>(ceil_log(2, ranks) + around)) << plan_case.name();
            }
}

TEST(Counts, OfGatherAndScatterAroundTheRing) {
    for (const int ranks : {2, 3, 4, 5, 8, 17, 64, 126, 127})
        for (const int root : {0, 1, ranks - 1})
            for (const Collective collective : {Collective::gather, Collective::scatter}) {
                const PlanCase plan_case = call(collective, "ring", ranks, root);
                const auto upper = static_cast<Number>(ranks / 2);
                const auto lower = static_cast<Number>(ranks - 1) - upper;
                const Number hops = upper * (upper + 1) / 2 + lower * (lower + 1) / 2;
                const Price found = price_of(plan_case);
                EXPECT_EQ(sent(found), (Traffic{hops, hops * block})) << plan_case.name();
                // A root whose sends become ready at once may serve one side twice in a row.
                EXPECT_GE(found.seconds, ranks - 1) << plan_case.name();
                EXPECT_LE(found.seconds, ranks - (collective == Collective::gather ? 1 : 0)) << plan_case.name();
            }
}

TEST(Counts, RingsTalkToNeighborsOnlyAndHoldAFewBlocks) {
    for (const Collective collective : {Collective::gather, Collective::scatter, Collective::allgather})
        for (const int ranks : {2, 3, 9, 40, 126, 200, 300}) {
            const PlanCase plan_case = call(collective, "ring", ranks, has_root(collective) ? ranks / 3 : 0);
            const std::vector<Plan> plans = build_plans(plan_case);
            for (int rank = 0; rank < ranks; ++rank) {
                const Plan& plan = plans[static_cast<std::size_t>(rank)];
                EXPECT_LE(plan.scratch_units(), 4 * block * static_cast<Number>((ranks / 2 + 62) / 63));
                for (const Step& step : plan.steps)
                    if (step.is_message()) {
                        const int away = (step.peer - rank + ranks) % ranks;
                        EXPECT_TRUE(away == 1 || away == ranks - 1) << plan_case.name() << " rank " << rank;
                    }
            }
        }
}

// More blocks than tags can tell apart.
TEST(Counts, LongRingsTravelInGroupsAndAreRight) {
    std::mt19937_64 random(test_seed());
    for (const Collective collective : {Collective::gather, Collective::scatter})
        for (const int ranks : {127, 128, 129, 190, 254, 257, 300})
            for (const int root : {0, 1, 63, ranks / 2, ranks - 2, ranks - 1})
                for (const bool in_place : {false, true}) {
                    PlanCase plan_case = call(collective, "ring", ranks, root, 2);
                    plan_case.in_place = in_place;
                    const std::vector<Plan> plans = build_plans(plan_case);
                    const auto defect = find_plan_defect(plans);
                    ASSERT_FALSE(defect) << plan_case.name() << ": " << *defect;
                    const auto failure = run_and_compare(plan_case, plans, random);
                    ASSERT_FALSE(failure) << plan_case.name() << ": " << *failure;
                }
}

TEST(Counts, OfGatherAndScatterThroughNodes) {
    constexpr Number nodes = 6;
    constexpr Number ppn = 8;
    constexpr int ranks = static_cast<int>(nodes * ppn);
    for (const Layout& layout : {block_layout(std::vector<int>(nodes, static_cast<int>(ppn))),
                                 cyclic_layout(ranks, static_cast<int>(nodes)), block_layout({8, 1, 20, 3, 15, 1})})
        for (const int root : {0, 5, 47})
            for (const Collective collective : {Collective::gather, Collective::scatter}) {
                PlanCase plan_case = call(collective, "hierarchical", ranks, root);
                plan_case.layout = layout;
                const Placement& placement = *layout.placement;
                const Number on_root_node = placement.ranks_of_node(placement.node_of(root)).size();
                const Price found = price_of(plan_case);
                EXPECT_EQ(found[Link::network].total, (Traffic{nodes - 1, (nodes * ppn - on_root_node) * block}))
                    << plan_case.name();
                EXPECT_EQ(found[Link::socket].total.messages, nodes * (ppn - 1)) << plan_case.name();
                if (std::cmp_equal(placement.fewest_ranks_of_a_node(), ppn)) {
                    EXPECT_EQ(found[Link::socket].total.bytes, nodes * ppn / 2 * 3 * block) << plan_case.name();
                }
            }
}

TEST(Counts, OfAllgather) {
    for (int ranks = 2; ranks <= 40; ++ranks) {
        const auto n = static_cast<Number>(ranks);
        const Number received = n * (n - 1) * block;
        const Price linear = price_of(call(Collective::allgather, "linear", ranks));
        EXPECT_EQ(sent(linear), (Traffic{n * (n - 1), received})) << ranks;
        EXPECT_EQ(linear.seconds, ranks - 1);
        const Price ring = price_of(call(Collective::allgather, "ring", ranks));
        EXPECT_EQ(sent(ring), (Traffic{n * (n - 1), received})) << ranks;
        EXPECT_EQ(ring.seconds, ranks - 1);

        const Price doubling = price_of(call(Collective::allgather, "recursive_doubling", ranks));
        const Number p = std::bit_floor(n);
        const Number others = n - p;
        const auto log2_p = static_cast<Number>(std::countr_zero(p));
        EXPECT_EQ(sent(doubling), (Traffic{p * log2_p + 2 * others, ((p - 1) * n + others * (n + 1)) * block}))
            << ranks;
        EXPECT_GE(doubling.seconds, static_cast<double>(log2_p + (others == 0 ? 0 : 2))) << ranks;
        EXPECT_LE(doubling.seconds, static_cast<double>(log2_p + (others == 0 ? 0 : 3))) << ranks;

        for (const int radix : {2, 3, 4, 7}) {
            PlanCase plan_case = call(Collective::allgather, "dissemination", ranks);
            plan_case.parameters.radix = radix;
            const Number s = exchanges(radix, ranks);
            const Price found = price_of(plan_case);
            EXPECT_EQ(sent(found), (Traffic{n * s + n - 1 - s, received})) << plan_case.name();
            EXPECT_TRUE(radix != 2 || s == ceil_log(2, ranks));
            EXPECT_GE(found.seconds, static_cast<double>(s)) << plan_case.name();
        }
    }
    for (int ranks = 2; ranks <= 64; ranks *= 2)
        EXPECT_EQ(price_of(call(Collective::allgather, "recursive_doubling", ranks)).seconds,
                  static_cast<double>(ceil_log(2, ranks)));
}

TEST(Counts, OfAllgatherThroughNodes) {
    constexpr Number ppn = 8;
    for (const int nodes : {2, 3, 5, 8})
        for (const bool is_cyclic : {false, true}) {
            const auto ranks = static_cast<int>(ppn) * nodes;
            const auto n = static_cast<Number>(ranks);
            const auto count = static_cast<Number>(nodes);
            PlanCase plan_case = call(Collective::allgather, "hierarchical", ranks);
            plan_case.layout = is_cyclic ? cyclic_layout(ranks, nodes)
                                         : block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ppn));
            const Price found = price_of(plan_case);
            const Number s = ceil_log(2, nodes);
            EXPECT_EQ(found[Link::network].total, (Traffic{s * count + count - 1 - s, (count - 1) * n * block}))
                << plan_case.name();
            EXPECT_EQ(found[Link::socket].total,
                      (Traffic{count * 2 * (ppn - 1), count * (ppn / 2 * 3 + (ppn - 1) * n) * block}))
                << plan_case.name();
        }
}

TEST(Counts, OfBarriers) {
    for (int ranks = 2; ranks <= 65; ++ranks) {
        const auto n = static_cast<Number>(ranks);
        const Number p = std::bit_floor(n);
        const auto log2_p = static_cast<Number>(std::countr_zero(p));
        const auto check = [&](std::string_view algorithm, Number messages, Number least, Number most) {
            const Price found = price_of(call(Collective::barrier, algorithm, ranks));
            EXPECT_EQ(sent(found), (Traffic{messages, messages})) << algorithm << " " << ranks;
            EXPECT_GE(found.seconds, static_cast<double>(least)) << algorithm << " " << ranks;
            EXPECT_LE(found.seconds, static_cast<double>(most)) << algorithm << " " << ranks;
        };
        check("linear", 2 * (n - 1), 2 * (n - 1), 2 * (n - 1));
        check("ring", 2 * (n - 1), 2 * (n == 2 ? 1 : n / 2), 2 * (n == 2 ? 1 : n / 2 + 1));
        check("binomial", 2 * (n - 1), 2 * ceil_log(2, ranks), 2 * ceil_log(2, ranks));
        check("recursive_doubling", p * log2_p + 2 * (n - p), log2_p + (n == p ? 0 : 2), log2_p + (n == p ? 0 : 3));
        check("dissemination", n * ceil_log(2, ranks), ceil_log(2, ranks), ceil_log(2, ranks));
        for (const int radix : {3, 4, 8}) {
            PlanCase plan_case = call(Collective::barrier, "dissemination", ranks);
            plan_case.parameters.radix = radix;
            EXPECT_EQ(sent(price_of(plan_case)).messages, n * exchanges(radix, ranks)) << plan_case.name();
        }
    }
}

TEST(Counts, OfBarriersThroughNodes) {
    for (const int nodes : {2, 3, 5, 8}) {
        PlanCase plan_case = call(Collective::barrier, "hierarchical", 8 * nodes);
        plan_case.layout = cyclic_layout(8 * nodes, nodes);
        const auto count = static_cast<Number>(nodes);
        const Price found = price_of(plan_case);
        EXPECT_EQ(found[Link::network].total.messages, count * ceil_log(2, nodes));
        EXPECT_EQ(found[Link::socket].total.messages, count * 2 * 7);
        EXPECT_EQ(found.seconds, static_cast<double>(3 + ceil_log(2, nodes) + 3));
    }
}

}  // namespace
}  // namespace hcoll::test
