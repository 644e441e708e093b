// SPDX-License-Identifier: BSD-3-Clause
// While one of these lives, arithmetic goes by the usual rules, and afterwards by the application's again: that may have asked for a signal where a result is
// infinite or no number (Fortran's -ffpe-trap), or for another rounding, perhaps not on all ranks, and may look at what flags are raised.
// For what the library computes for itself; a reduction's operands are the application's.
#pragma once

#include <cfenv>

namespace hcoll {

class OwnArithmetic {
public:
    OwnArithmetic() {
        std::fegetenv(&applications_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~OwnArithmetic() { std::fesetenv(&applications_); }
    OwnArithmetic(const OwnArithmetic&) = delete;
    OwnArithmetic& operator=(const OwnArithmetic&) = delete;

private:
    std::fenv_t applications_{};
};

}  // namespace hcoll
