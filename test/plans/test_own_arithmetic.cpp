// SPDX-License-Identifier: BSD-3-Clause
// An application that has asked for a signal where a result is infinite or no number gets none of what the library computes for itself, and finds the flags that
// it has raised, and no others.
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/own_arithmetic.hpp"
#include "intercept/observed/result_comparison.hpp"
#include "tuning/table.hpp"

namespace hcoll::test {
namespace {

constexpr int exceptions = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;

class OwnArithmeticTest : public testing::Test {
protected:
    void SetUp() override {
        std::feclearexcept(FE_ALL_EXCEPT);
        std::fesetround(FE_UPWARD);
        if (feenableexcept(exceptions) < 0 || fegetexcept() != exceptions)
            GTEST_SKIP() << "this processor sends no such signals";
    }
    void TearDown() override {
        if (!IsSkipped()) {
            EXPECT_EQ(fegetexcept(), exceptions);
            EXPECT_EQ(std::fetestexcept(exceptions), 0);
            EXPECT_EQ(std::fegetround(), FE_UPWARD);
            fedisableexcept(FE_ALL_EXCEPT);
        }
        std::fesetround(FE_TONEAREST);
    }
};

TEST_F(OwnArithmeticTest, IsRoundedToTheNearest) {
    const OwnArithmetic own;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    EXPECT_EQ(fegetexcept(), 0);
}

TEST_F(OwnArithmeticTest, ReadsTablesOfAnyNumber) {
    std::vector<std::string> mistakes;
    const Table table = parse_table(R"({"format": "libhcoll table", "version": 1, "entries": [
        {"collective": "bcast", "nodes": 1, "ranks_per_node": 2, "bytes": 8, "choice": "binomial", "seconds": 1e999}]})",
                                    "t.json", mistakes);
    EXPECT_EQ(mistakes.size(), 1U);
    EXPECT_TRUE(table.entries.empty());
}

// Ranks decide by it: each has the same times, whatever rounding it has been given.
TEST_F(OwnArithmeticTest, TakesAnAgreedTableAsOtherRanksDo) {
    Table table;
    TableEntry entry;
    entry.nodes = {1, 1};
    entry.ranks_per_node = {2, 2};
    for (std::uint64_t bytes = 1; bytes <= 500; ++bytes) {
        entry.bytes = {bytes, bytes};
        entry.candidates = {{"binomial", 1.2345e-7 * static_cast<double>(bytes)}};
        table.entries.push_back(entry);
    }
    const std::string text = wire_text(table);
    const std::optional<Table> here = parse_wire_text(text);
    fedisableexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_TONEAREST);
    const std::optional<Table> elsewhere = parse_wire_text(text);
    std::fesetround(FE_UPWARD);
    feenableexcept(exceptions);
    ASSERT_TRUE(here && elsewhere);
    ASSERT_EQ(here->entries.size(), elsewhere->entries.size());
    for (std::size_t i = 0; i < here->entries.size(); ++i)
        EXPECT_EQ(here->entries[i].chosen().seconds, elsewhere->entries[i].chosen().seconds) << i;
}

// A product with a zero, a sum that overflows, and what is no number.
TEST_F(OwnArithmeticTest, ComparesAnyResults) {
    using Limits = std::numeric_limits<double>;
    const std::array<double, 5> one{0, Limits::max(), Limits::infinity(), Limits::signaling_NaN(), 1};
    const std::array<double, 5> other{0, -Limits::max(), -Limits::infinity(), 1, 1};
    for (const Operation operation : {Operation::sum, Operation::prod, Operation::max}) {
        const ResultComparison comparison = ResultComparison::of_reduction(operation, Element::float64, 2);
        std::array<double, 5> magnitudes{};
        comparison.magnitudes(reinterpret_cast<const std::byte*>(one.data()), one.size(), magnitudes.data());
        const auto bytes = [](const std::array<double, 5>& numbers) { return std::as_bytes(std::span(numbers)); };
        (void)comparison.first_wrong(bytes(one), bytes(other), magnitudes);
        (void)comparison.hash(bytes(one), magnitudes);
    }
}

}  // namespace
}  // namespace hcoll::test
