// SPDX-License-Identifier: BSD-3-Clause
// What collectives of short messages cost in cache lines, on layouts of real machines: as many as their groups within groups say, and as
// docs/results/node_lines.md has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "counted_calls.hpp"
#include "progress/node/node_collectives.hpp"
#include "published_designs.hpp"
#include "topology/virtual_layout.hpp"

namespace hcoll::counted {
namespace {

struct Machine {
    const char* name;
    const char* layout;
};
constexpr Machine machines[] = {
    {"2 packages x 8 caches of 8 cores", "1x2x1x8x8"},   {"2 packages x 48 cores, a cache each", "1x2x48"},
    {"4 NUMA nodes x 18 cores", "1x2x2x1x18"},           {"72 cores, one cache", "1x72"},
    {"2 packages x 6 caches of 16 cores", "1x2x1x6x16"},
};

Placement placed(const std::string& text, int ranks = 0) {
    VirtualLayout layout;
    EXPECT_EQ(VirtualLayout::parse(text, layout).value_or(""), "");
    std::vector<Seat> seats;
    EXPECT_EQ(layout.seats(ranks == 0 ? layout.places() : ranks, seats).value_or(""), "");
    return Placement(seats);
}

std::vector<NodeTree> trees_of(const Placement& placement) {
    std::vector<NodeTree> trees;
    for (int rank = 0; rank < placement.ranks(); ++rank)
        trees.emplace_back(placement, rank, NodeCollectives::flat_ranks);
    return trees;
}

// Lines on the way from `root` to `rank`.
int steps_from(const std::vector<NodeTree>& trees, int root, int rank) {
    int steps = 0;
    for (; rank != root; rank = trees[static_cast<std::size_t>(rank)].way_from(root).source) ++steps;
    return steps;
}

struct Expected {
    std::uint64_t transfers;
    int chain;
    int readers;
};

int longest_way(const std::vector<NodeTree>& trees, int root) {
    int longest = 0;
    for (int rank = 0; rank < static_cast<int>(trees.size()); ++rank)
        longest = std::max(longest, steps_from(trees, root, rank));
    return longest;
}

// Of the line that a rank has for a group, or of one of its lines.
using Readers = std::map<std::pair<int, std::size_t>, int>;
int most_of(const Readers& readers) {
    int most = 0;
    for (const auto& [line, count] : readers) most = std::max(most, count);
    return most;
}

// Each rank but the root has one line, its source's.
Expected of_bcast(const std::vector<NodeTree>& trees, int root) {
    Readers readers;
    for (int rank = 0; rank < static_cast<int>(trees.size()); ++rank) {
        const NodeTree::Way way = trees[static_cast<std::size_t>(rank)].way_from(root);
        if (rank != root) ++readers[{way.source, way.tier}];
    }
    return {trees.size() - 1, longest_way(trees, root), most_of(readers)};
}

// The same ways back, and each line has one reader.
Expected of_reduce(const std::vector<NodeTree>& trees, int root) {
    return {trees.size() - 1, longest_way(trees, root), 1};
}

// Up to the outermost group, there from all to all, and down again.
Expected of_all(const std::vector<NodeTree>& trees) {
    const std::vector<int>& outermost = trees.front().groups().back().members;
    const auto members = static_cast<int>(outermost.size());
    const auto ranks = static_cast<int>(trees.size());
    std::uint64_t transfers = 0;
    std::vector<int> below(trees.size(), 0);  // steps to the one of the outermost group that a rank has its lines from
    std::vector<int> height(trees.size(), 0);
    Readers readers;
    for (int rank = 0; rank < ranks; ++rank) {
        int at = rank;
        int steps = 0;
        for (;; ++steps) {
            if (std::find(outermost.begin(), outermost.end(), at) != outermost.end()) break;
            const NodeTree& tree = trees[static_cast<std::size_t>(at)];
            const std::size_t led = tree.groups_led();
            const int leader = tree.groups()[led].leader();
            if (steps == 0) ++readers[{leader, tree.tier_of(led)}];
            at = leader;
        }
        below[static_cast<std::size_t>(rank)] = steps;
        height[static_cast<std::size_t>(at)] = std::max(height[static_cast<std::size_t>(at)], steps);
        transfers += steps == 0 ? static_cast<std::uint64_t>(members - 1) : 2;
    }
    // A member of the outermost group waits for the highest of the others, and what is below it for that.
    int chain = 0;
    for (const int member : outermost) {
        int highest = height[static_cast<std::size_t>(member)];
        for (const int other : outermost)
            if (other != member) highest = std::max(highest, height[static_cast<std::size_t>(other)] + 1);
        chain = std::max(chain, highest + height[static_cast<std::size_t>(member)]);
    }
    return {transfers, chain, std::max(members - 1, most_of(readers))};
}

// A message in a slot: in the line of its header, or in lines of its own from that one's beginning on.
std::uint64_t lines_of(std::size_t begin, std::size_t bytes, std::size_t bytes_of_slot) {
    constexpr std::size_t line = 64;
    if (bytes_of_slot <= NodeCollectives::line_bytes) return 1;
    return 1 + (begin + bytes + line - 1) / line - begin / line;
}
std::uint64_t lines_of(std::size_t bytes) { return lines_of(0, bytes, bytes); }

// The ways of a reduction: each rank's message has the portions of all ranks below it.
Expected of_gather(const std::vector<NodeTree>& trees, int root, std::size_t bytes) {
    Expected expected = of_reduce(trees, root);
    expected.transfers = 0;
    for (int rank = 0; rank < static_cast<int>(trees.size()); ++rank) {
        const NodeTree& tree = trees[static_cast<std::size_t>(rank)];
        if (rank != root) expected.transfers += lines_of(tree.run_led(tree.groups_led(root)).size() * bytes);
    }
    return expected;
}

// Those of a broadcast: each rank has from its source's message what is for it and the ranks below it.
Expected of_scatter(const std::vector<NodeTree>& trees, int root, std::size_t bytes) {
    Expected expected = of_bcast(trees, root);
    expected.transfers = 0;
    Readers readers;  // of the lines of a slot, which is for all groups
    for (int rank = 0; rank < static_cast<int>(trees.size()); ++rank) {
        if (rank == root) continue;
        const NodeTree& tree = trees[static_cast<std::size_t>(rank)];
        const std::size_t led = tree.groups_led(root);
        const NodeTree::Run mine = tree.run_led(led);
        const NodeTree::Run theirs = tree.way_from(root).source == root
                                         ? NodeTree::Run{0, static_cast<int>(trees.size())}
                                         : tree.run_led_by(led, root);
        const std::size_t begin = static_cast<std::size_t>(mine.begin - theirs.begin) * bytes;
        expected.transfers += lines_of(begin, mine.size() * bytes, theirs.size() * bytes);
        if (theirs.size() * bytes <= NodeCollectives::line_bytes) continue;
        for (std::size_t line = begin / 64; line <= (begin + mine.size() * bytes - 1) / 64; ++line)
            ++readers[{tree.way_from(root).source, line}];
    }
    expected.readers = std::max(expected.readers, most_of(readers));
    return expected;
}

// Those of an allreduce: up go the portions of the ranks below, down goes the whole.
Expected of_allgather(const std::vector<NodeTree>& trees, std::size_t bytes) {
    Expected expected = of_all(trees);
    expected.transfers = 0;
    const std::vector<int>& outermost = trees.front().groups().back().members;
    Readers readers;  // of a leader's slot, which is for all groups
    for (int rank = 0; rank < static_cast<int>(trees.size()); ++rank) {
        const NodeTree& tree = trees[static_cast<std::size_t>(rank)];
        const bool is_in_last = std::find(outermost.begin(), outermost.end(), rank) != outermost.end();
        if (!is_in_last && trees.size() * bytes > NodeCollectives::line_bytes)
            ++readers[{tree.groups()[tree.groups_led()].leader(), 0}];
        const std::uint64_t up = lines_of(tree.run_led(tree.groups_led()).size() * bytes);
        expected.transfers += is_in_last ? (outermost.size() - 1) * up : up + lines_of(trees.size() * bytes);
    }
    expected.readers = std::max(expected.readers, most_of(readers));
    return expected;
}

void expect_counts(const Counts& counts, const Expected& expected, const std::string& what) {
    EXPECT_EQ(counts.all_transfers(), expected.transfers) << what;
    EXPECT_EQ(counts.chain, expected.chain) << what;
    EXPECT_EQ(counts.readers, expected.readers) << what;
    EXPECT_GE(counts.turns, counts.chain) << what;
}

void expect_as_the_groups_say(const Placement& placement, const std::string& where) {
    const std::vector<NodeTree> trees = trees_of(placement);
    const int ranks = placement.ranks();
    for (const int root : {0, ranks / 2, ranks - 1}) {
        const std::string what = where + ", root " + std::to_string(root);
        expect_counts(count_call(placement, Collective::bcast, 8, root), of_bcast(trees, root), "bcast on " + what);
        expect_counts(count_call(placement, Collective::reduce, 8, root), of_reduce(trees, root), "reduce on " + what);
    }
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{24}}) {
        for (const int root : {0, ranks / 2, ranks - 1}) {
            const std::string what = where + ", root " + std::to_string(root) + ", " + std::to_string(bytes) + " bytes";
            expect_counts(count_call(placement, Collective::gather, bytes, root), of_gather(trees, root, bytes),
                          "gather on " + what);
            expect_counts(count_call(placement, Collective::scatter, bytes, root), of_scatter(trees, root, bytes),
                          "scatter on " + what);
        }
        expect_counts(count_call(placement, Collective::allgather, bytes, 0), of_allgather(trees, bytes),
                      "allgather on " + where);
    }
    expect_counts(count_call(placement, Collective::allreduce, 8, 0), of_all(trees), "allreduce on " + where);
    expect_counts(count_call(placement, Collective::barrier, 0, 0), of_all(trees), "barrier on " + where);
}

