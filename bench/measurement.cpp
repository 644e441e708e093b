// SPDX-License-Identifier: BSD-3-Clause
#include "measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "clock.hpp"
#include "hcoll/hcoll.h"
#include "quantity.hpp"
#include "statistics.hpp"

namespace hcoll::bench {

namespace {

// All ranks come here at the same place between their collective calls, as libhcoll asks for.
void switch_to(Side side) { MPI_Pcontrol(side == Side::own ? HCOLL_PCONTROL_OWN : HCOLL_PCONTROL_VENDOR); }

bool is_one_host() {
    MPI_Comm host = MPI_COMM_NULL;
    int on_host = 0;
    int all = 0;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
    check(MPI_Comm_size(host, &on_host));
    check(MPI_Comm_size(MPI_COMM_WORLD, &all));
    check(MPI_Comm_free(&host));
    return on_host == all;
}

// Seconds per call on this rank.
double time_back_to_back(const Operation& operation, int iterations) {
    const double start = now();
    for (int i = 0; i < iterations; ++i) operation.call();
    return (now() - start) / iterations;
}

}  // namespace

std::vector<double> Measurement::ratios() const {
    if (!correct) return {};
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(own.size(), vendor.size()); ++i) ratios.push_back(vendor[i] / own[i]);
    return ratios;
}

std::vector<double> Measurement::least_ratios() const {
    if (!correct) return {};
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(own.size(), least.size()); ++i) ratios.push_back(own[i] / least[i]);
    return ratios;
}

struct Meter::Current {
    Operation operation;
    Measurement result;
};

Meter::Meter(const Options& options, std::vector<Side> sides, const World& world, const Buffers& buffers,
             const Progress& progress)
    : options_(options),
      sides_(std::move(sides)),
      world_(world),
      buffers_(buffers),
      progress_(progress),
      one_host_(is_one_host()),
      node_bound_(world, options.sizes.back()) {}

Measurement Meter::measure(const Subject& subject, const std::string& position) {
    Current current{.operation = Operation(subject, world_, buffers_), .result = {}};
    current.result.subject = subject;
    const std::string title = fmt::format("{} {}", name(subject.collective), size_text(subject.bytes));

    progress_.show(fmt::format("{}: warming up ({})", title, position));
    // libhcoll takes a communicator over only in calls in which all ranks wait for all.
    for (int i = 0; i < options_.warmup; ++i) check(MPI_Barrier(MPI_COMM_WORLD));
    let_learn(current, title, position);
    for (const Side side : sides_) {
        run_block(current, side, options_.warmup);
        check_single_calls(current, side);
    }
    const int iterations = choose_iterations(current);
    current.result.iterations = iterations;

    const Least least = least_of(subject);
    current.result.least_name = least == Least::copy ? "copy" : "exchange of flags";
    std::vector<Side> order = sides_;
    for (int pair = 1; pair <= options_.repetitions; ++pair) {
        progress_.show(fmt::format("{}: {} of {} ({})", title, pair, options_.repetitions, position));
        for (const Side side : order) {
            auto& samples = side == Side::own ? current.result.own : current.result.vendor;
            samples.push_back(run_block(current, side, iterations));
            if (side == Side::own && least != Least::none)
                current.result.least.push_back(run_least(least, subject, iterations));
        }
        // What drifts (frequency, temperature, a neighbor) then favors each side in turn.
        std::reverse(order.begin(), order.end());
    }
    return std::move(current.result);
}

