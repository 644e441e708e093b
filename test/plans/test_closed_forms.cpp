// SPDX-License-Identifier: BSD-3-Clause
// Steps, messages and bytes of every algorithm, counted from the plans of all ranks, against the closed forms in the heads of
// the algorithms' files: the functions here are those heads' words.
//
// `steps` are messages on the longest path where a rank sends and receives one at a time, `waits` those where it sends and
// receives any number (steps_of and dependencies_of of plan_statistics.hpp). Bytes are in units of the message, m.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "plan_cases.hpp"
#include "tuning/machine_model.hpp"
#include "tuning/plan_statistics.hpp"
#include "tuning/price.hpp"
#include "tuning/settings.hpp"

namespace hcoll {

static void PrintTo(Collective of, std::ostream* out) { *out << name_of(of); }

}  // namespace hcoll

namespace hcoll::test {
namespace {

struct Counted {
    PlanStatistics sent;
    PathLength steps;
    PathLength waits;
    double message = 1;  // bytes

    double total() const { return bytes(sent.all.total); }
    double busiest_rank() const { return bytes(sent.all.busiest_rank); }
    double network() const { return bytes(sent[Link::network].total); }
    double network_of_node() const { return bytes(sent[Link::network].busiest_node); }
    double network_of_rank() const { return bytes(sent[Link::network].busiest_rank); }
    double bytes(const Traffic& traffic) const { return static_cast<double>(traffic.bytes) / message; }
};

PlanCase call(Collective collective, std::string_view choice_text, const Layout& layout, int root,
              std::uint64_t bytes) {
    AlgorithmChoice choice;
    const auto problem = parse_choice(collective, choice_text, choice);
    EXPECT_FALSE(problem) << problem.value_or("");
    PlanCase plan_case;
    plan_case.algorithm = choice.algorithm;
    plan_case.parameters = choice.parameters;
    plan_case.ranks = layout.placement->ranks();
    plan_case.root = root;
    plan_case.units = bytes;
    plan_case.layout = layout;
    return plan_case;
}

Counted count(const PlanCase& plan_case) {
    const std::vector<Plan> plans = build_plans(plan_case);
    const Placement& placement = *plan_case.layout.placement;
    return {statistics_of(plans, placement, plan_case.unit_bytes), steps_of(plans, placement),
            dependencies_of(plans, placement), static_cast<double>(plan_case.units * plan_case.unit_bytes)};
}

Counted count(Collective collective, std::string_view choice, const Layout& layout, int root = 0,
              std::uint64_t bytes = 9240) {
    return count(call(collective, choice, layout, root, bytes));
}

Layout one_node(int ranks) { return block_layout({ranks}); }
Layout grid(int nodes, int ppn, int sockets = 1) {
    return block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ppn), sockets);
}

int log2_floor(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }
int log2_ceil(int value) { return static_cast<int>(std::bit_width(static_cast<unsigned>(value) - 1)); }
bool is_power_of_two(int value) { return std::has_single_bit(static_cast<unsigned>(value)); }
int power(int base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }
int log_floor(int base, int value) { return value < base ? 0 : 1 + log_floor(base, value / base); }
int log_ceil(int base, int value) {
    const int floor = log_floor(base, value);
    return power(base, floor) == value ? floor : floor + 1;
}

constexpr double tiny = 1e-9;
constexpr int most_ranks = 40;
constexpr std::uint64_t divisible = 64;  // by every power of two here; times n, by n as well

// m is a multiple of S segments of any number of units that halve evenly.
std::string segmented(std::string_view algorithm, int segments, std::uint64_t segment_bytes) {
    return std::string(algorithm) + ":segment=" + std::to_string(segments == 1 ? 0 : segment_bytes);
}

// ---- bcast_tree.cpp, reduce_tree.cpp ------------------------------------------------------------------------------------

class OfTrees : public testing::TestWithParam<Collective> {
protected:
    static constexpr std::uint64_t segment_bytes = 64;

    static bool is_bcast() { return GetParam() == Collective::bcast; }
    static Counted count_tree(std::string_view algorithm, int ranks, int segments, int root = 0) {
        return count(GetParam(), segmented(algorithm, segments, segment_bytes), one_node(ranks), root,
                     segment_bytes * static_cast<std::uint64_t>(segments));
    }
    // What all trees have in common: every rank but the root receives (Reduce: sends) the message once.
    static void expect_bytes(const Counted& found, int ranks, double of_root) {
        EXPECT_NEAR(found.total(), ranks - 1, tiny) << ranks;
        EXPECT_NEAR(found.busiest_rank(), is_bcast() ? of_root : 1, tiny) << ranks;
    }
};
INSTANTIATE_TEST_SUITE_P(ClosedForms, OfTrees, testing::Values(Collective::bcast, Collective::reduce),
                         [](const auto& of_test) { return std::string(name_of(of_test.param)); });

