// SPDX-License-Identifier: BSD-3-Clause
// What reads text that comes from outside, each as a function of any bytes: it must not crash, and what it has read it must read again from what it says of it.
//
// Run on kept inputs and random changes of these by test/plans/test_fuzz.cpp, and by libFuzzer for hours (scripts/fuzz).
#pragma once

#include <span>
#include <string_view>

namespace hcoll::test {

struct FuzzTarget {
    std::string_view name;  // its inputs are in corpus/<name>
    // Aborts with a sentence where something is wrong.
    void (*run)(std::string_view input);
};

std::span<const FuzzTarget> fuzz_targets();

}  // namespace hcoll::test