TEST(LineCounts, AreWhatTheGroupsSayOnEveryMachine) {
    for (const Machine& machine : machines) {
        const Placement placement = placed(machine.layout);
        expect_as_the_groups_say(placement, machine.name);
        const auto others = static_cast<std::uint64_t>(placement.packages_of_node(0) - 1);
        EXPECT_EQ(count_call(placement, Collective::bcast, 8, 0).transfers[3], others) << machine.name;
        EXPECT_EQ(count_call(placement, Collective::reduce, 8, 0).transfers[3], others) << machine.name;
        EXPECT_EQ(count_call(placement, Collective::allreduce, 8, 0).transfers[3], 2 * others) << machine.name;
    }
    expect_as_the_groups_say(placed("1x2x4x4x8"), "256 ranks");
}

TEST(LineCounts, AreWhatTheGroupsSayForAnyNumberOfRanks) {
    for (const int ranks : {2, 3, 7, 8, 9, 16, 17, 31, 50, 65})
        expect_as_the_groups_say(placed("1x2x2x3x8", ranks), std::to_string(ranks) + " ranks");
}

// Where ranks do not sit in their order, they still go by place: between packages there is one line for each way.
TEST(LineCounts, CrossPackagesOnceOfRanksDealtOutOverThem) {
    std::vector<Seat> seats;
    for (int rank = 0; rank < 64; ++rank) seats.push_back({.node = 0, .socket = rank % 2, .cache = rank / 2 % 4});
    const Placement placement(seats);
    expect_as_the_groups_say(placement, "ranks dealt out");
    EXPECT_EQ(count_call(placement, Collective::bcast, 8, 5).transfers[3], 1U);
    EXPECT_EQ(count_call(placement, Collective::reduce, 8, 5).transfers[3], 1U);
    EXPECT_EQ(count_call(placement, Collective::allreduce, 8, 0).transfers[3], 2U);
}