TEST_P(OfTrees, Flat) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int segments : {1, 3, 8}) {
            const Counted found = count_tree("flat", n, segments);
            EXPECT_EQ(found.steps.all, segments * (n - 1)) << n;
            expect_bytes(found, n, n - 1);
        }
}

TEST_P(OfTrees, Chain) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int segments : {1, 3, 8}) {
            const Counted found = count_tree("chain", n, segments);
            EXPECT_EQ(found.steps.all, n - 1 + segments - 1) << n;
            expect_bytes(found, n, 1);
        }
}

TEST_P(OfTrees, Ring) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int segments : {1, 3, 8}) {
            const Counted found = count_tree("ring", n, segments);
            const int first = is_bcast() ? n / 2 + 1 : (n + 1) / 2;
            EXPECT_EQ(found.steps.all, n == 2 ? segments : first + 2 * (segments - 1)) << n << " " << segments;
            expect_bytes(found, n, n == 2 ? 1 : 2);
        }
}

TEST_P(OfTrees, Linear) {
    for (int n = 2; n <= 17; ++n)
        for (int root = 0; root < n; ++root)
            for (const int segments : {1, 3, 8}) {
                const Counted found = count_tree("linear", n, segments, root);
                const int below = root;
                const int above = n - 1 - root;
                const bool has_two_arms = below > 0 && above > 0;
                int steps = n - 1 + segments - 1;
                if (has_two_arms && is_bcast()) steps = std::max(above, below + 1) + 2 * (segments - 1);
                // The shorter arm delivers while the longer one fills.
                if (has_two_arms && !is_bcast())
                    steps = std::max(std::max(below, above) + segments - 1, std::min(below, above) + 2 * segments - 1);
                EXPECT_EQ(found.steps.all, steps) << n << " " << root << " " << segments;
                expect_bytes(found, n, has_two_arms ? 2 : 1);
            }
}

TEST_P(OfTrees, Binary) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int segments : {1, 3, 8}) {
            const Counted found = count_tree("binary", n, segments);
            const bool is_full = is_power_of_two(n + 1);
            const int form = 2 * log2_floor(n) + 2 * (segments - 1);
            EXPECT_LE(found.steps.all, form + (is_bcast() || is_full ? 0 : 1)) << n;
            EXPECT_GE(found.steps.all, is_full ? form : 0) << n;
            expect_bytes(found, n, n == 2 ? 1 : 2);
        }
}

TEST_P(OfTrees, Binomial) {
    for (int n = 2; n <= most_ranks; ++n) {
        const Counted found = count_tree("binomial", n, 1);
        EXPECT_EQ(found.steps.all, log2_ceil(n)) << n;
        expect_bytes(found, n, log2_ceil(n));
    }
}

TEST_P(OfTrees, KNomial) {
    for (const int k : {2, 3, 4, 8})
        for (int n = 2; n <= 70; ++n) {
            const Counted found =
                count(GetParam(), "k_nomial:segment=0,radix=" + std::to_string(k), one_node(n), 0, segment_bytes);
            // Of n - 1: its digits to the base k, the highest as it is, all others k - 1.
            const int high = log_floor(k, n - 1);
            const int children_of_root = high * (k - 1) + (n - 1) / power(k, high);
            EXPECT_EQ(found.steps.all, children_of_root) << k << " " << n;
            EXPECT_LE(children_of_root, (k - 1) * log_ceil(k, n));
            EXPECT_LE(found.waits.all, log_ceil(k, n)) << k << " " << n;
            expect_bytes(found, n, children_of_root);
        }
}

TEST_P(OfTrees, TwoTree) {
    for (int n = 2; n <= 65; ++n)
        for (const int segments : {1, 3, 8, 32}) {
            const Counted found = count_tree("two_tree", n, segments);
            EXPECT_GE(found.steps.all, 2 * segments + log2_ceil(n) - 1) << n << " " << segments;
            EXPECT_LE(found.steps.all, 2 * segments + 2 * log2_ceil(n) + 2 + segments / 2) << n << " " << segments;
            EXPECT_NEAR(found.total(), n - 1, tiny);
            EXPECT_LE(found.busiest_rank(), 1) << n;
        }
}

TEST(ClosedForms, OfAReduceThatDoesNotCommuteToARootThatIsNotTheFirst) {
    for (const char* algorithm : {"chain", "binary", "binomial", "k_nomial"})
        for (const int n : {2, 5, 8, 13}) {
            PlanCase ordered = call(Collective::reduce, segmented(algorithm, 1, 0), one_node(n), 0, divisible);
            const Counted at_first = count(ordered);
            ordered.ordered = true;
            ordered.root = n / 2;
            const Counted found = count(ordered);
            EXPECT_NEAR(found.total(), n, tiny) << algorithm << n;
            EXPECT_NEAR(found.busiest_rank(), 1, tiny);
            EXPECT_EQ(found.steps.all, at_first.steps.all + 1) << algorithm << n;
        }
}

