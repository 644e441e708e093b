// SPDX-License-Identifier: BSD-3-Clause
// A job of ranks without MPI whose calls teach: each rank has a Learning of its own, and time is a number.
//
// A call begins on each rank when that has computed; how long it then takes is the candidate's (seconds of a call, in the order of the place's
// candidates). Ranks agree as intercept/calls/learned_call.cpp has it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "random.hpp"
#include "tuning/learning.hpp"

namespace hcoll::test {

inline constexpr double microsecond = 1e-6;

// By candidate.
inline auto seconds_of(std::vector<double> microseconds) {
    return [microseconds](Collective, std::uint64_t, int candidate, std::uint64_t) {
        return microseconds[static_cast<std::size_t>(candidate)] * microsecond;
    };
}

// As many candidates beside the usual one, which is the MPI library's: the catalog's algorithms, whatever they are.
inline TrialTable trials_of(Collective collective, std::size_t others) {
    TrialTable table(1);
    for (const Algorithm& each : algorithms()) {
        if (each.collective != collective || table[0].others.size() == others) continue;
        table[0].others.push_back(
            {.algorithm = &each, .parameters = each.defaults, .what = std::string(each.name), .why = "a test"});
    }
    EXPECT_EQ(table[0].others.size(), others) << "the catalog has fewer";
    return table;
}

class LearningJob {
public:
    struct Options {
        int ranks = 4;
        std::size_t others = 3;
        TuneMode mode = TuneMode::automatic;
        int first = PlaceLearning::usual;  // what places begin with
        // Before a call a rank computes up to so many times what the call's fastest candidate takes.
        double skew = 0;
        double noise = 0.05;
        // Of a call, by collective, bytes and candidate.
        std::function<double(Collective, std::uint64_t, int candidate, std::uint64_t call)> seconds;
        double first_agreement = 0;  // in seconds, where it is longer than the others
    };

    LearningJob(const Options& options, std::uint64_t seed) : options_(options), random_(seed) {
        for (std::size_t i = 0; i < collective_count; ++i)
            trials_[i] = trials_of(static_cast<Collective>(i), static_cast<Collective>(i) == Collective::barrier
                                                                   ? std::min<std::size_t>(options.others, 2)
                                                                   : options.others);
        for (TrialTable& each : trials_) each[0].first = options.first;
        for (DecisionTable& each : usual_) each = {{.decision = {.parameters = {}, .what = "vendor", .why = "a test"}}};
        for (int rank = 0; rank < options.ranks; ++rank) {
            learning_.emplace_back(&usual_, &trials_, options.mode, BitsPromise::free);
            now_.push_back(1);
        }
    }

    // One call of all ranks; returns which candidate it ran.
    int call(Collective collective, std::uint64_t bytes, int root = 0) {
        const bool all_wait = collective == Collective::barrier || collective == Collective::allreduce;
        ++calls_;
        const double scale = options_.seconds(collective, bytes, 0, calls_);
        for (double& now : now_) now += options_.skew * scale * unit();
        if (collective == Collective::bcast && learning_[0].rests_bcast()) return rest(root);
        // As the library's calls are (bcast_of_node, learned_turn): those that may go by are not looked at, and the place of a Bcast is known when it has begun.
        std::vector<bool> may_time;
        std::vector<bool> goes_by;
        for (Learning& each : learning_) {
            may_time.push_back(collective != Collective::bcast || each.may_time());
            goes_by.push_back((collective != Collective::bcast || !may_time.back()) && each.may_go_by(collective));
            EXPECT_EQ(goes_by.back(), goes_by[0]) << "call " << calls_;
            if (!goes_by.back()) each.count_call();
        }
        if (all_wait && !goes_by[0]) agree();
        if (!learning_[0].is_on()) return PlaceLearning::usual;
        std::vector<double> arrival = now_;
        std::vector<Learning::Turn> turns;
        const Decision* decided = nullptr;
        for (std::size_t rank = 0; rank < learning_.size(); ++rank) {
            Learning& each = learning_[rank];
            const Decision* what = &usual_of(collective);
            const bool is_as_before = goes_by[rank] && each.is_as_before(collective, bytes, what);
            if (goes_by[rank] && !is_as_before) each.take_back(collective);
            turns.push_back(is_as_before ? Learning::Turn() : each.next(collective, bytes, *what));
            if (!is_as_before) what = turns.back().decision;
            if (rank == 0) decided = what;
            EXPECT_EQ(what, decided) << "call " << calls_;
            EXPECT_EQ(turns.back().place, turns[0].place);
        }
        const int candidate = candidate_of(collective, decided);
        const double takes = options_.seconds(collective, bytes, candidate, calls_) * (1 + options_.noise * unit());
        run(collective, root, takes);
        for (std::size_t rank = 0; rank < now_.size(); ++rank)
            if (turns[rank].place >= 0 && may_time[rank])
                learning_[rank].note(turns[rank], static_cast<int>(rank) == root, nanoseconds(arrival[rank]),
                                     nanoseconds(now_[rank]));
        spent_ += takes;
        return candidate;
    }