// Of a slot as of a line, with all lines of the message.
TEST(LineCounts, OfSlotsAreThoseOfTheirLines) {
    const Placement placement = placed("1x2x1x2x6");
    const Counts line = count_call(placement, Collective::bcast, 8, 3);
    const Counts slot = count_call(placement, Collective::bcast, 640, 3);
    EXPECT_EQ(slot.all_transfers(), 11 * line.all_transfers());  // a header, and ten lines
    EXPECT_EQ(slot.chain, line.chain);
    EXPECT_GE(slot.readers, line.readers);  // a header for each group, but one slot for all
}

void expect_in_the_document(const std::string& table) {
    std::ifstream file(HCOLL_NODE_LINES_MD);
    const std::string document{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    EXPECT_NE(document.find(table), std::string::npos) << HCOLL_NODE_LINES_MD << " should have\n" << table;
}

TEST(LineCounts, AreThoseOfTheDocument) {
    const struct {
        const char* name;
        Collective collective;
    } calls[] = {{"bcast", Collective::bcast},         {"reduce", Collective::reduce},
                 {"allreduce", Collective::allreduce}, {"barrier", Collective::barrier},
                 {"gather", Collective::gather},       {"scatter", Collective::scatter},
                 {"allgather", Collective::allgather}};
    std::string table =
        "| node | collective | in a cache | in a socket | in a package | between packages | chain | turns | readers |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const Machine& machine : machines)
        for (const auto& call : calls) {
            const Counts counts = count_call(placed(machine.layout), call.collective, 8, 0);
            table += &call == calls ? "| " + std::string(machine.name) + " | " : "| | ";
            table += std::string(call.name) + " |";
            for (const std::uint64_t transfers : counts.transfers) table += " " + std::to_string(transfers) + " |";
            for (const int number : {counts.chain, counts.turns, counts.readers})
                table += " " + std::to_string(number) + " |";
            table += "\n";
        }
    expect_in_the_document(table);
}

// What it costs beside, in a row of calls, that places are used again: less than a fifth of a call's own lines.
TEST(LineCounts, ForPlacesThatAreUsedAgainAreThoseOfTheDocument) {
    std::string table = "| collective of 8 B | its own lines | for places |\n| --- | --- | --- |\n";
    const Placement placement = placed(machines[0].layout);
    for (const auto& [name, collective] : {std::pair{"bcast", Collective::bcast},
                                           {"reduce", Collective::reduce},
                                           {"allreduce", Collective::allreduce},
                                           {"gather", Collective::gather},
                                           {"scatter", Collective::scatter},
                                           {"allgather", Collective::allgather}}) {
        const std::uint64_t own = count_call(placement, collective, 8, 0).all_transfers();
        const double for_places = transfers_for_places(placement, collective, 8, 0);
        EXPECT_LE(for_places, static_cast<double>(own) / 5) << name;
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%.1f", for_places);
        table += "| " + std::string(name) + " | " + std::to_string(own) + " | " + text.data() + " |\n";
    }
    expect_in_the_document(table);
}

// Long messages: along the node's levels, and by ranks that know of none.
constexpr std::size_t long_bytes = 64 << 10;
constexpr std::pair<const char*, Collective> long_calls[] = {
    {"bcast", Collective::bcast}, {"reduce", Collective::reduce}, {"allreduce", Collective::allreduce}};

std::string in_messages(std::uint64_t lines) {
    const auto tenths = (lines * 64 * 10 + long_bytes / 2) / long_bytes;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

// How long a message of 1 MB takes what carries most of it, in us: out of a cache, into one, and between packages, where as many lines go one way as the
// other but for a Bcast. docs/results/node_lines.md says whose figures these are.
std::string microseconds(const Counts& counts, Collective collective) {
    constexpr double gigabytes_out = 25.6;
    constexpr double gigabytes_in = 51.2;
    constexpr double gigabytes_between = 144;
    constexpr double bytes = 64.0 * (1 << 20) / long_bytes;
    const auto time_of = [&](std::uint64_t lines, double gigabytes) {
        return std::to_string(static_cast<int>(static_cast<double>(lines) * bytes / gigabytes / 1000 + 0.5));
    };
    const std::uint64_t one_way = collective == Collective::bcast ? counts.transfers[3] : counts.transfers[3] / 2;
    return time_of(counts.most_out, gigabytes_out) + ", " + time_of(counts.most_in, gigabytes_in) + ", " +
           time_of(one_way, gigabytes_between);
}

TEST(LineCounts, OfLongMessagesAreThoseOfTheDocument) {
    std::string table =
        "| node | collective | in a cache | between caches | between packages | out of a cache | into a cache |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n";
    std::string times =
        "| collective of 1 MB | along levels: out of a cache, into one, between packages | without parts |\n"
        "| --- | --- | --- |\n";
    for (const Machine& machine : machines) {
        const Placement placement = placed(machine.layout);
        const Placement of_one_part = Placement::one_node(placement.ranks());
        for (const auto& [name, collective] : long_calls) {
            table += collective == Collective::bcast ? "| " + std::string(machine.name) + " | " : "| | ";
            table += std::string(name) + " |";
            const Counts along = count_call(placement, collective, long_bytes, 0);
            const Counts flat = placement.caches_of_node(0) == 1
                                    ? along
                                    : count_call_as(of_one_part, placement, collective, long_bytes, 0);
            std::uint64_t (*const columns[])(const Counts&) = {
                [](const Counts& counts) { return counts.transfers[0]; },
                [](const Counts& counts) { return counts.transfers[1] + counts.transfers[2]; },
                [](const Counts& counts) { return counts.transfers[3]; },
                [](const Counts& counts) { return counts.most_out; },
                [](const Counts& counts) { return counts.most_in; }};
            for (const auto& column : columns)
                table += " " + in_messages(column(along)) + ", " + in_messages(column(flat)) + " |";
            table += "\n";
            if (&machine == machines)
                times += "| " + std::string(name) + " | " + microseconds(along, collective) + " | " +
                         microseconds(flat, collective) + " |\n";
        }
    }
    expect_in_the_document(table);
    expect_in_the_document(times);
}

// What docs/algorithms.md says of them: how often a message passes between packages, and how often it leaves the cache that it leaves most; the rest is
// flags. 32 KB blocks.
TEST(LineCounts, OfLongMessagesAreFewWhereTheyAreDear) {
    for (const Machine& machine : machines) {
        const Placement placement = placed(machine.layout);
        if (placement.packages_of_node(0) < 2) continue;
        const auto of = [&](Collective collective) { return count_call(placement, collective, long_bytes, 0); };
        constexpr double lines = long_bytes / 64.0;
        const Counts bcast = of(Collective::bcast);
        EXPECT_LT(static_cast<double>(bcast.transfers[3]), 1.02 * lines) << machine.name;
        EXPECT_LT(static_cast<double>(bcast.most_out), 3.02 * lines) << machine.name;
        for (const Collective collective : {Collective::reduce, Collective::allreduce}) {
            const Counts counts = of(collective);
            EXPECT_LT(static_cast<double>(counts.transfers[3]), 3.0 * lines) << machine.name;
            EXPECT_LT(static_cast<double>(counts.most_out), 2.5 * lines) << machine.name;
        }
    }
}

// Long portions: of gather, scatter and allgather. In multiples of all portions together, beside what there has to be at least: each rank has each line
// that it needs from the nearest rank that has it, and each of the other caches has it once.
constexpr std::size_t long_portion = NodeCollectives::short_bytes + 64;
constexpr std::pair<const char*, Collective> portion_calls[] = {
    {"gather", Collective::gather}, {"scatter", Collective::scatter}, {"allgather", Collective::allgather}};

struct Least {
    std::array<double, distances> transfers{};
    double most_out = 0;
    double most_in = 0;
};

// Of ranks that are within that distance of one another, those before which there is none: how many such sets there are.
int sets_within(const Placement& placement, std::size_t far) {
    int sets = 0;
    for (int rank = 0; rank < placement.ranks(); ++rank) {
        bool is_first = true;
        for (int before = 0; before < rank && is_first; ++before) is_first = distance(placement, before, rank) > far;
        sets += is_first ? 1 : 0;
    }
    return sets;
}

// What each rank has to be told of the others, or rank 0 of all, or each by rank 0. Caches have as many ranks each.
Least least(const Placement& placement, Collective collective) {
    const int ranks = placement.ranks();
    Least counts;
    if (collective == Collective::allgather) {
        for (std::size_t far = 0; far < distances; ++far) {
            const int inner = far == 0 ? ranks : sets_within(placement, far - 1);
            counts.transfers[far] = inner - sets_within(placement, far);
        }
        const double caches = placement.caches_of_node(0);
        counts.most_out = counts.most_in = (caches - 1) / caches;
        return counts;
    }
    for (int rank = 1; rank < ranks; ++rank) counts.transfers[distance(placement, 0, rank)] += 1.0 / ranks;
    const double of_others = 1 - counts.transfers[0] - 1.0 / ranks;
    const double of_one_cache = placement.caches_of_node(0) == 1 ? 0 : 1.0 / placement.caches_of_node(0);
    const bool is_gather = collective == Collective::gather;
    counts.most_in = is_gather ? of_others : of_one_cache;
    counts.most_out = is_gather ? of_one_cache : of_others;
    return counts;
}

std::string hundredths(double number) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", number);
    return text.data();
}

// Ways through the node's parts would make nothing of it less, so there are none: a portion goes straight to who needs it. What is less is what leaves one
// cache where ranks do not go by their numbers (NodeLevels::visit_others).
TEST(LineCounts, OfLongPortionsAreAsFewAsThereCanBe) {
    std::string table =
        "| node | collective | in a cache | between caches | between packages | into a cache | out of a cache | by "
        "numbers |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const Machine& machine : machines) {
        const Placement placement = placed(machine.layout);
        const Placement of_one_part = Placement::one_node(placement.ranks());
        const double lines = static_cast<double>(long_portion) * placement.ranks() / 64;
        const auto in_wholes = [&](std::uint64_t counted) { return static_cast<double>(counted) / lines; };
        for (const auto& [name, collective] : portion_calls) {
            const auto count_by = [&, what = collective](const Placement& known) {
                return count_call_as(known, placement, what, long_portion, 0, Pace::flag_by_flag);
            };
            const Counts counts = count_by(placement);
            const Least bound = least(placement, collective);
            const std::string what = std::string(name) + " on " + machine.name;
            table += collective == Collective::gather ? "| " + std::string(machine.name) + " | " : "| | ";
            table += std::string(name) + " |";
            const auto compare = [&](double counted, double at_least, double flags) {
                table += " " + hundredths(counted) + ", " + hundredths(at_least) + " |";
                EXPECT_GE(counted, at_least - 1e-9) << what;
                EXPECT_LE(counted, 1.02 * at_least + flags) << what;
            };
            // A scatter's ranks look at its root's flag until their portion is there; else each flag is seen a few times.
            compare(in_wholes(counts.transfers[0]), bound.transfers[0], collective == Collective::scatter ? 0.2 : 0.02);
            compare(in_wholes(counts.transfers[1] + counts.transfers[2]), bound.transfers[1] + bound.transfers[2],
                    0.02);
            compare(in_wholes(counts.transfers[3]), bound.transfers[3], 0.02);
            compare(in_wholes(counts.most_in), bound.most_in, 0.02);
            compare(in_wholes(counts.most_out), bound.most_out, 0.02);
            const bool has_orders = collective == Collective::allgather && placement.caches_of_node(0) > 1;
            table += (has_orders ? " " + hundredths(in_wholes(count_by(of_one_part).most_out)) : "") + " |\n";
        }
    }
    expect_in_the_document(table);
}