// ---- scatter and allgather, Rabenseifner ---------------------------------------------------------------------------------

TEST(ClosedForms, OfScatterAndAllgather) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int root : {0, n / 2}) {
            const int log = log2_floor(n);
            const double p = power(2, log);
            const double r = n - p;
            const Counted found = count(Collective::bcast, "scatter_allgather", one_node(n), root, divisible);
            EXPECT_EQ(found.steps.all, 2 * log + (r > 0 ? 1 : 0)) << n;
            EXPECT_NEAR(found.total(), p - 1 + log / 2.0 + r, tiny) << n;
            EXPECT_NEAR(found.busiest_rank(), 2 * (p - 1) / p + (r > 0 ? 1 : 0), tiny) << n;
        }
}

TEST(ClosedForms, OfScatterAndAllgatherAroundARing) {
    for (int n = 2; n <= most_ranks; ++n) {
        const std::uint64_t bytes = divisible * static_cast<std::uint64_t>(n);
        const Counted found = count(Collective::bcast, "scatter_ring", one_node(n), n / 3, bytes);
        double scatter = 0;
        for (int v = 1; v < n; ++v) scatter += static_cast<double>(std::min(v & -v, n - v)) / n;
        EXPECT_EQ(found.steps.all, log2_ceil(n) + n - 1) << n;
        EXPECT_NEAR(found.total(), n - 1 + scatter, tiny) << n;
        EXPECT_NEAR(scatter, is_power_of_two(n) ? log2_floor(n) / 2.0 : scatter, tiny);
        EXPECT_NEAR(found.busiest_rank(), 2.0 * (n - 1) / n, tiny) << n;
    }
}

TEST(ClosedForms, OfRabenseifnersReduce) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int root : {0, 1, n - 1}) {
            const int log = log2_floor(n);
            const double p = power(2, log);
            const double r = n - p;
            const Blocks blocks{n, power(2, log)};
            const bool root_is_served = !blocks.is_first(root);
            const Counted found = count(Collective::reduce, "rabenseifner", one_node(n), root, divisible);
            EXPECT_EQ(found.steps.all, 2 * log + (r > 0 ? 1 : 0) + (root_is_served ? 1 : 0)) << n << " " << root;
            EXPECT_NEAR(found.total(), p - 1 + log / 2.0 + r + (root_is_served ? 1 : 0), tiny) << n << " " << root;
            EXPECT_NEAR(found.busiest_rank(), (p - 1) / p + (root_is_served ? 1 : 0.5), tiny) << n << " " << root;
        }
}

TEST(ClosedForms, OfRabenseifnersAllreduce) {
    for (int n = 2; n <= most_ranks; ++n) {
        const int log = log2_floor(n);
        const double p = power(2, log);
        const double r = n - p;
        const Counted found = count(Collective::allreduce, "rabenseifner", one_node(n), 0, divisible);
        EXPECT_EQ(found.steps.all, 2 * log + (r > 0 ? 2 : 0)) << n;
        EXPECT_NEAR(found.total(), 2 * (p - 1) + 2 * r, tiny) << n;
        EXPECT_NEAR(found.busiest_rank(), 2 * (p - 1) / p + (r > 0 ? 1 : 0), tiny) << n;
    }
}

// ---- allreduce ----------------------------------------------------------------------------------------------------------

TEST(ClosedForms, OfRecursiveDoubling) {
    for (int n = 2; n <= 70; ++n) {
        const int k = log2_floor(n);
        const int p = power(2, k);
        const int r = n - p;
        const Counted found = count(Collective::allreduce, "recursive_doubling", one_node(n));
        EXPECT_EQ(found.steps.all, k + (r > 0 ? 2 : 0)) << n;
        EXPECT_NEAR(found.total(), p * k + 2 * r, tiny) << n;
        EXPECT_NEAR(found.busiest_rank(), k + (r > 0 ? 1 : 0), tiny) << n;
    }
}

TEST(ClosedForms, OfRecursiveMultiplying) {
    for (const int k : {2, 3, 4, 8})
        for (int n = 2; n <= 70; ++n) {
            const int t = log_floor(k, n);
            const int p = power(k, t);
            const int longest_run = (n + p - 1) / p;
            const Counted found =
                count(Collective::allreduce, "recursive_multiplying:radix=" + std::to_string(k), one_node(n));
            EXPECT_GE(found.waits.all, t) << k << " " << n;
            EXPECT_LE(found.waits.all, t + (n > p ? 2 : 0)) << k << " " << n;
            EXPECT_GE(found.steps.all, t * (k - 1)) << k << " " << n;
            EXPECT_LE(found.steps.all, t * (k - 1) + 2 * (longest_run - 1) + (k > 2 ? 3 * t : 0)) << k << " " << n;
            EXPECT_NEAR(found.total(), p * t * (k - 1) + 2 * (n - p), tiny) << k << " " << n;
            EXPECT_NEAR(found.busiest_rank(), t * (k - 1) + longest_run - 1, tiny) << k << " " << n;
        }
}

