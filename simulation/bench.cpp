// SPDX-License-Identifier: BSD-3-Clause
#include "bench.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/letters.hpp"
#include "calls.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "job.hpp"
#include "tuning/text.hpp"

namespace hcoll::simulation {

namespace {

constexpr int root_value = 7;

// What all ranks share: they take turns in one thread.
struct Bench {
    void (*report)(const Options&, const Result&) = nullptr;
    double begin = 0;
    double end = 0;
    long wrong = 0;
};
Bench bench;

class Rank {
public:
    Rank(const Options& options, int rank) : options_(options), rank_(rank) {}

    void run() {
        start();
        for (const std::uint64_t bytes : options_.bytes) {
            prepare(bytes);
            if (options_.learn != 0) learn();
            for (int i = 0; i < options_.warmup; ++i) call();
            std::vector<double> seconds;
            if (options_.back_to_back)
                seconds.push_back(time_calls(options_.repetitions));
            else
                for (int i = 0; i < options_.repetitions; ++i) seconds.push_back(time_calls(1));
            finish_size(bytes, seconds);
        }
    }

private:
    void start() {
        if (options_.is_own())
            init_own();
        else
            init_selected();
        calls_ = std::make_unique<Calls>(options_.is_own(), options_.predefined_op);
        // The communicator is set up here, in a call in which all ranks wait for all; the first plan is made in the next.
        prepare(options_.bytes.front());
        if (options_.is_own()) {
            const std::uint64_t bytes = bytes_;
            bytes_ = std::min<std::uint64_t>(bytes_, sizeof(double));
            if (wrap_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) ++bench.wrong;
            call();
            bytes_ = bytes;
        }
    }

    void prepare(std::uint64_t bytes) {
        bytes_ = bytes;
        send_ = send_region();
        receive_ = receive_region();
        if (!options_.check) return;
        send_memory_.assign(bytes, std::byte{0});
        receive_memory_.assign(bytes, std::byte{0});
        send_ = send_memory_.data();
        receive_ = receive_memory_.data();
    }

    // Not a power of two in any rank, so that a missing or doubled operand shows.
    double value(int rank, std::uint64_t index) const {
        return static_cast<double>(rank % 1021 + 1 + static_cast<int>(index % 61));
    }
    double expected(std::uint64_t index) const {
        double sum = 0;
        for (int rank = 0; rank < options_.ranks; ++rank) sum += value(rank, index);
        return sum;
    }

    template <typename Element>
    void fill_elements() {
        auto* elements = reinterpret_cast<Element*>(send_);
        for (std::uint64_t i = 0; i < bytes_ / sizeof(Element); ++i)
            elements[i] = static_cast<Element>(value(rank_, i));
    }
    void fill() {
        if (options_.collective == Collective::bcast) {
            for (std::uint64_t i = 0; i < bytes_; ++i)
                receive_[i] = rank_ == options_.root ? static_cast<std::byte>((i + root_value) % 251) : std::byte{0xff};
        } else if (is_reduction(options_.collective)) {
            std::memset(receive_, 0xff, bytes_);
            Calls::has_doubles(bytes_) ? fill_elements<double>() : fill_elements<float>();
        }
    }

    template <typename Element>
    bool has_sums() const {
        const auto* elements = reinterpret_cast<const Element*>(receive_);
        std::vector<double> sums;  // they repeat
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(bytes_ / sizeof(Element), 61); ++i)
            sums.push_back(expected(i));
        for (std::uint64_t i = 0; i < bytes_ / sizeof(Element); ++i)
            if (static_cast<double>(elements[i]) != sums[i % 61]) return false;
        return true;
    }
    bool is_right() const {
        if (options_.collective == Collective::bcast) {
            for (std::uint64_t i = 0; i < bytes_; ++i)
                if (receive_[i] != static_cast<std::byte>((i + root_value) % 251)) return false;
            return true;
        }
        const bool has_result = options_.collective == Collective::allreduce ||
                                (options_.collective == Collective::reduce && rank_ == options_.root);
        return !has_result || (Calls::has_doubles(bytes_) ? has_sums<double>() : has_sums<float>());
    }

    int call() {
        int root = options_.root;
        if (options_.rotate_root)
            root =
                static_cast<int>(std::int64_t{calls_made_++} * options_.ranks / options_.repetitions % options_.ranks);
        return calls_->run(options_.collective, send_, receive_, bytes_, root, MPI_COMM_WORLD);
    }

    // Calls as a program makes them that waits for all ranks after each: there they agree on what they have found out.
    void learn() {
        learned_ = {};
        learned_.calls = options_.learn;
        for (int i = 0; i < options_.learn; ++i) {
            if (options_.check) fill();
            if (call() != MPI_SUCCESS) ++bench.wrong;
            if (options_.check && !is_right()) ++bench.wrong;
            if (has_root(options_.collective) && wrap_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) ++bench.wrong;
            const Learning::Place* place = rank_ == 0 && learned_.settled_after == 0 ? find_place() : nullptr;
            if (place != nullptr && place->learning.state() == PlaceLearning::State::settled)
                learned_.settled_after = i + 1;
        }
    }

