// SPDX-License-Identifier: BSD-3-Clause
// A thread that goes by another one's rules for a while: how it rounds, what it does with numbers near 0, and which results raise a signal.
#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <thread>

#include "base/arithmetic_rules.hpp"

namespace hcoll::test {
namespace {

// What is left of it beside 1 is less than half of the last bit.
template <typename Number>
constexpr Number little = std::numeric_limits<Number>::epsilon() / 8;

template <typename Number>
Number sum(Number a, Number b) {
    volatile Number left = a;
    volatile Number right = b;
    return left + right;
}

class ArithmeticRulesTest : public testing::Test {
protected:
    void TearDown() override { std::fesetenv(FE_DFL_ENV); }
};

TEST_F(ArithmeticRulesTest, AreThoseOfWhoGaveThem) {
    std::fesetround(FE_UPWARD);
    const ArithmeticRules upward = ArithmeticRules::of_this_thread();
    std::fesetround(FE_TONEAREST);
    std::thread([&] {
        EXPECT_EQ(sum(1.0, little<double>), 1.0);
        {
            const UnderRules under(upward);
            EXPECT_EQ(std::fegetround(), FE_UPWARD);
            EXPECT_GT(sum(1.0, little<double>), 1.0);
            EXPECT_GT(sum(1.0L, little<long double>), 1.0L);
        }
        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
        EXPECT_EQ(sum(1.0, little<double>), 1.0);
        EXPECT_EQ(sum(1.0L, little<long double>), 1.0L);
    }).join();
}

// A flag that was raised before is no reason for a signal, and is there afterwards.
TEST_F(ArithmeticRulesTest, LeaveFlagsAsTheyAre) {
    if (feenableexcept(FE_INEXACT | FE_DIVBYZERO) < 0 || fegetexcept() != (FE_INEXACT | FE_DIVBYZERO))
        GTEST_SKIP() << "this processor sends no such signals";
    const ArithmeticRules with_signals = ArithmeticRules::of_this_thread();
    fedisableexcept(FE_ALL_EXCEPT);
    std::feclearexcept(FE_ALL_EXCEPT);
    EXPECT_EQ(sum(1.0, little<double>), 1.0);
    ASSERT_EQ(std::fetestexcept(FE_INEXACT), FE_INEXACT);
    // On x86 that one is another unit's.
    const volatile long double none = 0;
    const volatile long double infinite = 1 / none;
    ASSERT_EQ(std::fetestexcept(FE_DIVBYZERO), FE_DIVBYZERO) << infinite;
    {
        const UnderRules under(with_signals);
        EXPECT_EQ(fegetexcept(), FE_INEXACT | FE_DIVBYZERO);
        EXPECT_EQ(sum(1.0, 2.0), 3.0);
        EXPECT_EQ(sum(1.0L, 2.0L), 3.0L);
    }
    EXPECT_EQ(fegetexcept(), 0);
    EXPECT_EQ(std::fetestexcept(FE_INEXACT | FE_DIVBYZERO), FE_INEXACT | FE_DIVBYZERO);
}

#if defined(__x86_64__)
TEST_F(ArithmeticRulesTest, SayWhatNumbersNearZeroAre) {
    constexpr unsigned int flush_to_zero = 0x8000;
    const unsigned int before = _mm_getcsr();
    _mm_setcsr(before | flush_to_zero);
    const ArithmeticRules rules = ArithmeticRules::of_this_thread();
    _mm_setcsr(before);
    const double least = std::numeric_limits<double>::min();
    EXPECT_GT(sum(1.5 * least, -least), 0);
    const UnderRules under(rules);
    EXPECT_EQ(sum(1.5 * least, -least), 0);
}
#endif

}  // namespace
}  // namespace hcoll::test
