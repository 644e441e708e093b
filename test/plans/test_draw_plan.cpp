// SPDX-License-Identifier: BSD-3-Clause
// The pictures of hcoll-info --plan: valid DOT and XML, with every message in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "info/draw_plan.hpp"
#include "plan_cases.hpp"
#include "tuning/price.hpp"

namespace hcoll::test {
namespace {

std::vector<Plan> plans_of(const Algorithm& algorithm, const Layout& layout, std::uint64_t units,
                           std::uint64_t segment_bytes) {
    PlanCase plan_case;
    plan_case.algorithm = &algorithm;
    plan_case.parameters = algorithm.defaults;
    plan_case.parameters.pipeline.segment_bytes = segment_bytes;
    plan_case.ranks = layout.placement->ranks();
    plan_case.units = units;
    plan_case.layout = layout;
    return build_plans(plan_case);
}

std::vector<MessageTime> messages_of(std::span<const Plan> plans, const Layout& layout) {
    std::vector<MessageTime> messages;
    EXPECT_FALSE(price(plans, *layout.placement, unit_latency(), 1, {}, {.messages = &messages}).defect);
    return messages;
}

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
}

// Are all elements closed in the order in which they were opened, attributes quoted, and no letter left that XML keeps for
// itself? What there is besides (comments, declarations) the pictures do not use.
bool is_well_formed_xml(const std::string& text) {
    static const std::regex tag(R"(<(/?)([A-Za-z][\w-]*)((\s+[A-Za-z][\w:-]*="[^"<&]*")*)\s*(/?)>)");
    static const std::regex entity("&(amp|lt|gt|quot);");
    std::vector<std::string> open;
    std::size_t end = 0;
    const auto is_plain = [](const std::string& between) {
        return std::regex_replace(between, entity, "").find_first_of("<>&") == std::string::npos;
    };
    for (std::sregex_iterator match(text.begin(), text.end(), tag), last; match != last; ++match) {
        const auto begin = static_cast<std::size_t>(match->position());
        if (!is_plain(text.substr(end, begin - end))) return false;
        end = begin + static_cast<std::size_t>(match->length());
        const std::string name = (*match)[2];
        if ((*match)[1].length() != 0) {
            if (open.empty() || open.back() != name) return false;
            open.pop_back();
        } else if ((*match)[5].length() == 0) {
            open.push_back(name);
        }
    }
    return open.empty() && is_plain(text.substr(end));
}

TEST(WellFormedXml, IsToldFromWhatIsNot) {
    EXPECT_TRUE(is_well_formed_xml("<a x=\"1\"><b/>1 &lt; 2</a>\n"));
    for (const char* wrong : {"<a>", "<a></b>", "<a x=1/>", "<a>1 < 2</a>", "<a>&</a>", "<a><b></a></b>", "</a>"})
        EXPECT_FALSE(is_well_formed_xml(wrong)) << wrong;
}

TEST(DrawPlan, HasEveryMessageOfEveryAlgorithm) {
    for (const Layout& layout : {block_layout({4, 4, 4, 4}, 2), cyclic_layout(11, 3), block_layout({1})})
        for (const Algorithm& algorithm : algorithms())
            for (const std::uint64_t segment_bytes : {0U, 16U}) {
                const auto plans = plans_of(algorithm, layout, 48, segment_bytes);
                const auto messages = messages_of(plans, layout);
                const info::PlanPicture picture{"<a> & \"b\"", *layout.placement, messages, segment_bytes != 0};
                std::map<std::string, std::size_t> edges;
                for (const MessageTime& message : messages)
                    ++edges["\n  " + std::to_string(message.from) + " -> " + std::to_string(message.to) + " ["];

                const std::string dot = info::plan_dot(picture);
                for (const auto& [edge, count] : edges) EXPECT_EQ(count_of(dot, edge), count) << algorithm.name;
                EXPECT_EQ(count_of(dot, "->"), messages.size()) << algorithm.name;
                EXPECT_EQ(count_of(dot, "{"), count_of(dot, "}"));
                EXPECT_EQ(count_of(dot, "\"") % 2, 0U);
                EXPECT_EQ(count_of(dot, "subgraph cluster_"), static_cast<std::size_t>(layout.placement->nodes()));

                const std::string svg = info::plan_svg(picture);
                EXPECT_TRUE(is_well_formed_xml(svg)) << algorithm.name;
                EXPECT_EQ(count_of(svg, "class=\"message\""), messages.size()) << algorithm.name;
                EXPECT_EQ(count_of(svg, "<circle"), static_cast<std::size_t>(layout.placement->ranks()));
            }
}

TEST(DrawPlan, LabelsFewMessagesAndNotMany) {
    const Layout few = block_layout({8});
    const Layout many = block_layout({40, 40});
    for (const Layout& layout : {few, many}) {
        const auto plans = plans_of(*find_algorithm(Collective::bcast, "binomial"), layout, 3072, 1024);
        const auto messages = messages_of(plans, layout);
        const std::string dot = info::plan_dot({"", *layout.placement, messages, true});
        const bool has_labels = layout.placement->ranks() == 8;
        EXPECT_EQ(count_of(dot, "s2 1k"), has_labels ? 7U : 0U);
    }
}

TEST(DrawPlan, TakesTheFirstSegmentsAndOneOfEachChunk) {
    const Layout layout = block_layout({8});
    const auto chain = plans_of(*find_algorithm(Collective::bcast, "chain"), layout, 1 << 20, 1024);
    EXPECT_EQ(info::units_to_draw(chain, 1 << 20, 3), 3U * 1024);
    const auto whole = plans_of(*find_algorithm(Collective::bcast, "chain"), layout, 1 << 20, 0);
    EXPECT_EQ(info::units_to_draw(whole, 1 << 20, 3), 1U << 20);
    const auto ring = plans_of(*find_algorithm(Collective::allreduce, "ring"), layout, 1 << 20, 16384);
    EXPECT_EQ(info::units_to_draw(ring, 1 << 20, 3), 8U * 16384);
}

TEST(PlanText, IsALineForEachStep) {
    const Layout layout = block_layout({4, 4}, 2);
    for (const Algorithm& algorithm : algorithms())
        for (const Plan& plan : plans_of(algorithm, layout, 4096, 1024)) {
            const std::string text = info::plan_text(plan);
            EXPECT_EQ(count_of(text, "\n"), 1 + plan.phases.size() + plan.steps.size()) << algorithm.name << "\n"
                                                                                        << text;
        }
    const auto chain = plans_of(*find_algorithm(Collective::bcast, "chain"), layout, 4096, 1024);
    EXPECT_EQ(info::plan_text(chain[1]),
              "in flight: 2 sends and 4 receives of a step\n"
              "phase 0: units 0 to 4096, 4 segments of 1024 units, window 4, 0 units of scratch\n"
              "     0  recv from 0: output [0, 1024)\n"
              "     1  send to 2: output [0, 1024); after 0\n");
}

}  // namespace
}  // namespace hcoll::test
