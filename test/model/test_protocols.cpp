// SPDX-License-Identifier: BSD-3-Clause
// The library's own protocols of shared memory and of the background, small, run in all the ways that C++'s memory model allows; and with one operation
// after another that neither acquires nor releases, to see that they need it, and that it would be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "protocols.hpp"

namespace hcoll::model {
namespace {

std::vector<Protocol> all_protocols() {
    std::vector<Protocol> all;
    for (auto* list : {protocols_of_node_collectives, protocols_of_node_messages, protocols_of_the_background})
        for (Protocol& each : list())
            if (!each.is_large || std::getenv("HCOLL_TEST_LARGE_MODELS") != nullptr) all.push_back(std::move(each));
    return all;
}

class Protocols : public testing::TestWithParam<Protocol> {};

TEST_P(Protocols, HoldInAllWays) {
    const Program& program = GetParam().program;
    const Result result = explore(program);
    ASSERT_EQ(result.error, "");
    EXPECT_FALSE(result.is_cut_short);
    EXPECT_GT(result.complete, 0U);
    std::size_t needed = 0;
    for (const void* place : result.ordered_places)
        if (!explore(program, {.most_ways = 500, .weakened = place}).error.empty()) ++needed;
    std::printf("%s: %llu ways, %llu more in which some wait, %zu events, %zu of %zu orders needed\n",
                GetParam().name.c_str(), static_cast<unsigned long long>(result.complete),
                static_cast<unsigned long long>(result.waiting), result.most_events, needed,
                result.ordered_places.size());
    EXPECT_GT(needed, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, Protocols, testing::ValuesIn(all_protocols()), [](const auto& of) {
    std::string name = of.param.name;
    name.erase(std::remove(name.begin(), name.end(), ','), name.end());
    std::replace_if(
        name.begin(), name.end(), [](unsigned char each) { return std::isalnum(each) == 0; }, '_');
    return name;
});

}  // namespace
}  // namespace hcoll::model
