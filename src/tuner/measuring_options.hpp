// SPDX-License-Identifier: BSD-3-Clause
// How much a laboratory measures for one number.
#pragma once

#include <algorithm>
#include <cmath>

namespace hcoll {

struct MeasuringOptions {
    double seconds_of_a_row = 1e-3;  // a sample takes at least so long ...
    // ... and is of so many calls, since the first ones run ahead, or pass an idle network ...
    int calls_of_a_row = 10;
    double most_of_a_row = 5e-3;  // ... but where they take longer than that
    int most_calls = 2000;
    int single_calls = 3;              // of which the median counts ...
    double seconds_of_singles = 2e-3;  // ... but where fewer take longer than that
    double long_call = 10e-3;  // beside which making its plan is nothing: the faster of the first two counts, too
};

inline int calls_in_seconds(double seconds, double seconds_of_a_call, int most) {
    return static_cast<int>(std::clamp(std::ceil(seconds / seconds_of_a_call), 1.0, static_cast<double>(most)));
}

inline int calls_of_a_row(const MeasuringOptions& options, double seconds_of_a_call) {
    return std::max(calls_in_seconds(options.seconds_of_a_row, seconds_of_a_call, options.most_calls),
                    calls_in_seconds(options.most_of_a_row, seconds_of_a_call, options.calls_of_a_row));
}

// Of single calls, after the first, which makes the plan. 0: that one is enough.
inline int single_calls_of(const MeasuringOptions& options, double seconds_of_a_call) {
    if (seconds_of_a_call > options.long_call) return 0;
    return calls_in_seconds(options.seconds_of_singles, seconds_of_a_call, options.single_calls);
}

}  // namespace hcoll
