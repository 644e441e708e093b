// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/place_learning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace hcoll {

namespace {

// Calls of a place before its candidates are tried: who is called less gains nothing by it.
constexpr std::uint64_t often = 20;
constexpr std::uint64_t often_if_long = 4;
constexpr std::uint64_t long_bytes = 256 << 10;
constexpr std::uint64_t short_bytes = 16 << 10;
constexpr std::uint64_t single_calls_bytes = 1 << 20;

// What trying may cost: so many calls of the best candidate, or that share of the time in the place.
constexpr double regret_calls = 36;  // of 50: the last round may take more than was foreseen
constexpr double regret_share = 0.01;
// For a machine's first week (LIBHCOLL_TUNE=learn).
constexpr double more_regret = 10;

constexpr double hopeless_at_once = 4;
constexpr double hopeless = 2;
constexpr double certain = 3;  // standard errors
// What is known of a candidate may be one disturbed call: before it is tried again it counts for no more than so many calls of the choice.
constexpr double most_believed = 8;
constexpr double likely = 2;  // a single disturbed call does not make it so
// The MPI library keeps what would gain less.
constexpr double least_gain = 1.02;
constexpr double much_gain = 1.2;
constexpr double gain_for_change = 1.05;
constexpr std::uint32_t enough_samples = 96;
constexpr std::uint32_t enough_samples_of_long = 24;
// By so many samples whoever is behind by that much is taken for slower, certain or not.
constexpr std::uint32_t some_samples = 24;

// A settled place is looked at again after so many calls, and later where that has changed nothing.
constexpr std::uint64_t first_patience = 2000;
constexpr std::uint64_t most_patience = 8000;
constexpr std::uint64_t most_patience_of_short = 64000;  // calls that agreeing would make longer
constexpr double patience_of_short = 4e-3;               // seconds
// It has become slower where the median of some samples says so.
constexpr double slower_by = 1.3;
constexpr double resolution = 0.2e-6;  // seconds that reading clocks may be off by

// What a disturbed call counts for, over the mean; and how far apart calls are taken to be, over the same, where it is asked whether they have become slower.
constexpr double largest_disturbance = 5;
constexpr double largest_deviation = 0.3;

// Short calls that do not count, by round, beside those that never do.
constexpr std::array<std::size_t, 4> steps_of_rounds = {0, 3, 1, 2};

}  // namespace

const PlaceLearning::Costs PlaceLearning::unknown_costs{};

void CostSamples::add(double seconds) {
    if (count_ >= first_.size()) return count(std::min(seconds, largest_disturbance * mean_));
    first_[count_] = seconds;
    count(seconds);
    if (count_ != first_.size()) return;
    auto [a, b, c] = first_;
    const double most = largest_disturbance * std::max(std::min(a, b), std::min(std::max(a, b), c));
    if (std::max({a, b, c}) <= most) return;
    count_ = 0;
    mean_ = squares_ = 0;
    for (const double each : first_) count(std::min(each, most));
}

void CostSamples::count(double seconds) {
    least_ = count_ == 0 ? seconds : std::min(least_, seconds);
    ++count_;
    const double off = seconds - mean_;
    mean_ += off / count_;
    squares_ += off * (seconds - mean_);
}

void PlaceLearning::begin(int candidates, int vendor, std::uint64_t bytes, TuneMode mode, int first,
                          bool waits_for_all) {
    *this = PlaceLearning{};
    state_ = candidates > 1 ? State::counted : State::settled;
    mode_ = mode;
    candidates_ = static_cast<std::uint8_t>(candidates);
    vendor_ = static_cast<std::uint8_t>(vendor);
    chosen_ = static_cast<std::uint8_t>(first);
    leading_ = chosen_;
    runner_up_ = vendor_;
    is_short_ = bytes < short_bytes && !waits_for_all;
    is_long_ = bytes >= single_calls_bytes;
    fewest_calls_ = mode == TuneMode::learn || bytes >= long_bytes ? often_if_long : often;
    try_at_ = std::numeric_limits<std::uint64_t>::max();
    patience_ = first_patience;
}

