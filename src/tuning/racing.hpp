// SPDX-License-Identifier: BSD-3-Clause
// Finds the fastest of several candidates by measuring them in turn: who is slower for certain is measured no more.
//
//   round 1   d a b c        one sample each, so that what drifts (frequency, neighbors) drifts for all
//   round 2   c d a b        each round begins elsewhere; each sample of d is a third longer than any of the fastest: out
//   round 3   b c a          all samples of c are longer than all of a, by more than the scatter of either: out
//   round 5   a b            intervals say something from here on: whose lies above a's is out
//   ...                      until one is left, or all intervals are narrow, or there were enough rounds
//
// The interval of a median is that of its order statistics, as near 95 % as their number allows (2 samples: 50 %, 3: 75 %, 5: 94 %): it
// supposes nothing of how noise is distributed. Samples are agreed on by all ranks before they come here, so that all of them decide alike.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace hcoll {

struct RaceOptions {
    int fewest_rounds = 5;  // before an interval says anything
    int rounds_apart = 3;   // before it says something that samples of two lie apart
    int most_rounds = 25;
    double narrow = 0.01;  // half of an interval, over its median: as near as anybody wants to know
    double hopeless = 3;   // times as slow as the fastest: out after two rounds
    double clear = 1.33;  // times as long as the longest sample of the fastest, each of one's own: out after two rounds
    double apart = 1.03;  // the same after rounds_apart, where they also lie further apart than they scatter
};

struct Runner {
    std::vector<double> samples;  // seconds
    bool is_out = false;          // slower than another one for certain

    double median() const;
    // The interval in which the median is.
    double low() const;
    double high() const;
    // Half of it over the median.
    double spread() const { return median() > 0 ? (high() - low()) / 2 / median() : 0; }
};

// `measure(i)` gives one more sample of candidate i, above 0. One runner for each candidate, in their order.
std::vector<Runner> race(std::size_t candidates, const std::function<double(std::size_t)>& measure,
                         const RaceOptions& options);

// Of those that are not out, the one with the smallest median.
std::size_t winner_of(const std::vector<Runner>& runners);

}  // namespace hcoll
