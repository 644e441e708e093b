// SPDX-License-Identifier: BSD-3-Clause
// Order statistics of a handful of samples. Medians and quartiles, because what disturbs a measurement (a scheduler, a
// neighbor) only ever adds time: a mean would report the disturbance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace hcoll::bench {

struct Statistics {
    double median = 0;
    double minimum = 0;
    double maximum = 0;
    double first_quartile = 0;
    double third_quartile = 0;

    // The middle half of the samples, as a share of the median.
    double spread_percent() const { return median > 0 ? 100 * (third_quartile - first_quartile) / median : 0; }
};

// The value below which a share of the samples lies, interpolated between neighbors.
inline double quantile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

// At least one sample.
inline Statistics statistics(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return {.median = quantile(samples, 0.5),
            .minimum = samples.front(),
            .maximum = samples.back(),
            .first_quartile = quantile(samples, 0.25),
            .third_quartile = quantile(samples, 0.75)};
}

// At least one value, all positive.
inline double geometric_mean(const std::vector<double>& values) {
    double logarithms = 0;
    for (const double value : values) logarithms += std::log(value);
    return std::exp(logarithms / static_cast<double>(values.size()));
}

}  // namespace hcoll::bench