// What is compared with the designs of others, of 8 bytes from or to rank 0.
constexpr std::pair<const char*, Collective> short_calls[] = {{"bcast", Collective::bcast},
                                                              {"reduce", Collective::reduce},
                                                              {"allreduce", Collective::allreduce},
                                                              {"barrier", Collective::barrier}};
constexpr Design designs[] = {Design::release_gather, Design::xhc, Design::flat};

std::vector<Counts> compared(const Placement& placement, Collective collective, const Weights& weights = one_each) {
    std::vector<Counts> all{count_call(placement, collective, 8, 0, weights)};
    for (const Design design : designs) all.push_back(count_call(placement, design, collective, weights));
    return all;
}

TEST(PublishedDesigns, AreInTheDocument) {
    std::uint64_t (*const columns[])(const Counts&) = {
        [](const Counts& counts) { return counts.all_transfers(); },
        [](const Counts& counts) { return counts.transfers[3]; },
        [](const Counts& counts) { return static_cast<std::uint64_t>(counts.readers); },
        [](const Counts& counts) { return static_cast<std::uint64_t>(counts.chain); },
        [](const Counts& counts) { return static_cast<std::uint64_t>(counts.turns); },
        [](const Counts& counts) { return static_cast<std::uint64_t>(counts.queue); }};
    std::string table =
        "| node | collective | lines | between packages | readers | chain | turns | queue |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (const Machine& machine : machines)
        for (const auto& [name, collective] : short_calls) {
            const std::vector<Counts> all = compared(placed(machine.layout), collective);
            table += collective == Collective::bcast ? "| " + std::string(machine.name) + " | " : "| | ";
            table += name;
            for (const auto& column : columns)
                for (const Counts& counts : all)
                    table += (&counts == all.data() ? " | " : ", ") + std::to_string(column(counts));
            table += " |\n";
        }
    expect_in_the_document(table);
}

