// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/racing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace hcoll {

namespace {

std::vector<double> sorted(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    return samples;
}

// How far from the middle the ends of the interval are, in order statistics.
double reach_of_interval(std::size_t samples) {
    constexpr double normal = 0.98;  // half of 1.96 standard deviations of a binomial distribution
    return normal * std::sqrt(static_cast<double>(samples));
}

double at(const std::vector<double>& ordered, double position) {
    const auto last = static_cast<double>(ordered.size() - 1);
    const double clamped = std::clamp(position, 0.0, last);
    const auto below = static_cast<std::size_t>(clamped);
    const std::size_t above = std::min(below + 1, ordered.size() - 1);
    return ordered[below] + (clamped - static_cast<double>(below)) * (ordered[above] - ordered[below]);
}

std::pair<double, double> range_of(const std::vector<double>& samples) {
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    return {*least, *most};
}

double middle(const std::vector<double>& ordered) { return static_cast<double>(ordered.size() - 1) / 2; }

}  // namespace

double Runner::median() const {
    const std::vector<double> ordered = sorted(samples);
    return at(ordered, middle(ordered));
}

double Runner::low() const {
    const std::vector<double> ordered = sorted(samples);
    return at(ordered, middle(ordered) - reach_of_interval(ordered.size()));
}

double Runner::high() const {
    const std::vector<double> ordered = sorted(samples);
    return at(ordered, middle(ordered) + reach_of_interval(ordered.size()));
}

std::vector<Runner> race(std::size_t candidates, const std::function<double(std::size_t)>& measure,
                         const RaceOptions& options) {
    std::vector<Runner> runners(candidates);
    std::size_t last = candidates;
    for (int round = 1; round <= options.most_rounds; ++round) {
        std::vector<std::size_t> running;
        running.reserve(candidates);
        for (std::size_t i = 0; i < candidates; ++i)
            if (!runners[i].is_out) running.push_back(i);
        const std::size_t number = running.size();
        // Each round begins elsewhere, and never with who ended the one before: a burst of noise must not hit two samples of the same one.
        std::size_t first = number > 2 ? static_cast<std::size_t>(round) % number : 0;
        if (number > 1 && running[first] == last) first = (first + 1) % number;
        for (std::size_t i = 0; i < number; ++i) {
            last = running[(first + i) % number];
            runners[last].samples.push_back(measure(last));
        }
        const Runner& best = runners[winner_of(runners)];
        std::size_t left = 0;
        bool are_narrow = true;
        for (Runner& runner : runners) {
            if (runner.is_out) continue;
            const auto [least_of_best, most_of_best] = range_of(best.samples);
            const auto [least, most] = range_of(runner.samples);
            const bool is_hopeless =
                round > 1 && (least > options.hopeless * best.median() || least > options.clear * most_of_best);
            // By more than either of them scatters.
            const double gap = least - most_of_best;
            const bool is_apart = round >= options.rounds_apart && gap > (options.apart - 1) * most_of_best &&
                                  gap > most_of_best - least_of_best && gap > most - least;
            const bool is_slower = round >= options.fewest_rounds && runner.low() > best.high();
            runner.is_out = &runner != &best && (is_hopeless || is_apart || is_slower);
            if (runner.is_out) continue;
            ++left;
            are_narrow = are_narrow && runner.spread() <= options.narrow;
        }
        if (left == 1 && round >= std::min(options.rounds_apart, options.fewest_rounds)) break;
        if (are_narrow && round >= options.fewest_rounds) break;
    }
    return runners;
}

std::size_t winner_of(const std::vector<Runner>& runners) {
    std::size_t winner = runners.size();
    for (std::size_t i = 0; i < runners.size(); ++i) {
        if (runners[i].is_out || runners[i].samples.empty()) continue;
        if (winner == runners.size() || runners[i].median() < runners[winner].median()) winner = i;
    }
    return winner;
}

}  // namespace hcoll
