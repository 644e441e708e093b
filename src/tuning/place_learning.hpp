// SPDX-License-Identifier: BSD-3-Clause
// How one place finds its fastest candidate on the program's own calls.
//
// A *place* is a collective with messages of one power of two of bytes, on one communicator. Its candidates take turns:
//
//   counted --often enough--> tried, in rounds --one is left, or nothing tells them apart--> settled --slower, or time for it--+
//                                  ^                                                                                           |
//                                  +-------- the chosen one, the runner-up (but a hopeless one) and the MPI library's --------+
//
// In a round every candidate that is left has a few calls in a row, the next round goes the other way round. The first ones do not count: a
// change of algorithm disturbs the calls after it, and short calls in a row run ahead of one another. Then (successive rejects)
//
//   after the first round   whoever took more than 4 times as long as the fastest, each at its best, is out: it was tried once
//   after any other         whoever took more than twice as long, or is slower for certain (3 standard errors), is out
//
// until one is left, until there are enough samples, or until more trying would cost more than it may: what 50 calls of the best candidate
// cost, or 1 % of the time spent in the place, whichever is more. Who runs before anything is tried stays where nothing tells the
// fastest from it; where nothing tells the fastest from the MPI library's, that is chosen. A program may make many calls before its ranks agree the next time:
// between two rounds they run who leads by then.
//
// What it is told of costs is the same on all ranks (learning.hpp), and all that it does is a function of that and of the number of calls:
// so all ranks choose alike. Nothing here reads a clock, and no function of libm is used whose last bit depends on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tuning/settings.hpp"

namespace hcoll {

// Mean and variance of what calls of one candidate cost, in seconds. A single disturbance (another program on the core) counts as 5
// times the mean at the most; one of the first three, as 5 times the median of these.
class CostSamples {
public:
    void add(double seconds);
    std::uint32_t count() const { return count_; }
    double mean() const { return mean_; }
    double least() const { return least_; }
    double variance() const { return count_ < 2 ? mean_ * mean_ : squares_ / (count_ - 1); }
    // Of the mean: the square of the standard error.
    double squared_error() const { return count_ == 0 ? 0 : variance() / count_; }

private:
    void count(double seconds);

    std::uint32_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
    double least_ = 0;
    std::array<double, 3> first_{};
};

class PlaceLearning {
public:
    static constexpr std::size_t most_candidates = 8;
    static constexpr std::size_t most_in_round = 16;  // calls that count
    // Candidate 0 is what runs without any trying, and without what other jobs have learned.
    static constexpr int usual = 0;
    using Costs = std::array<CostSamples, most_candidates>;

    enum class State : std::uint8_t { counted, tried, settled };

    // `vendor`: which candidate is the MPI library's; `bytes`: of a message; `first`: who runs until something else is found out;
    // `waits_for_all`: no rank runs ahead of the others in it.
    void begin(int candidates, int vendor, std::uint64_t bytes, TuneMode mode, int first, bool waits_for_all);
    // After that, and before it learns of any: where it keeps what candidates cost. The caller's, since most places are only counted.
    void keep_costs_in(Costs& costs) { costs_ = &costs; }

    // One more call: which candidate it runs. `is_timed`: its cost is to be told (learn). In a settled place a call is timed where
    // `may_sample` says so.
    struct Turn {
        int candidate;
        bool is_timed;
    };
    Turn next(bool may_sample);
    // Calls that run what such calls run now without asking.
    void add_calls(std::uint64_t calls) { calls_ += calls; }

    // All ranks have agreed: timed calls have cost that. `calls` and `position` are those of when they were told.
    struct Cost {
        int candidate;
        double seconds;
    };
    // Returns whether what calls run may be something else from now on.
    bool learn(std::span<const Cost> costs, std::uint64_t calls, std::size_t position);
    // Agreeing took that long.
    void add_regret(double seconds) { regret_ += seconds; }

    State state() const { return state_; }
    int chosen() const { return chosen_; }
    // Is there something to be agreed on?
    bool is_trying() const { return state_ == State::tried; }
    // Has it been called often enough to be worth trying?
    bool is_ready() const { return state_ == State::counted && calls_ >= fewest_calls_; }
    // Will the next call be one of a round? Where it is over, what was found out has yet to be agreed on.
    bool is_in_round() const { return state_ == State::tried && position_ < length_; }
    // Where the round is over and none of its calls was timed.
    void repeat_round() {
        if (!is_in_round()) position_ = 0;
    }
    // In a round, how many calls of it have been made.
    std::size_t position() const { return position_; }
    std::uint64_t calls() const { return calls_; }
    int candidates() const { return candidates_; }
    int vendor() const { return vendor_; }
    const CostSamples& costs_of(int candidate) const {
        return (costs_ == nullptr ? unknown_costs : *costs_)[static_cast<std::size_t>(candidate)];
    }
    // Seconds that trying has cost beyond what the best candidate would have.
    double regret() const { return regret_; }
    // Seconds spent in calls of it, as far as they are known.
    double seconds() const { return seconds_; }
    std::uint32_t decisions() const { return decisions_; }
    // What a call of the chosen candidate costs; 0 where that is not known.
    double cost() const { return costs_of(chosen_).count() != 0 ? costs_of(chosen_).mean() : baseline_; }

private:
    static const Costs unknown_costs;

    void make_round();
    void end_round();
    void settle();
    bool watch(std::span<const Cost> costs);
    bool is_worth_another_try(int candidate, double now) const;
    double regret_of_another_try(double now) const;
    void try_again(double now);
    int fastest() const;
    int choose() const;
    bool keeps_chosen() const;
    bool is_undecided(int before, int best) const;
    double regret_of_round() const;
    double allowed_regret() const;
    static std::uint64_t most_patience_of(double seconds);
    std::size_t left() const;
    // By how many standard errors a is slower than b.
    bool is_slower(int a, int b, double standard_errors) const;

    State state_;
    TuneMode mode_;
    std::uint8_t candidates_;
    std::uint8_t vendor_;
    std::uint8_t chosen_;
    std::uint8_t leading_;  // who runs between two rounds
    std::uint8_t runner_up_;
    bool is_short_;       // a message is so short that calls run ahead of one another
    bool is_long_;        // or so long that single calls tell
    bool was_slow_;       // others are tried because the choice's calls have become slower
    std::uint8_t round_;  // since trying began
    std::uint8_t length_;
    std::uint8_t position_;
    std::uint32_t decisions_;
    std::uint64_t fewest_calls_;
    std::uint64_t calls_;
    std::uint64_t calls_seen_;  // when costs were told last
    std::uint64_t try_at_;      // by so many calls
    std::uint64_t patience_;    // calls until that
    double regret_;
    double seconds_;
    double baseline_;  // what a call cost when it was chosen
    double deviation_;
    std::array<bool, most_candidates> is_out_;
    std::array<double, 5> window_;  // what the chosen candidate has cost lately
    std::uint32_t last_in_window_;
    std::uint32_t new_in_window_;
    Costs* costs_ = nullptr;
    // A round: one after another, calls in a row, of which the first ones do not count.
    std::array<std::uint8_t, most_candidates> order_;
    std::uint8_t calls_in_a_row_;
    std::uint8_t warm_calls_;
};

}  // namespace hcoll