PlaceLearning::Turn PlaceLearning::next(bool may_sample) {
    ++calls_;
    if (!is_in_round()) return {leading_, state_ == State::settled && candidates_ > 1 && may_sample};
    const int candidate = order_[position_ / calls_in_a_row_];
    const bool counts = position_ % calls_in_a_row_ >= warm_calls_;
    ++position_;
    return {candidate, counts};
}

std::size_t PlaceLearning::left() const {
    return static_cast<std::size_t>(std::count(is_out_.begin(), is_out_.begin() + candidates_, false));
}

// All that are left, one after another, every other round backwards.
void PlaceLearning::make_round() {
    const std::size_t most = std::max<std::size_t>(1, most_in_round / std::max<std::size_t>(left(), 1));
    std::size_t counted = left() > 2 ? 3 : 5;
    std::size_t warm = 1;
    if (is_long_) {
        counted = round_ == 0 ? 1 : 2;
        warm = 0;
    } else if (is_short_) {
        // A program may wait for all ranks after every few of these calls, and the one behind that takes longer: so several in a row count, and
        // not the same ones of them in every round.
        if (left() > 2) counted = 4;
        warm = 4 + (left() > 2 ? 0 : 2) + steps_of_rounds[round_ % steps_of_rounds.size()];
    }
    warm_calls_ = static_cast<std::uint8_t>(warm);
    calls_in_a_row_ = static_cast<std::uint8_t>(warm + std::min(counted, most));
    length_ = 0;
    position_ = 0;
    std::size_t turns = 0;
    for (int i = 0; i < candidates_; ++i) {
        const int candidate = round_ % 2 == 0 ? i : candidates_ - 1 - i;
        if (!is_out_[static_cast<std::size_t>(candidate)]) order_[turns++] = static_cast<std::uint8_t>(candidate);
    }
    length_ = static_cast<std::uint8_t>(turns * calls_in_a_row_);
}

// What a round costs beyond what the fastest candidate would take, as far as is known.
double PlaceLearning::regret_of_round() const {
    const double least = costs_of(fastest()).mean();
    double regret = 0;
    for (std::size_t turn = 0; turn * calls_in_a_row_ < length_; ++turn)
        regret += calls_in_a_row_ * std::max(0.0, costs_of(order_[turn]).mean() - least);
    return regret;
}

int PlaceLearning::fastest() const {
    int best = -1;
    for (int i = 0; i < candidates_; ++i)
        if (!is_out_[static_cast<std::size_t>(i)] && costs_of(i).count() != 0 &&
            (best < 0 || costs_of(i).mean() < costs_of(best).mean()))
            best = i;
    return best < 0 ? chosen_ : best;
}

bool PlaceLearning::is_slower(int a, int b, double standard_errors) const {
    const double behind = costs_of(a).mean() - costs_of(b).mean();
    const double squared_error = costs_of(a).squared_error() + costs_of(b).squared_error();
    return behind > 0 && behind * behind > standard_errors * standard_errors * squared_error;
}

double PlaceLearning::allowed_regret() const {
    const double of_calls = regret_calls * costs_of(fastest()).mean();
    return std::max(of_calls, regret_share * seconds_) * (mode_ == TuneMode::learn ? more_regret : 1);
}

// Is nobody ahead of what was chosen before by something that counts?
bool PlaceLearning::keeps_chosen() const {
    if (is_out_[chosen_] || costs_of(chosen_).count() == 0) return false;
    const int best = fastest();
    return costs_of(chosen_).mean() <= gain_for_change * costs_of(best).mean() || !is_slower(chosen_, best, 2);
}

// What runs so far was found faster before, by whoever made it so: a few calls, one of them disturbed, do not tell that another one is. Where ranks share cores,
// calls run ahead of one another until somebody has to wait for a turn, for as long as hundreds of calls take: of five, two may have come to that. So who is
// ahead at its best is given up for what is more than likely.
bool PlaceLearning::is_undecided(int before, int best) const {
    const CostSamples& costs = costs_of(before);
    const double least = costs_of(best).least();
    const double standard_errors = costs.least() < least ? likely : 1;
    return !is_out_[static_cast<std::size_t>(before)] && costs.count() != 0 &&
           costs.least() <= gain_for_change * least && !is_slower(before, best, standard_errors);
}