    int chosen(Collective collective, std::uint64_t bytes) {
        const PlaceKey key = PlaceKey::of(collective, bytes);
        for (const Learning::Place& each : learning_[0].places())
            if (each.key == key) return each.learning.chosen();
        return -1;
    }
    const Learning::Place* place(Collective collective, std::uint64_t bytes) {
        const PlaceKey key = PlaceKey::of(collective, bytes);
        for (const Learning::Place& each : learning_[0].places())
            if (each.key == key) return &each;
        return nullptr;
    }
    const Decision& usual_of(Collective collective) const {
        return usual_[static_cast<std::size_t>(collective)].front().decision;
    }
    std::vector<Learning>& ranks() { return learning_; }
    std::uint64_t agreements() const { return agreements_; }
    // In calls.
    double seconds() const { return spent_; }
    Random& random() { return random_; }

private:
    double unit() { return static_cast<double>(random_.next() >> 11U) * 0x1p-53; }
    static std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

    int candidate_of(Collective collective, const Decision* decision) const {
        const auto& others = trials_[static_cast<std::size_t>(collective)][0].others;
        for (std::size_t i = 0; i < others.size(); ++i)
            if (decision == &others[i]) return static_cast<int>(i) + 1;
        return 0;
    }

    // Who waits for whom.
    void run(Collective collective, int root, double takes) {
        const double last = *std::max_element(now_.begin(), now_.end());
        const double of_root = now_[static_cast<std::size_t>(root)];
        for (std::size_t rank = 0; rank < now_.size(); ++rank) {
            const bool is_root = static_cast<int>(rank) == root;
            double& now = now_[rank];
            if (collective == Collective::bcast)
                now = is_root ? now + takes / 2 : std::max(now + takes / 10, of_root + takes);
            else if (collective == Collective::reduce)
                now = is_root ? last + takes : now + takes / 10;
            else
                now = last + takes;
        }
    }

    // A Bcast of which nobody is told anything: the usual one, which is the vendor's.
    int rest(int root) {
        for (Learning& each : learning_) {
            EXPECT_TRUE(each.rests_bcast());
            if (!each.may_go_by(Collective::bcast)) each.count_call();
        }
        const double takes = options_.seconds(Collective::bcast, 0, PlaceLearning::usual, calls_);
        run(Collective::bcast, root, takes);
        spent_ += takes;
        return PlaceLearning::usual;
    }

    void agree() {
        if (!learning_[0].is_due()) return;
        for (const Learning& each : learning_) EXPECT_TRUE(each.is_due());
        Learning::Words words;
        all_.fill(0);
        for (Learning& each : learning_) {
            // How long the one before took.
            const std::uint64_t took = agreements_ == 1 ? nanoseconds(options_.first_agreement) : 0;
            each.tell(words, std::max(took, agreements_ == 0 ? 0 : 1000 + random_.below(1000)), false);
            for (std::size_t i = 0; i < words.size(); ++i) all_[i] = std::max(all_[i], words[i]);
        }
        ++agreements_;
        for (Learning& each : learning_) each.learn(all_);
    }

    Options options_;
    Random random_;
    TrialTables trials_;
    std::array<DecisionTable, collective_count> usual_;
    std::vector<Learning> learning_;
    std::vector<double> now_;
    std::uint64_t calls_ = 0;
    std::uint64_t agreements_ = 0;
    double spent_ = 0;
    Learning::Words all_{};
};

}  // namespace hcoll::test