    // nullptr where all calls of the collective are SimGrid's.
    const OwnAlgorithms* find_own() const {
        const Communicator* communicator = Communicator::find(MPI_COMM_WORLD);
        return communicator == nullptr ? nullptr : communicator->own_for(options_.collective);
    }

    // nullptr where nothing is tried.
    const Learning::Place* find_place() const {
        const OwnAlgorithms* own = find_own();
        if (own == nullptr) return nullptr;
        for (const Learning::Place& each : own->learning.places())
            if (each.key == PlaceKey::of(options_.collective, bytes_)) return &each;
        return nullptr;
    }

    Learned told() const {
        Learned found = learned_;
        const Learning::Place* place = find_place();
        if (place == nullptr) return found;
        const PlaceLearning& learning = place->learning;
        if (learning.cost() > 0) found.regret_calls = learning.regret() / learning.cost();
        for (int i = 0; i < learning.candidates(); ++i) {
            const CostSamples& costs = learning.costs_of(i);
            found.candidates.push_back({place->decision(i).what, costs.mean(), costs.count()});
        }
        return found;
    }

    // One call's part of the time from when all ranks begin until the last one is through with `calls`.
    double time_calls(int calls) {
        if (options_.check) fill();
        meet();
        bench.begin = now();  // the same on all ranks
        bench.end = bench.begin;
        for (int i = 0; i < calls; ++i) {
            if (options_.compute > 0) busy(options_.compute);
            if (call() != MPI_SUCCESS) ++bench.wrong;
        }
        bench.end = std::max(bench.end, now());
        if (options_.check && !is_right()) ++bench.wrong;
        meet();
        const double seconds = (bench.end - bench.begin) / calls - options_.compute;
        meet();
        return seconds;
    }

    void finish_size(std::uint64_t bytes, std::vector<double>& seconds) {
        if (rank_ != 0) return;
        std::string choice;
        if (options_.is_own()) {
            choice = what_runs();
            // The library may have left the call to SimGrid, which would say nothing of the algorithm.
            if (choice == "vendor" && options_.algorithm != "auto") ++bench.wrong;
        }
        Result result{bytes, std::move(seconds), std::move(choice)};
        if (options_.learn != 0) result.learned = told();
        bench.report(options_, result);
    }

    std::string what_runs() const {
        const OwnAlgorithms* own = find_own();
        if (own == nullptr) return "vendor";
        if (const Learning::Place* place = find_place()) return place->decision(place->learning.chosen()).what;
        return decide(own->decisions->blocking[static_cast<std::size_t>(options_.collective)], bytes_).what;
    }

    const Options& options_;
    int rank_;
    std::uint64_t bytes_ = 0;
    int calls_made_ = 0;
    Learned learned_;
    std::unique_ptr<Calls> calls_;
    std::byte* send_ = nullptr;
    std::byte* receive_ = nullptr;
    std::vector<std::byte> send_memory_;
    std::vector<std::byte> receive_memory_;
};

JobOptions job_of(const Options& options) {
    JobOptions job{.machine = options.machine,
                   .ranks = options.ranks,
                   .settings = {},
                   .selector = options.is_own() ? options.vendor : options.selector,
                   .has_data = options.check,
                   .most_bytes = *std::max_element(options.bytes.begin(), options.bytes.end()),
                   .noise = options.noise,
                   .noise_together = options.noise_together,
                   .seed = options.seed};
    if (!options.is_own()) return job;
    for (std::size_t i = 0; i < collective_count; ++i) {
        const bool is_it = static_cast<Collective>(i) == options.collective;
        // Where ranks learn, they agree in barriers.
        const bool is_agreed_in = options.learn != 0 && static_cast<Collective>(i) == Collective::barrier;
        const std::string others = is_agreed_in ? "auto" : "vendor";
        job.settings.emplace_back("LIBHCOLL_" + to_upper(collective_names[i].name), is_it ? options.algorithm : others);
    }
    job.settings.emplace_back("LIBHCOLL_TABLE", options.table.empty() ? "off" : options.table);
    // Without --learn a simulation is of what is known, not of what is found out.
    job.settings.emplace_back("LIBHCOLL_TUNE", options.learn == 0 ? "table" : "auto");
    if (options.learn != 0)
        job.settings.emplace_back("LIBHCOLL_BITS", "free");  // reductions are of floating-point numbers
    if (!options.rules.empty()) job.settings.emplace_back("LIBHCOLL_RULES", options.rules);
    return job;
}

}  // namespace

long run_bench(const Options& options, void (*report)(const Options&, const Result&)) {
    bench.report = report;
    const bool has_ended = run_job(job_of(options), [&](int rank) {
        // In SimGrid's memory of the actor for as long as that runs.
        const auto self = std::make_unique<Rank>(options, rank);
        self->run();
    });
    return has_ended ? bench.wrong : -1;
}

}  // namespace hcoll::simulation
