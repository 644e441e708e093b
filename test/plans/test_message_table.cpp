// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <tuple>

#include "plan_cases.hpp"
#include "tuning/message_table.hpp"

namespace hcoll::test {
namespace {

// Few routes, so that runs of equal ones form, wrap around the table's end, and are moved when it grows.
TEST(MessageTableTest, GivesBackWhatAMapOfQueuesWould) {
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 200; ++round) {
        MessageTable table;
        std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::deque<std::uint32_t>> expected;
        std::size_t held = 0;
        const std::uint32_t routes = 1 + static_cast<std::uint32_t>(random() % 40);
        const std::uint64_t adds_of_ten = 4 + random() % 4;
        for (std::uint32_t message = 0; message < 600; ++message) {
            const auto number = static_cast<std::uint32_t>(random() % routes);
            const Route route{number % 3, number % 5, number};
            auto& queue = expected[{route.from, route.to, route.tag}];
            if (random() % 10 < adds_of_ten) {
                table.add(route, message);
                queue.push_back(message);
                ++held;
            } else if (queue.empty()) {
                ASSERT_EQ(table.take(route), MessageTable::none);
            } else {
                ASSERT_EQ(table.take(route), queue.front());
                queue.pop_front();
                --held;
            }
            ASSERT_EQ(table.size(), held);
        }
    }
}

}  // namespace
}  // namespace hcoll::test