// What the library finds out on a program's calls while it runs (LIBHCOLL_TUNE) is to be found out before anything is timed. Its ranks agree
// on that in calls in which all wait for all.
void Meter::let_learn(Current& current, const std::string& title, const std::string& position) {
    constexpr int calls_in_a_row = 16;
    constexpr double most_seconds = 20;
    if (options_.learn == 0 || std::find(sides_.begin(), sides_.end(), Side::own) == sides_.end()) return;
    progress_.show(fmt::format("{}: learning ({})", title, position));
    current.operation.prepare_many(++seed_);
    switch_to(Side::own);
    const double start = now();
    for (int done = 0; done < options_.learn; done += calls_in_a_row) {
        for (int i = 0; i < calls_in_a_row; ++i) current.operation.call();
        check(MPI_Barrier(MPI_COMM_WORLD));
        int is_enough = now() - start > most_seconds ? 1 : 0;
        check(PMPI_Bcast(&is_enough, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (is_enough != 0) break;
    }
    switch_to(Side::vendor);
}

Meter::Least Meter::least_of(const Subject& subject) const {
    constexpr std::size_t most_bytes_of_exchange = 64;
    constexpr std::size_t fewest_bytes_of_copy = 16 << 10;
    if (!options_.bound || !node_bound_.exists()) return Least::none;
    if (subject.bytes <= most_bytes_of_exchange) return Least::exchange;
    const bool is_copy = subject.collective == Collective::bcast && subject.bytes >= fewest_bytes_of_copy;
    return is_copy ? Least::copy : Least::none;
}

// The vendor's, before either side: how ranks leave a barrier must not differ between what is compared.
void Meter::barrier() {
    switch_to(Side::vendor);
    check(PMPI_Barrier(MPI_COMM_WORLD));
    meet();
}

// After a timed block, too: a rank that is through must not spin in the vendor's next collective on a core that another one
// still needs for its block.
void Meter::meet() {
    if (node_bound_.exists()) node_bound_.meet();
}

double Meter::time_alone(const Operation& operation, Side side, int iterations) {
    double seconds = 0;
    for (int i = 0; i < iterations; ++i) {
        barrier();
        switch_to(side);
        const double start = now();
        operation.call();
        seconds += now() - start;
        meet();
    }
    return seconds / iterations;
}

double Meter::run_least(Least least, const Subject& subject, int iterations) {
    barrier();
    const double mine = least == Least::exchange
                            ? node_bound_.exchange_seconds(iterations)
                            : node_bound_.copy_seconds(subject.bytes, options_.root, iterations, buffers_);
    meet();
    double longest = 0;
    check(PMPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return longest;
}

// Seconds per call, the maximum over the ranks: a collective is as slow as its slowest rank.
double Meter::run_block(Current& current, Side side, int iterations) {
    Operation& operation = current.operation;
    operation.prepare_many(++seed_);
    barrier();
    switch_to(side);
    const double seconds =
        options_.sync ? time_alone(operation, side, iterations) : time_back_to_back(operation, iterations);
    meet();
    switch_to(Side::vendor);

    // Of the ranks that found an error the lowest speaks, so that a job of thousands prints one line.
    const std::optional<std::string> error = operation.find_error();
    const double complaint = error ? world_.ranks - world_.rank : 0;
    const std::array<double, 2> mine{seconds, complaint};
    std::array<double, 2> highest{};
    check(PMPI_Allreduce(mine.data(), highest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    if (highest[1] > 0) report_error(current, side, error, complaint == highest[1]);
    return highest[0];
}

// In a block, a call that does nothing is hidden by the one before it; single calls on fresh data are not.
void Meter::check_single_calls(Current& current, Side side) {
    if (!current.result.subject.moves_data()) return check_barriers(current, side);
    constexpr int calls = 3;
    for (int i = 0; i < calls; ++i) {
        current.operation.prepare_one(++seed_);
        barrier();
        switch_to(side);
        current.operation.call();
        switch_to(Side::vendor);
        const std::optional<std::string> error = current.operation.find_error();
        const int complaint = error ? world_.ranks - world_.rank : 0;
        const int highest = agree(complaint);
        if (highest > 0) report_error(current, side, error, complaint == highest);
    }
}

// Each rank is late in turn: nobody may leave before that. Ranks on one host have one clock.
void Meter::check_barriers(Current& current, Side side) {
    if (!one_host_) return;
    constexpr double late_seconds = 0.001;
    for (int late = 0; late < world_.ranks; ++late) {
        barrier();
        switch_to(side);
        double entered = now();
        for (const double start = entered; late == world_.rank && entered - start < late_seconds;) entered = now();
        current.operation.call();
        const std::array<double, 2> mine{entered, -now()};
        switch_to(Side::vendor);
        std::array<double, 2> highest{};
        check(PMPI_Allreduce(mine.data(), highest.data(), 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
        if (highest[0] > -highest[1])
            report_error(current, side, "a rank left before another one had entered", world_.rank == 0);
    }
}

// Grows blocks until they are long enough to tell. The faster of two blocks counts: a single disturbance must not make
// all later blocks too short.
double Meter::estimate_call(Current& current, Side side) {
    int iterations = 1;
    while (true) {
        const double seconds = std::min(run_block(current, side, iterations), run_block(current, side, iterations));
        int next = 0;  // enough
        if (seconds * iterations < options_.block_seconds / 4 && iterations < options_.max_iterations) {
            next = static_cast<int>(std::min(4LL * iterations, static_cast<long long>(options_.max_iterations)));
        }
        check(PMPI_Bcast(&next, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (next == 0) return seconds;
        iterations = next;
    }
}

// One number for both sides: in longer blocks the ranks drift further apart, which would favor one of them.
int Meter::choose_iterations(Current& current) {
    double seconds = 0;
    for (const Side side : sides_) seconds += estimate_call(current, side) / static_cast<double>(sides_.size());
    const double wanted = std::ceil(options_.block_seconds / std::max(seconds, 1e-9));
    int iterations = static_cast<int>(
        std::clamp(wanted, static_cast<double>(options_.min_iterations), static_cast<double>(options_.max_iterations)));
    check(PMPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return iterations;
}

void Meter::report_error(Current& current, Side side, const std::optional<std::string>& error, bool speaks) {
    const bool is_first = std::exchange(current.result.correct, false);
    if (!is_first || !speaks) return;
    const Subject& subject = current.result.subject;
    progress_.clear();
    fmt::print(stderr, "hcoll-bench: wrong result: {}, {} bytes, {}, rank {}: {}\n", name(subject.collective),
               subject.bytes, name(side), world_.rank, error.value_or(""));
    std::fflush(stderr);
}

}  // namespace hcoll::bench
