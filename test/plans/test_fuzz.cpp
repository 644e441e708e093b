// SPDX-License-Identifier: BSD-3-Clause
// Text from outside (test/fuzz): inputs that were kept, and random changes of these.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../fuzz/targets.hpp"
#include "../support/random.hpp"
#include "../support/seed.hpp"

namespace hcoll {

namespace {

std::vector<std::string> corpus(std::string_view target) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HCOLL_FUZZ_CORPUS) / target))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> inputs;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return inputs;
}

// One change of what fuzzers make: bits, bytes that mean something, pieces left out, repeated, or taken from another input.
void change(std::string& input, const std::vector<std::string>& others, test::Random& random) {
    constexpr std::string_view telling = "=:,;[]{}\"\\-.0123456789eExX*/ \n\t\0\xff";
    const std::size_t at = input.empty() ? 0 : random.below(input.size());
    const std::size_t length = input.empty() ? 0 : 1 + random.below(input.size() - at);
    switch (random.below(6)) {
        case 0:
            if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
            break;
        case 1:
            if (!input.empty()) input[at] = telling[random.below(telling.size())];
            break;
        case 2: input.insert(at, 1, telling[random.below(telling.size())]); break;
        case 3: input.erase(at, length); break;
        case 4:
            if (input.size() < 20'000) input.insert(at, input.substr(at, length));
            break;
        default: {
            const std::string& other = others[random.below(others.size())];
            if (!other.empty() && input.size() < 20'000) {
                const std::size_t from = random.below(other.size());
                input.insert(at, other.substr(from, 1 + random.below(other.size() - from)));
            }
        }
    }
}

class Fuzz : public testing::TestWithParam<test::FuzzTarget> {};

TEST_P(Fuzz, AnyTextIsReadOrRefused) {
    constexpr int changed = 1000;
    constexpr int most_changes = 8;
    const test::FuzzTarget& target = GetParam();
    const std::vector<std::string> inputs = corpus(target.name);
    ASSERT_FALSE(inputs.empty());
    for (const std::string& input : inputs) target.run(input);
    test::Random random(test::test_seed());
    for (int i = 0; i < changed; ++i) {
        std::string input = inputs[random.below(inputs.size())];
        for (std::uint64_t j = 1 + random.below(most_changes); j > 0; --j) change(input, inputs, random);
        target.run(input);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(test::fuzz_targets().begin(), test::fuzz_targets().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace

}  // namespace hcoll