TEST(ClosedForms, OfTheRing) {
    for (int n = 2; n <= most_ranks; ++n) {
        const Counted found =
            count(Collective::allreduce, "ring", one_node(n), 0, divisible * static_cast<unsigned>(n));
        EXPECT_EQ(found.steps.all, 2 * (n - 1)) << n;
        EXPECT_EQ(found.waits.all, 2 * (n - 1)) << n;
        EXPECT_NEAR(found.total(), 2 * (n - 1), tiny) << n;
        EXPECT_NEAR(found.busiest_rank(), 2.0 * (n - 1) / n, tiny) << n;
    }
    for (const auto& [nodes, ppn] : {std::pair{4, 4}, std::pair{7, 3}, std::pair{16, 2}}) {
        const int n = nodes * ppn;
        const std::uint64_t bytes = divisible * static_cast<unsigned>(n);
        for (const Layout& layout : {grid(nodes, ppn), cyclic_layout(n, nodes)}) {
            const Counted found = count(Collective::allreduce, "ring", layout, 0, bytes);
            EXPECT_NEAR(found.network_of_node(), 2.0 * (n - 1) / n, tiny) << layout.name;
            EXPECT_NEAR(found.network(), nodes * 2.0 * (n - 1) / n, tiny) << layout.name;
        }
    }
}

TEST(ClosedForms, OfReduceAndBcast) {
    for (int n = 2; n <= most_ranks; ++n) {
        const Counted binomial = count(Collective::allreduce, "reduce_bcast:segment=0", one_node(n));
        EXPECT_EQ(binomial.steps.all, 2 * log2_ceil(n)) << n;
        EXPECT_NEAR(binomial.total(), 2 * (n - 1), tiny) << n;
        EXPECT_NEAR(binomial.busiest_rank(), log2_ceil(n), tiny) << n;
        const Counted chain = count(Collective::allreduce, "reduce_bcast:tree=chain,segment=0", one_node(n));
        EXPECT_EQ(chain.steps.all, 2 * (n - 1)) << n;
        EXPECT_NEAR(chain.busiest_rank(), n == 2 ? 1 : 2, tiny) << n;
    }
}

// ---- algorithms that know where ranks are ---------------------------------------------------------------------------------

// Nodes, sockets of a node, ranks of a socket.
struct Machine {
    int nodes;
    int sockets;
    int cores;

    int ppn() const { return sockets * cores; }
    int ranks() const { return nodes * ppn(); }
    Layout layout() const { return grid(nodes, ppn(), sockets); }
    // With binomial trees at all levels, and with chains.
    int steps_of_binomials() const { return log2_ceil(nodes) + log2_ceil(sockets) + log2_ceil(cores); }
    int steps_of_chains() const { return nodes - 1 + sockets - 1 + cores - 1; }
};
constexpr Machine machines[] = {{1, 2, 4}, {2, 1, 4}, {4, 2, 2}, {4, 1, 4},  {8, 2, 4},
                                {5, 2, 3}, {3, 1, 5}, {6, 4, 3}, {16, 2, 8}, {17, 1, 1}};

std::vector<Layout> uneven_layouts() {
    return {block_layout({5, 1, 3}), block_layout({1, 6, 2, 4}, 2), cyclic_layout(14, 4, 2), cyclic_layout(11, 3)};
}

TEST(ClosedForms, OfHanAndTheTopologyAwareTree) {
    for (const Collective collective : {Collective::bcast, Collective::reduce})
        for (const Machine& machine : machines)
            for (const int root : {0, machine.ranks() / 2, machine.ranks() - 1}) {
                const int n = machine.ranks();
                const Counted han = count(collective, "han", machine.layout(), root);
                const Counted tree = count(collective, "topology_tree:segment=0", machine.layout(), root);
                EXPECT_EQ(han.steps.all, machine.steps_of_binomials()) << n;
                EXPECT_EQ(han.steps[Link::network], log2_ceil(machine.nodes)) << n;
                EXPECT_EQ(tree.steps.all, machine.steps_of_chains()) << n;
                for (const Counted& found : {han, tree}) {
                    EXPECT_NEAR(found.total(), n - 1, tiny);
                    EXPECT_NEAR(found.network(), machine.nodes - 1, tiny);
                }
                const bool is_bcast = collective == Collective::bcast;
                EXPECT_NEAR(han.network_of_node(), is_bcast ? log2_ceil(machine.nodes) : machine.nodes > 1, tiny) << n;
                EXPECT_NEAR(han.busiest_rank(), is_bcast ? machine.steps_of_binomials() : 1, tiny) << n;
                EXPECT_NEAR(tree.network_of_node(), machine.nodes > 1, tiny) << n;
            }
    for (const Collective collective : {Collective::bcast, Collective::reduce})
        for (const Layout& layout : uneven_layouts()) {
            const Placement& placement = *layout.placement;
            const Counted found = count(collective, "han", layout, placement.ranks() - 1);
            EXPECT_NEAR(found.total(), placement.ranks() - 1, tiny) << layout.name;
            EXPECT_NEAR(found.network(), placement.nodes() - 1, tiny) << layout.name;
        }
}

