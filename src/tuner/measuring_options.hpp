// How much a laboratory measures for one number.
#pragma once

#include <algorithm>
#include <cmath>

namespace hcoll {

struct MeasuringOptions {
    double seconds_of_a_row = 1e-3;  // a sample takes at least so long, if the call is short
    int most_calls = 2000;           // of a row
    int single_calls = 3;            // of which the median counts, where one takes less than a row
};

inline int calls_of_a_row(const MeasuringOptions& options, double seconds_of_a_call) {
    return static_cast<int>(std::clamp(std::ceil(options.seconds_of_a_row / seconds_of_a_call), 1.0,
                                       static_cast<double>(options.most_calls)));
}

// Of single calls, after the first, which makes the plan.
inline int single_calls_of(const MeasuringOptions& options, double seconds_of_a_call) {
    return std::min(options.single_calls, calls_of_a_row(options, seconds_of_a_call));
}

}  // namespace hcoll