// Latencies that others have measured between cores, in nanoseconds (docs/results/node_lines.md says who).
TEST(PublishedDesigns, TakeSoManyNanosecondsInTheDocument) {
    const struct {
        Machine machine;
        Weights nanoseconds;
    } latencies[] = {{machines[0], {23, 107, 107, 197}}, {machines[1], {59, 59, 59, 138}}};
    std::string table =
        "| node | collective | libhcoll | release-gather | XHC | flat |\n| --- | --- | --- | --- | --- | --- |\n";
    for (const auto& [machine, nanoseconds] : latencies)
        for (const auto& [name, collective] : short_calls) {
            table += collective == Collective::bcast ? "| " + std::string(machine.name) + " | " : "| | ";
            table += name;
            for (const Counts& counts : compared(placed(machine.layout), collective, nanoseconds))
                table += " | " + std::to_string(counts.chain) + ", " + std::to_string(counts.turns) + ", " +
                         std::to_string(counts.queue);
            table += " |\n";
        }
    expect_in_the_document(table);
}

// What docs/results/node_lines.md says of all these nodes.
TEST(PublishedDesigns, HaveNoFewerReadersOfALineAndNoShorterQueues) {
    std::vector<std::pair<std::string, Placement>> places;
    for (const Machine& machine : machines) places.emplace_back(machine.name, placed(machine.layout));
    places.emplace_back("256 ranks", placed("1x2x4x4x8"));
    for (const int ranks : {9, 17, 31, 50, 65, 96})
        places.emplace_back(std::to_string(ranks) + " ranks", placed("1x2x2x3x8", ranks));
    for (const auto& [where, placement] : places)
        for (const auto& [name, collective] : short_calls) {
            const std::vector<Counts> all = compared(placement, collective);
            const Counts& own = all.front();
            for (std::size_t i = 1; i < all.size(); ++i) {
                const std::string what = std::string(name) + " on " + where + ", design " + std::to_string(i);
                EXPECT_LE(own.readers, all[i].readers) << what;
                EXPECT_LE(own.transfers[3], all[i].transfers[3]) << what;
                EXPECT_LE(own.queue, all[i].queue) << what;
            }
        }
}

}  // namespace
}  // namespace hcoll::counted