TEST(ClosedForms, OfHanWithTheMpiLibrarysCollectiveOfLeaders) {
    for (const Machine& machine : machines) {
        if (machine.nodes == 1) continue;
        const auto on_nodes = machine.nodes * (machine.ppn() - 1);
        const auto leaders = static_cast<std::uint64_t>(machine.nodes);
        for (const Collective collective : {Collective::bcast, Collective::reduce, Collective::allreduce}) {
            const Counted found = count(collective, "han:network=vendor", machine.layout());
            EXPECT_EQ(found.sent.collectives, leaders);
            EXPECT_NEAR(found.network(), 0, tiny);
            EXPECT_NEAR(found.total(), (collective == Collective::allreduce ? 2 : 1) * on_nodes, tiny);
        }
    }
    const Machine machine{4, 1, 4};
    // In a Bcast a root that is no leader sends to the one of its node, which then has what it would get; in a Reduce it
    // gets the result from that leader.
    EXPECT_NEAR(count(Collective::bcast, "han:network=vendor", machine.layout(), 5).total(), 12, tiny);
    EXPECT_NEAR(count(Collective::reduce, "han:network=vendor", machine.layout(), 5).total(), 13, tiny);
}

TEST(ClosedForms, OfHansAllreduce) {
    for (const Machine& machine : machines) {
        const Counted found = count(Collective::allreduce, "han", machine.layout());
        EXPECT_EQ(found.steps.all, 2 * machine.steps_of_binomials()) << machine.ranks();
        EXPECT_EQ(found.steps[Link::network], 2 * log2_ceil(machine.nodes)) << machine.ranks();
        EXPECT_NEAR(found.total(), 2 * (machine.ranks() - 1), tiny);
        EXPECT_NEAR(found.network(), 2 * (machine.nodes - 1), tiny);
        EXPECT_NEAR(found.busiest_rank(), machine.steps_of_binomials(), tiny);
        EXPECT_NEAR(found.network_of_node(), log2_ceil(machine.nodes), tiny);
    }
    for (const Layout& layout : uneven_layouts()) {
        const Counted found = count(Collective::allreduce, "han", layout);
        EXPECT_NEAR(found.total(), 2 * (layout.placement->ranks() - 1), tiny) << layout.name;
        EXPECT_NEAR(found.network(), 2 * (layout.placement->nodes() - 1), tiny) << layout.name;
    }
}

TEST(ClosedForms, OfSmp) {
    for (const Machine& machine : machines) {
        const int t = log2_floor(machine.nodes);
        const int p = power(2, t);
        const int r = machine.nodes - p;
        const int on_node = log2_ceil(machine.sockets) + log2_ceil(machine.cores);
        const Counted found = count(Collective::allreduce, "smp", machine.layout());
        EXPECT_EQ(found.steps.all, 2 * on_node + t + (r > 0 ? 2 : 0)) << machine.ranks();
        EXPECT_EQ(found.steps[Link::network], t + (r > 0 ? 2 : 0)) << machine.ranks();
        EXPECT_NEAR(found.network(), p * t + 2 * r, tiny);
        EXPECT_NEAR(found.network_of_node(), t + (r > 0 ? 1 : 0), tiny);
        EXPECT_NEAR(found.network_of_rank(), t + (r > 0 ? 1 : 0), tiny);
        EXPECT_NEAR(found.total(), p * t + 2 * r + 2 * machine.nodes * (machine.ppn() - 1), tiny);
    }
    const Counted radix_4 = count(Collective::allreduce, "smp:radix=4", grid(16, 4));
    EXPECT_EQ(radix_4.waits[Link::network], 2);
    EXPECT_NEAR(radix_4.network(), 16 * 2 * 3, tiny);
    EXPECT_NEAR(radix_4.network_of_node(), 2 * 3, tiny);
}

