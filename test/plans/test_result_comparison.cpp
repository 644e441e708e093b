// SPDX-License-Identifier: BSD-3-Clause
// What results of reductions may differ by, and what they may not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "intercept/observed/result_comparison.hpp"

namespace hcoll {

namespace {

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

std::optional<std::size_t> compare(Operation operation, Element element, int ranks, const auto& own, const auto& other,
                                   const std::vector<double>& magnitudes = {}) {
    return ResultComparison::of_reduction(operation, element, ranks).first_wrong(bytes(own), bytes(other), magnitudes);
}

// Sums `operands` in a random order of additions.
template <typename T, typename Combine>
T in_any_order(std::vector<T> operands, Combine combine, std::mt19937_64& random) {
    while (operands.size() > 1) {
        const auto draw = [&] { return std::uniform_int_distribution<std::size_t>(0, operands.size() - 1)(random); };
        std::swap(operands[draw()], operands.back());
        const T last = operands.back();
        operands.pop_back();
        T& with = operands[draw()];
        with = combine(with, last);
    }
    return operands.front();
}

template <typename T>
void expect_any_order(Element element, std::mt19937_64& random) {
    for (int round = 0; round < 300; ++round) {
        const int ranks = std::uniform_int_distribution(2, 200)(random);
        std::vector<T> operands(static_cast<std::size_t>(ranks));
        // Of many sizes and both signs: sums cancel.
        for (T& each : operands)
            each = static_cast<T>(
                std::ldexp(std::normal_distribution<double>()(random), std::uniform_int_distribution(-20, 20)(random)));
        for (const Operation operation : {Operation::sum, Operation::prod}) {
            const auto comparison = ResultComparison::of_reduction(operation, element, ranks);
            const auto combine = [&](T a, T b) { return operation == Operation::sum ? a + b : a * b; };
            double magnitude = 0;
            for (const T& each : operands) {
                double of_one = 0;
                comparison.magnitudes(reinterpret_cast<const std::byte*>(&each), 1, &of_one);
                magnitude += of_one;
            }
            const std::vector<T> own = {in_any_order(operands, combine, random)};
            const std::vector<T> other = {in_any_order(operands, combine, random)};
            EXPECT_FALSE(compare(operation, element, ranks, own, other, {magnitude})) << own[0] << " and " << other[0];
            // One operand that is left out, and is no smaller than what rounding may hide.
            std::vector<T> fewer(operands.begin() + 1, operands.end());
            const std::vector<T> wrong = {in_any_order(fewer, combine, random)};
            const bool is_hidden = operation == Operation::sum && std::abs(operands[0]) < 1e-3 * magnitude;
            const bool is_out_of_range =
                operation == Operation::prod && magnitude > std::numeric_limits<T>::max_exponent - 16;
            const bool is_one = operation == Operation::prod && std::abs(std::abs(operands[0]) - 1) < 0.01;
            if (!is_hidden && !is_out_of_range && !is_one) {
                EXPECT_TRUE(compare(operation, element, ranks, wrong, other, {magnitude}))
                    << wrong[0] << " and " << other[0];
            }
        }
    }
}

}  // namespace

TEST(ResultComparison, AnyOrderOfASumOrProductIsRight) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    expect_any_order<float>(Element::float32, random);
    expect_any_order<double>(Element::float64, random);
    expect_any_order<long double>(Element::long_double, random);
}

// With flush-to-zero (-ffast-math) a sum on the way is 0 in one order and not in another.
TEST(ResultComparison, SumsOnTheWayMayBeTakenForZero) {
    constexpr float least = std::numeric_limits<float>::min();
    // (1.5 - 1) + 3 and 1.5 + (-1 + 3), in units of the least normal number.
    EXPECT_EQ(
        compare(Operation::sum, Element::float32, 3, std::vector{3 * least}, std::vector{3.5F * least}, {5.5 * least}),
        std::nullopt);
    EXPECT_EQ(compare(Operation::sum, Element::float32, 3, std::vector{100 * least}, std::vector{113 * least},
                      {113.0 * least}),
              0U);
}

