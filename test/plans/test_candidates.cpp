// SPDX-License-Identifier: BSD-3-Clause
// What a tuner chooses from: all of it can run and is different, and what heuristics leave out has a reason.
#include <gtest/gtest.h>

#include <set>

#include "plan_cases.hpp"
#include "tuning/candidates.hpp"
#include "tuning/settings.hpp"

namespace hcoll::test {
namespace {

CandidateSpace space_of(const Layout& layout, TableCall call, std::uint64_t bytes, bool has_heuristics) {
    return {.call = call,
            .placement = layout.placement.get(),
            .bytes = bytes,
            .has_shared_memory = true,
            .has_heuristics = has_heuristics};
}

std::size_t tried(const std::vector<Candidate>& candidates) {
    return static_cast<std::size_t>(std::count_if(candidates.begin(), candidates.end(),
                                                  [](const Candidate& each) { return each.left_out.empty(); }));
}

const Candidate* find(const std::vector<Candidate>& candidates, std::string_view text) {
    for (const Candidate& each : candidates)
        if (each.text == text) return &each;
    return nullptr;
}

// A fingerprint of the plans of all ranks.
std::string plans_text(const Candidate& candidate, const Layout& layout, std::uint64_t bytes) {
    PlanCase plan_case;
    plan_case.algorithm = candidate.choice.algorithm;
    plan_case.parameters = candidate.choice.parameters;
    plan_case.ranks = layout.placement->ranks();
    // In the middle: from the first one a line goes the same way as a chain.
    if (has_root(candidate.choice.algorithm->collective)) plan_case.root = plan_case.ranks / 2;
    plan_case.units = has_message(candidate.choice.algorithm->collective) ? bytes : 1;
    plan_case.layout = layout;
    std::string text;
    for (const Plan& plan : build_plans(plan_case)) {
        for (const Step& step : plan.steps)
            for (const std::uint64_t number :
                 {static_cast<std::uint64_t>(step.kind), static_cast<std::uint64_t>(step.peer + 1), step.source.begin,
                  step.source.length, step.target.begin, step.target.length, std::uint64_t{step.dependencies}})
                text += std::to_string(number) + ',';
        for (const Phase& phase : plan.phases) text += std::to_string(phase.segment_units) + ';';
        text += '|' + std::to_string(plan.steps.size()) + '|';
    }
    return text;
}

TEST(Candidates, CanBeChosenAndBeginWithTheVendor) {
    const Layout layout = block_layout({4, 4, 4});
    for (std::size_t i = 0; i < collective_count; ++i)
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{100'000}}) {
            const TableCall call{static_cast<Collective>(i), false};
            const auto all = find_candidates(space_of(layout, call, bytes, false));
            EXPECT_EQ(all.front().text, "vendor");
            std::set<std::string> names;
            std::set<std::string> texts;
            for (const Candidate& each : all) {
                AlgorithmChoice choice;
                EXPECT_FALSE(parse_choice(call.collective, each.text, choice)) << each.text;
                EXPECT_TRUE(texts.insert(each.text).second) << each.text << " twice";
                EXPECT_TRUE(each.left_out.empty());
                if (choice.algorithm != nullptr) names.insert(std::string(choice.algorithm->name));
            }
            for (const Algorithm& algorithm : algorithms()) {
                // What these have, others have by another name.
                const bool is_another = algorithm.name == "topology_tree" || algorithm.name == "split_tree";
                if (algorithm.collective == call.collective && !is_another) {
                    EXPECT_TRUE(names.count(std::string(algorithm.name)) == 1) << algorithm.name;
                }
            }
        }
}

// Whatever can be chosen has a plan on large layouts, too: nodes of many ranks, many nodes, and many ranks of one node each.
TEST(Candidates, HaveAPlanOnLargeLayouts) {
    for (const auto& [nodes, ranks] : {std::pair{1, 192}, {3, 130}, {129, 3}, {150, 1}, {80, 40}}) {
        const Layout layout = block_layout(std::vector<int>(static_cast<std::size_t>(nodes), ranks));
        for (std::size_t i = 0; i < collective_count; ++i) {
            const TableCall call{static_cast<Collective>(i), false};
            CandidateSpace space = space_of(layout, call, 1 << 20, false);
            // Segments change no message's peer.
            space.varied = {{"segment", {"0", "64k"}}, {"sockets", {"no"}}};
            for (const Candidate& candidate : find_candidates(space)) {
                if (candidate.choice.kind != AlgorithmChoice::Kind::own) continue;
                for (const int rank : {0, 1, nodes * ranks / 2, nodes * ranks - 1}) {
                    SCOPED_TRACE(candidate.text);
                    const Algorithm& algorithm = *candidate.choice.algorithm;
                    const AlgorithmParameters& parameters = candidate.choice.parameters;
                    PlanRequest request{.ranks = nodes * ranks,
                                        .rank = rank,
                                        .root = has_root(algorithm.collective) ? nodes * ranks / 2 : 0,
                                        .units = 1 << 20,
                                        .placement = layout.placement.get()};
                    std::vector<Plan> plans = {algorithm.build(request, parameters)};
                    request.ordered = true;
                    if (is_reduction(algorithm.collective) && keeps_order(algorithm, parameters, *layout.placement))
                        plans.push_back(algorithm.build(request, parameters));
                    for (const Plan& plan : plans)
                        for (const Step& step : plan.steps) ASSERT_LT(step.channel, max_channels);
                }
            }
        }
    }
}

// Of combinations that come to the same there is one. Trees of few ranks may be alike by chance: large layouts, but for what only the
// number of ranks decides.
TEST(Candidates, OfOneAlgorithmHaveDifferentPlans) {
    const Layout layouts[] = {block_layout(std::vector<int>(20, 20)), block_layout({60}),
                              block_layout(std::vector<int>(40, 1))};
    for (const Layout& layout : layouts)
        for (const Collective collective : {Collective::bcast, Collective::gather, Collective::barrier}) {
            const std::uint64_t bytes = 60'000;
            CandidateSpace space = space_of(layout, {collective, false}, bytes, false);
            space.varied = {{"segment", {"16k", "64k", "1M"}}, {"radix", {"3", "8"}}};
            std::map<std::string, std::string> seen;
            for (const Candidate& each : find_candidates(space)) {
                // With one rank a node, or on one, those that know of levels are the same as those that do not.
                const bool has_levels = layout.placement->nodes() == 20;
                if (each.choice.kind != AlgorithmChoice::Kind::own) continue;
                if (each.choice.algorithm->uses_placement != has_levels) continue;
                const auto [other, is_new] = seen.emplace(plans_text(each, layout, bytes), each.text);
                EXPECT_TRUE(is_new) << each.text << " is the same as " << other->second << " on "
                                    << layout.placement->nodes() << " nodes";
            }
        }
}

TEST(Candidates, AreLeftOutByHeuristicsForAReasonAndNeverAll) {
    for (const Layout& layout : {block_layout({8}), block_layout({4, 4, 4, 4}), block_layout(std::vector<int>(32, 1))})
        for (std::size_t i = 0; i < collective_count; ++i)
            for (const std::uint64_t bytes : {8ULL, 4096ULL, 65536ULL, 1ULL << 20, 16ULL << 20}) {
                const TableCall call{static_cast<Collective>(i), false};
                const auto all = find_candidates(space_of(layout, call, bytes, false));
                const auto few = find_candidates(space_of(layout, call, bytes, true));
                EXPECT_EQ(few.front().text, "vendor");
                EXPECT_TRUE(few.front().left_out.empty());
                EXPECT_GE(tried(few), 2U) << call.name() << ' ' << bytes << " bytes: there is an own one";
                EXPECT_LE(tried(few), tried(all));
                EXPECT_EQ(tried(all), all.size());
                if (call.collective == Collective::bcast && layout.placement->nodes() == 4) {
                    std::printf("Bcast of %llu bytes on 4 x 4: %zu candidates, %zu with heuristics\n",
                                static_cast<unsigned long long>(bytes), all.size(), tried(few));
                    EXPECT_LT(5 * tried(few), all.size()) << bytes;
                }
            }
    const Layout layout = block_layout({4, 4, 4, 4});
    const auto candidates = find_candidates(space_of(layout, {Collective::bcast, false}, 64 << 10, true));
    const Candidate* chain = find(candidates, "han:network=chain,segment=64k");
    ASSERT_EQ(chain, nullptr) << "a segment as long as the message is none";
    chain = find(candidates, "han:network=chain,segment=16k");
    ASSERT_NE(chain, nullptr);
    EXPECT_NE(chain->left_out.find("eight segments"), std::string_view::npos);
    ASSERT_NE(find(candidates, "binomial:segment=16k"), nullptr);
    EXPECT_NE(find(candidates, "binomial:segment=16k")->left_out.find("does not know of nodes"),
              std::string_view::npos);
}

TEST(Candidates, AreVariedAsSomebodyAsks) {
    const Layout layout = block_layout({4, 4, 4, 4});
    CandidateSpace space = space_of(layout, {Collective::bcast, false}, 1 << 20, false);
    space.varied = {{"network", {"chain", "binomial"}}, {"node", {"flat"}}, {"segment", {"64k"}}, {"in_turn", {"no"}}};
    space.algorithms = {"han"};
    const auto candidates = find_candidates(space);
    std::set<std::string> texts;
    for (const Candidate& each : candidates) texts.insert(each.text);
    EXPECT_EQ(texts, (std::set<std::string>{"vendor", "han:network=chain,node=flat,segment=64k",
                                            "han:node=flat,segment=64k"}));
    EXPECT_TRUE(candidates.back().is_hierarchical);
    EXPECT_FALSE(find_mistake(space.varied));
    EXPECT_TRUE(find_mistake({{"netwrk", {"chain"}}}));
    EXPECT_TRUE(find_mistake({{"network", {"chian"}}}));
}

TEST(Candidates, InTheBackgroundAndWithoutSharedMemoryAreFewer) {
    const Layout layout = block_layout({8});
    CandidateSpace space = space_of(layout, {Collective::bcast, false}, 1 << 20, true);
    EXPECT_NE(find(find_candidates(space), "shared"), nullptr);
    EXPECT_NE(find(find_candidates(space), "shared:single_copy=1"), nullptr);
    space.has_shared_memory = false;
    EXPECT_EQ(find(find_candidates(space), "shared"), nullptr);
    space.has_shared_memory = true;
    space.call.is_nonblocking = true;
    EXPECT_EQ(find(find_candidates(space), "shared"), nullptr);
    const Layout nodes = block_layout({4, 4});
    space.placement = nodes.placement.get();
    space.has_heuristics = false;
    for (const Candidate& each : find_candidates(space))
        if (each.choice.algorithm != nullptr) {
            EXPECT_FALSE(needs_leaders(*each.choice.algorithm, each.choice.parameters)) << each.text;
        }
}

}  // namespace
}  // namespace hcoll::test