TEST(ClosedForms, OfNapWhereNodesAreAPowerOfTheirRanks) {
    for (const auto& [p, most] : {std::pair{2, 6}, std::pair{4, 4}, std::pair{8, 2}, std::pair{16, 2}})
        for (int t = 1; t <= most; ++t) {
            const int nodes = power(p, t);
            const int rounds = log2_ceil(p);
            const Counted found = count(Collective::allreduce, "nap", grid(nodes, p), 0, 8);
            const double on_nodes = 1.0 * nodes * p * rounds * (1 + t);
            EXPECT_EQ(found.steps[Link::network], t) << nodes << " x " << p;
            EXPECT_EQ(found.waits[Link::network], t) << nodes << " x " << p;
            EXPECT_EQ(found.waits.all, t + (1 + t) * rounds) << nodes << " x " << p;
            EXPECT_GE(found.steps.all, t + (1 + t) * rounds) << nodes << " x " << p;
            EXPECT_LE(found.steps.all, t + (1 + t) * rounds + 2 * t) << nodes << " x " << p;
            EXPECT_NEAR(found.network(), 1.0 * nodes * t * (p - 1), tiny);
            EXPECT_NEAR(found.network_of_node(), t * (p - 1), tiny);
            EXPECT_NEAR(found.network_of_rank(), t, tiny);
            EXPECT_NEAR(found.total(), found.network() + on_nodes, tiny);
            EXPECT_NEAR(found.busiest_rank(), t + (1 + t) * rounds, tiny);
        }
}

TEST(ClosedForms, OfNapWhoseNodesExchangePieces) {
    for (const auto& [p, most] : {std::pair{2, 6}, std::pair{4, 4}, std::pair{8, 2}, std::pair{16, 2}})
        for (int t = 1; t <= most; ++t) {
            const int nodes = power(p, t);
            const int rounds = 2 * log2_ceil(p);
            const Counted found =
                count(Collective::allreduce, "nap:exchange=rabenseifner", grid(nodes, p), 0, divisible);
            EXPECT_EQ(found.waits[Link::network], t) << nodes << " x " << p;
            EXPECT_EQ(found.waits.all, t + (1 + t) * rounds) << nodes << " x " << p;
            EXPECT_NEAR(found.network(), 1.0 * nodes * t * (p - 1), tiny);
            EXPECT_NEAR(found.network_of_node(), t * (p - 1), tiny);
            EXPECT_NEAR(found.network_of_rank(), t, tiny);
            EXPECT_NEAR(found.total(), found.network() + 2.0 * nodes * (1 + t) * (p - 1), tiny);
            EXPECT_NEAR(found.busiest_rank(), t + 2.0 * (1 + t) * (p - 1) / p, tiny);
        }
}

TEST(ClosedForms, OfNapForAnyNumberOfNodes) {
    for (const int p : {2, 3, 4, 5, 8})
        for (int nodes = 2; nodes <= 30; ++nodes) {
            const Counted found = count(Collective::allreduce, "nap", grid(nodes, p), 0, 8);
            const int steps = log_ceil(p, nodes);
            EXPECT_EQ(found.waits[Link::network], steps) << nodes << " x " << p;
            EXPECT_LE(found.steps[Link::network], 2 * steps) << nodes << " x " << p;
            EXPECT_LE(found.network_of_node(), steps * p) << nodes << " x " << p;
            EXPECT_LE(found.network_of_rank(), 2 * steps) << nodes << " x " << p;
        }
    for (const Layout& layout : uneven_layouts()) {
        const int nodes = layout.placement->nodes();
        const int radix = std::max(2, layout.placement->ranks() / nodes);
        EXPECT_EQ(count(Collective::allreduce, "nap", layout).waits[Link::network], log_ceil(radix, nodes))
            << layout.name;
    }
}

// The example of Bienz et al. 2019, section III: 16 nodes of 16 ranks take one step over the network, 4,096 three.
TEST(ClosedForms, OfNapOver65536Ranks) {
    EXPECT_EQ(count(Collective::allreduce, "nap", grid(16, 16), 0, 8).steps[Link::network], 1);
    if (many_ranks < 1024) GTEST_SKIP() << "65,536 ranks are left out under a sanitizer";

    const auto begin = std::chrono::steady_clock::now();
    const PlanCase plan_case = call(Collective::allreduce, "nap", grid(4096, 16), 0, 8);
    const std::vector<Plan> plans = build_plans(plan_case);
    const Placement& placement = *plan_case.layout.placement;
    const Price found = price(plans, placement, unit_latency(Link::network), 1);
    const PlanStatistics sent = statistics_of(plans, placement, 1);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("NAP over 4096 nodes of 16 ranks: %.0f network steps, counted in %.1f s\n", found.seconds,
                took.count());
    EXPECT_EQ(found.seconds, 3);
    EXPECT_EQ(sent[Link::network].total, (Traffic{4096ULL * 3 * 15, 4096ULL * 3 * 15 * 8}));
    EXPECT_EQ(sent[Link::network].busiest_rank, (Traffic{3, 3 * 8}));
    EXPECT_EQ(sent[Link::network].busiest_node, (Traffic{3 * 15, 3 * 15 * 8}));
}