// The fastest, unless the MPI library's is as fast as far as can be told, or what was chosen before is nearly as fast.
int PlaceLearning::choose() const {
    const int best = fastest();
    const int vendor = vendor_;
    if (decisions_ != 0 && !is_out_[chosen_] && costs_of(chosen_).count() != 0) return keeps_chosen() ? chosen_ : best;
    if (best != chosen_ && is_undecided(chosen_, best)) return chosen_;
    if (best == vendor || is_out_[static_cast<std::size_t>(vendor)] || costs_of(vendor).count() == 0) return best;
    const double gain = costs_of(vendor).mean() / costs_of(best).mean();
    // What is usual was found faster before, by whoever made it so; and who gains much is not missed for want of samples.
    const double standard_errors = best == usual || gain > much_gain ? 1 : 2;
    return gain > least_gain && is_slower(vendor, best, standard_errors) ? best : vendor;
}

std::uint64_t PlaceLearning::most_patience_of(double seconds) {
    const double calls = seconds > 0 ? patience_of_short / seconds : 0;
    return calls >= static_cast<double>(most_patience_of_short)
               ? most_patience_of_short
               : std::max(most_patience, static_cast<std::uint64_t>(calls));
}

void PlaceLearning::settle() {
    const int before = chosen_;
    chosen_ = static_cast<std::uint8_t>(choose());
    int second = -1;
    for (int i = 0; i < candidates_; ++i)
        if (i != chosen_ && costs_of(i).count() != 0 && (second < 0 || costs_of(i).mean() < costs_of(second).mean()))
            second = i;
    runner_up_ = static_cast<std::uint8_t>(second < 0 ? vendor_ : second);
    leading_ = chosen_;
    state_ = State::settled;
    // Calls have become slower, and somebody may be faster, but that is not certain: the next ones are to be compared with what they cost before, too.
    const bool is_open =
        was_slow_ && before == chosen_ && costs_of(chosen_).mean() > gain_for_change * costs_of(fastest()).mean();
    if (before == chosen_ && decisions_ != 0 && !is_open) patience_ = std::min(2 * patience_, most_patience_of(cost()));
    if (before != chosen_) patience_ = first_patience;
    ++decisions_;
    was_slow_ = false;
    try_at_ = calls_seen_ + patience_;
    if (!is_open) {
        baseline_ = cost();
        deviation_ = std::min(std::sqrt(costs_of(chosen_).variance()), largest_deviation * baseline_);
    }
    last_in_window_ = 0;
    new_in_window_ = 0;
}

void PlaceLearning::end_round() {
    const int best = fastest();
    const double least = costs_of(best).mean();
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < candidates_; ++i)
        if (costs_of(i).count() != 0) shortest = std::min(shortest, costs_of(i).least());
    regret_ += regret_of_round();
    const std::uint32_t enough = is_long_ ? enough_samples_of_long : enough_samples;
    for (int i = 0; i < candidates_; ++i) {
        if (i == best || is_out_[static_cast<std::size_t>(i)]) continue;
        const bool is_hopeless = round_ == 0 ? costs_of(i).least() > hopeless_at_once * shortest
                                             : costs_of(i).mean() > hopeless * least && is_slower(i, best, likely);
        const bool is_certain = round_ != 0 && is_slower(i, best, certain);
        const bool is_behind = i != vendor_ && i != usual && costs_of(i).count() >= std::min(some_samples, enough) &&
                               left() > 2 && is_slower(i, best, 1);
        if (is_hopeless || is_certain || is_behind) is_out_[static_cast<std::size_t>(i)] = true;
    }
    if (round_ < std::numeric_limits<std::uint8_t>::max()) ++round_;
    // Who may yet turn out to be ahead by something that counts is tried for longer.
    bool is_open = false;
    for (int i = 0; i < candidates_; ++i)
        is_open |= i != best && !is_out_[static_cast<std::size_t>(i)] && costs_of(i).mean() > gain_for_change * least;
    if (left() == 1 || costs_of(best).count() >= (is_open ? 4 * enough : enough)) return settle();
    make_round();
    if (regret_ + regret_of_round() > allowed_regret()) return settle();
    leading_ = keeps_chosen() ? chosen_ : static_cast<std::uint8_t>(fastest());
}