TEST(ResultComparison, IntegersAreTheSameToTheBit) {
    const std::vector<int> own = {1, 2, 3};
    const std::vector<int> other = {1, 2, 4};
    EXPECT_EQ(compare(Operation::sum, Element::int32, 2, own, other), 2U);
    EXPECT_FALSE(compare(Operation::sum, Element::int32, 2, own, own));
    // The MPI libraries themselves differ there.
    EXPECT_EQ(ResultComparison::of_reduction(Operation::sum, Element::int16, 2).rule(), ResultComparison::Rule::none);
    EXPECT_EQ(ResultComparison::of_reduction(Operation::bor, Element::int16, 2).rule(), ResultComparison::Rule::bytes);
    EXPECT_EQ(ResultComparison::of_reduction(Operation::max, Element::uint32, 2).rule(), ResultComparison::Rule::none);
    // The program's own may be floating-point numbers of 16 bits.
    EXPECT_EQ(ResultComparison::of_reduction({}, Element::uint16, 2).rule(), ResultComparison::Rule::none);
    // Of the program's own operations integers alone can be compared.
    EXPECT_EQ(ResultComparison::of_reduction({}, Element::int64, 2).rule(), ResultComparison::Rule::bytes);
    EXPECT_EQ(ResultComparison::of_reduction({}, Element::float64, 2).rule(), ResultComparison::Rule::none);
}

TEST(ResultComparison, ExtremesAreComparedByValue) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    // Of 0, NaN and 2 the least is 0 or 2, as NaN meets them.
    EXPECT_FALSE(compare(Operation::max, Element::float64, 2, std::vector{0.0, 2.0}, std::vector{-0.0, 0.0}, {0, nan}));
    EXPECT_EQ(compare(Operation::max, Element::float64, 2, std::vector{0.0, 1.0}, std::vector{-0.0, 1.0000001}, {0, 0}),
              1U);
    EXPECT_EQ(compare(Operation::max, Element::float64, 2, std::vector{0.0, nan}, std::vector{-0.0, 1.0}, {0, 0}), 1U);
    const auto comparison = ResultComparison::of_reduction(Operation::max, Element::float64, 2);
    const std::vector<double> one = {0.0, 2.0};
    const std::vector<double> another = {-0.0, 0.0};
    EXPECT_EQ(comparison.hash(bytes(one), std::vector{0.0, nan}),
              comparison.hash(bytes(another), std::vector{0.0, nan}));
    EXPECT_NE(comparison.hash(bytes(one), std::vector{0.0, 0.0}),
              comparison.hash(bytes(another), std::vector{0.0, 0.0}));
    const std::vector<double> operands = {nan, 1.0};
    double magnitude[2] = {1, 1};
    comparison.magnitudes(bytes(operands).data(), 2, magnitude);
    EXPECT_TRUE(std::isnan(magnitude[0]) && magnitude[1] == 0);
    struct Pair {
        float value;
        int index;
    };
    EXPECT_EQ(compare(Operation::minloc, Element::float_int, 2, std::vector<Pair>{{0, 1}, {2, 1}},
                      std::vector<Pair>{{-0.0F, 1}, {2, 0}}, {0, 0}),
              1U);
}

TEST(ResultComparison, WhatIsNotFiniteIsSoInAnyOrder) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    // An operand is a NaN, or two are infinite.
    EXPECT_FALSE(compare(Operation::sum, Element::float64, 3, std::vector{nan}, std::vector{-nan}, {nan}));
    EXPECT_TRUE(compare(Operation::sum, Element::float64, 3, std::vector{1.0}, std::vector{nan}, {nan}));
    EXPECT_TRUE(compare(Operation::sum, Element::float64, 3, std::vector{nan}, std::vector{1.0}, {1.0}));
    EXPECT_TRUE(compare(Operation::sum, Element::float64, 3, std::vector{inf}, std::vector{1.0}, {1.0}));
    // Numbers on the way may have been too large.
    EXPECT_FALSE(compare(Operation::sum, Element::float64, 3, std::vector{inf}, std::vector{1e308}, {1.7e308}));
    EXPECT_FALSE(compare(Operation::prod, Element::float32, 4, std::vector{0.0F}, std::vector{1.0F}, {300}));
}

TEST(ResultComparison, BothPartsOfComplexNumbersCount) {
    const std::vector<double> own = {1, 2, 3, 4};
    const std::vector<double> other = {1, 2, 3, 4.001};
    EXPECT_EQ(compare(Operation::sum, Element::complex_float64, 3, own, other, {1, 2, 3, 4}), 1U);
    EXPECT_EQ(compare(Operation::prod, Element::complex_float64, 3, own, other, {3, 3}), 1U);
    EXPECT_FALSE(compare(Operation::prod, Element::complex_float64, 3, own, own, {3, 3}));
    const auto comparison = ResultComparison::of_reduction(Operation::sum, Element::complex_float64, 3);
    EXPECT_EQ(comparison.element_text(bytes(own).data() + 16), "3 + 4 i");
}

}  // namespace hcoll