TEST(ClosedForms, OfMultiLeader) {
    for (const auto& [nodes, p] : {std::pair{2, 4}, std::pair{4, 4}, std::pair{8, 8}, std::pair{16, 5}})
        for (const int leaders : {1, 2, 4}) {
            const int t = log2_floor(nodes);
            const std::string count_of_leaders = "leaders=" + std::to_string(leaders);
            const Counted halving = count(Collective::allreduce, "multi_leader:segment=0," + count_of_leaders,
                                          grid(nodes, p), 0, divisible * 16);
            const double of_node = 2.0 * (nodes - 1) / nodes;
            EXPECT_EQ(halving.waits[Link::network], 2 * t) << nodes << " x " << p;
            EXPECT_EQ(halving.steps[Link::network], 2 * t) << nodes << " x " << p;
            EXPECT_EQ(halving.waits.all, 2 + 2 * t) << nodes << " x " << p;
            EXPECT_NEAR(halving.network_of_node(), of_node, tiny);
            EXPECT_NEAR(halving.network_of_rank(), of_node / leaders, tiny);
            EXPECT_NEAR(halving.total(), nodes * (of_node + 2 * (p - 1)), tiny);
            const double of_leader = (leaders - 1.0 + of_node + p - 1) / leaders;
            EXPECT_NEAR(halving.busiest_rank(), of_leader, tiny) << nodes << " x " << p << " " << leaders;

            const Counted doubling =
                count(Collective::allreduce,
                      "multi_leader:segment=0,radix=2,exchange=recursive_multiplying," + count_of_leaders,
                      grid(nodes, p), 0, divisible * 16);
            EXPECT_EQ(doubling.waits[Link::network], t) << nodes << " x " << p;
            EXPECT_EQ(doubling.waits.all, 2 + t) << nodes << " x " << p;
            EXPECT_NEAR(doubling.network_of_node(), t, tiny);
            EXPECT_NEAR(doubling.network_of_rank(), 1.0 * t / leaders, tiny);
        }
    // A ring of leaders sends as little, whatever the number of nodes.
    for (const auto& [nodes, p, leaders] : {std::tuple{2, 4, 1}, std::tuple{5, 4, 2}, std::tuple{8, 3, 3}}) {
        const Counted ring =
            count(Collective::allreduce, "multi_leader:segment=0,exchange=ring,leaders=" + std::to_string(leaders),
                  grid(nodes, p), 0, static_cast<std::uint64_t>(nodes * leaders) * divisible);
        EXPECT_EQ(ring.waits.all, 2 + 2 * (nodes - 1)) << nodes << " x " << p;
        EXPECT_NEAR(ring.network_of_node(), 2.0 * (nodes - 1) / nodes, tiny) << nodes << " x " << p;
        EXPECT_NEAR(ring.network_of_rank(), 2.0 * (nodes - 1) / nodes / leaders, tiny) << nodes << " x " << p;
    }
    // Every rank a leader: none sends more than another, and the tree says how many wait for one another.
    for (const auto& [nodes, p] : {std::pair{2, 4}, std::pair{8, 8}, std::pair{4, 5}, std::pair{16, 12}})
        for (const auto& [tree, messages] : {std::pair{"chain", p - 1}, std::pair{"binomial", log2_floor(p)}}) {
            const std::string setting =
                "multi_leader:segment=0,leaders=" + std::to_string(p) + ",node=" + std::string(tree);
            const Counted all =
                count(Collective::allreduce, setting, grid(nodes, p), 0, divisible * 16 * static_cast<unsigned>(p));
            const double of_node = 2.0 * (nodes - 1) / nodes;
            EXPECT_EQ(all.waits.all, 2 * messages + 2 * log2_floor(nodes)) << nodes << " x " << p << " " << tree;
            EXPECT_NEAR(all.network_of_rank(), of_node / p, tiny);
            EXPECT_NEAR(all.total(), nodes * (of_node + 2 * (p - 1)), tiny);
            EXPECT_NEAR(all.busiest_rank(), (of_node + 2.0 * (p - 1)) / p, tiny) << nodes << " x " << p << " " << tree;
        }
    // A node with fewer ranks bounds the leaders for all.
    EXPECT_NEAR(count(Collective::allreduce, "multi_leader:segment=0", block_layout({4, 2, 4, 4}), 0, divisible)
                    .network_of_rank(),
                1.5 / 2, tiny);
}