// Who is tried again beside the choice, whose calls take `now`: the runner-up, but where it is hopeless, and the MPI library's.
bool PlaceLearning::is_worth_another_try(int candidate, double now) const {
    return candidate == vendor_ || (candidate == runner_up_ && costs_of(candidate).mean() <= hopeless_at_once * now);
}

// About what a round of those costs beyond what the choice would take, as far as is known. What it does cost is counted afterwards.
double PlaceLearning::regret_of_another_try(double now) const {
    double regret = 0;
    for (int i = 0; i < candidates_; ++i) {
        if (i == chosen_ || !is_worth_another_try(i, now)) continue;
        const double seconds = costs_of(i).count() == 0 ? 2 * now : std::min(costs_of(i).mean(), most_believed * now);
        regret += static_cast<double>(most_in_round) / 2 * std::max(seconds - now, now / 4);
    }
    return regret;
}

// Conditions may have changed: what is known of costs is of those before.
void PlaceLearning::try_again(double now) {
    is_out_.fill(true);
    for (int i = 0; i < candidates_; ++i)
        is_out_[static_cast<std::size_t>(i)] = i != chosen_ && !is_worth_another_try(i, now);
    // Who is not tried now may be the only other one next time.
    const CostSamples known = costs_of(runner_up_);
    *costs_ = {};
    if (is_out_[runner_up_]) (*costs_)[runner_up_] = known;
    state_ = State::tried;
    round_ = 1;
    make_round();
}

// In a settled place. Tries others where it is time to.
bool PlaceLearning::watch(std::span<const Cost> costs) {
    for (const Cost& each : costs)
        if (each.candidate == chosen_) {
            window_[last_in_window_++ % window_.size()] = each.seconds;
            ++new_in_window_;
        }
    bool is_slow = false;
    double now = baseline_;
    if (last_in_window_ >= window_.size() && new_in_window_ >= 2) {
        new_in_window_ = 0;
        auto sorted = window_;
        const auto middle = sorted.begin() + sorted.size() / 2;
        std::nth_element(sorted.begin(), middle, sorted.end());
        now = *middle;
        is_slow =
            *middle > slower_by * baseline_ && *middle > baseline_ + 2 * deviation_ && *middle > baseline_ + resolution;
    }
    const bool is_time = calls_seen_ >= try_at_;
    if (!is_slow && !is_time) return false;
    // Where calls have become slower, so has the measure of what trying may cost.
    if (!is_slow) now = baseline_;
    if (regret_ + regret_of_another_try(now) > std::max(allowed_regret(), regret_calls * now)) {
        if (is_time) try_at_ = calls_seen_ + patience_;
        return false;
    }
    was_slow_ = is_slow;
    try_again(now);
    return true;
}

bool PlaceLearning::learn(std::span<const Cost> costs, std::uint64_t calls, std::size_t position) {
    check(costs_ != nullptr, "a place that learns keeps costs");
    const auto further_calls = static_cast<double>(calls - std::min(calls, calls_seen_));
    calls_seen_ = std::max(calls, calls_seen_);
    if (state_ == State::settled) {
        seconds_ += further_calls * baseline_;
        return candidates_ >= 2 && watch(costs);
    }
    if (state_ == State::counted) {
        if (calls < fewest_calls_) return false;
        is_out_.fill(false);
        state_ = State::tried;
        round_ = 0;
        make_round();
        return true;
    }
    for (const Cost& each : costs)
        if (each.candidate >= 0 && each.candidate < candidates_)
            (*costs_)[static_cast<std::size_t>(each.candidate)].add(each.seconds);
    seconds_ += further_calls * costs_of(fastest()).mean();
    if (position < length_) return false;
    end_round();
    return true;
}

}  // namespace hcoll