// ---- reproducible -------------------------------------------------------------------------------------------------------

TEST(ClosedForms, OfTheReproducibleReduction) {
    for (int n = 2; n <= most_ranks; ++n)
        for (const int root : {0, n / 2, n - 1}) {
            const Counted found = count(Collective::reduce, "reproducible", one_node(n), root);
            const bool is_sent_on = found.total() > n - 1 + tiny;
            EXPECT_NEAR(found.total(), n - 1 + (is_sent_on ? 1 : 0), tiny) << n << " " << root;
            EXPECT_LE(found.waits.all, log2_ceil(n) + (is_sent_on ? 1 : 0)) << n << " " << root;
            EXPECT_FALSE(root == 0 && is_sent_on) << n;
            EXPECT_NEAR(found.busiest_rank(), 1, tiny);
        }
    for (const Machine& machine : machines) {
        const Counted reduce = count(Collective::reduce, "reproducible", machine.layout());
        const Counted allreduce = count(Collective::allreduce, "reproducible", machine.layout());
        EXPECT_LE(reduce.waits.all, log2_ceil(machine.ranks()));
        EXPECT_LE(allreduce.waits.all, log2_ceil(machine.ranks()) + machine.steps_of_binomials());
        EXPECT_NEAR(allreduce.total(), 2 * (machine.ranks() - 1), tiny);
        if (!is_power_of_two(machine.ppn())) continue;
        EXPECT_NEAR(reduce.network(), machine.nodes - 1, tiny) << machine.ranks();
        EXPECT_NEAR(allreduce.network(), 2 * (machine.nodes - 1), tiny) << machine.ranks();
    }
}

// ---- docs/algorithms.md ---------------------------------------------------------------------------------------------------

TEST(ClosedForms, AreInTheTableOfTheDocumentsForEveryAlgorithm) {
    std::ifstream document(HCOLL_ALGORITHMS_MD);
    ASSERT_TRUE(document.is_open());
    std::vector<std::string> rows;
    for (std::string line; std::getline(document, line);)
        if (line.starts_with("| ")) rows.push_back(line);
    for (const Algorithm& algorithm : algorithms()) {
        const std::string begin = "| " + std::string(name_of(algorithm.collective)) + " |";
        const std::string name = "`" + std::string(algorithm.name) + "`";
        EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                                [&](const std::string& row) {
                                    return row.starts_with(begin) &&
                                           row.substr(0, row.find('|', begin.size())).find(name) != std::string::npos;
                                }))
            << begin << name;
    }
}

// ---- plan_statistics.hpp ------------------------------------------------------------------------------------------------

// Counted from the plans, what is sent is what the engine sends.
TEST(PlanStatistics, CountWhatIsSent) {
    const Layout layout = block_layout({5, 1, 3, 4}, 2);
    for (const Algorithm& algorithm : algorithms()) {
        PlanCase plan_case;
        plan_case.algorithm = &algorithm;
        plan_case.parameters = algorithm.defaults;
        plan_case.parameters.pipeline.segment_bytes = 1000;
        plan_case.ranks = layout.placement->ranks();
        plan_case.units = 10'001;
        plan_case.layout = layout;
        const std::vector<Plan> plans = build_plans(plan_case);
        std::vector<MessageTime> messages;
        const Price found = price(plans, *layout.placement, default_machine(), 3, {}, {.messages = &messages});
        const PlanStatistics counted = statistics_of(plans, *layout.placement, 3);
        std::uint64_t total = 0;
        for (const Link link : {Link::socket, Link::node, Link::network}) {
            EXPECT_EQ(counted[link].total, found[link].total) << algorithm.name;
            EXPECT_EQ(counted[link].busiest_rank, found[link].busiest_rank) << algorithm.name;
            EXPECT_EQ(counted[link].busiest_node, found[link].busiest_node) << algorithm.name;
            total += found[link].total.messages;
        }
        EXPECT_EQ(counted.all.total.messages, total) << algorithm.name;
        EXPECT_EQ(messages.size(), total) << algorithm.name;
    }
}

TEST(PlanStatistics, SayWhatTheBiggestPlanNeeds) {
    const Layout layout = one_node(4);
    const PlanCase plan_case = call(Collective::reduce, "binomial:segment=1k,sends=2,receives=4", layout, 0, 10 << 10);
    const PlanStatistics found = statistics_of(build_plans(plan_case), *layout.placement, 8);
    EXPECT_EQ(found.segments, 10U);
    EXPECT_EQ(found.segment_bytes, 8U << 10);
    EXPECT_GE(found.window, 4U);
    EXPECT_GT(found.scratch_bytes, 0U);
    EXPECT_GT(found.plan_bytes, found.steps * sizeof(Step));
}

}  // namespace
}  // namespace hcoll::test
