// SPDX-License-Identifier: BSD-3-Clause
#include "overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/compute.hpp"
#include "clock.hpp"
#include "hcoll/hcoll.h"
#include "statistics.hpp"

namespace hcoll::bench {

namespace {

double work(std::uint64_t rounds) {
    const double begin = now();
    compute(rounds);
    return now() - begin;
}

double slowest(double seconds) {
    double all = seconds;
    check(PMPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return all;
}

void barrier() { check(PMPI_Barrier(MPI_COMM_WORLD)); }

// Samples of one side.
struct Samples {
    std::vector<double> pure, compute, total, compute_beside;
};

class OverlapMeter {
public:
    OverlapMeter(const Subject& subject, const World& world, const Buffers& buffers)
        : subject_(subject), world_(world), operation_(subject, world, buffers) {}

    void prepare(Side side) {
        MPI_Pcontrol(side == Side::own ? HCOLL_PCONTROL_OWN : HCOLL_PCONTROL_VENDOR);
        operation_.prepare_one(++seed_);
        barrier();
    }
    double pure(Side side) {
        prepare(side);
        const double begin = now();
        MPI_Request request = operation_.begin();
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        const double seconds = now() - begin;
        look(side);
        return slowest(seconds);
    }
    double total(Side side, std::uint64_t rounds, double& compute) {
        prepare(side);
        const double begin = now();
        MPI_Request request = operation_.begin();
        const double worked = work(rounds);
        check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        const double seconds = now() - begin;
        compute = slowest(worked);
        look(side);
        return slowest(seconds);
    }
    static double alone(std::uint64_t rounds) {
        barrier();
        return slowest(work(rounds));
    }
    bool is_correct() const { return correct_; }

private:
    void look(Side side) {
        const auto error = operation_.find_error();
        if (agree(error ? 1 : 0) == 0) return;
        if (error && correct_)
            fmt::print(stderr, "hcoll-bench: {} {} of {} bytes, non-blocking: on rank {}, {}\n", name(side),
                       name(subject_.collective), subject_.bytes, world_.rank, *error);
        correct_ = false;
    }

    Subject subject_;
    World world_;
    Operation operation_;
    std::uint32_t seed_ = 0;
    bool correct_ = true;
};

}  // namespace

double Overlap::share() const { return pure > 0 ? std::clamp(1 - (total - compute) / pure, 0.0, 1.0) : 0; }

OverlapMeasurement measure_overlap(const Subject& subject, const Options& options, const std::vector<Side>& sides,
                                   const World& world, const Buffers& buffers) {
    OverlapMeter meter(subject, world, buffers);
    // A blocking collective sets libhcoll up.
    for (int i = 0; i < options.warmup; ++i) {
        MPI_Pcontrol(HCOLL_PCONTROL_OWN);
        check(MPI_Barrier(MPI_COMM_WORLD));
    }
    constexpr std::uint64_t trial = 1'000'000;
    double second_of_trial = OverlapMeter::alone(trial);
    for (int i = 0; i < 3; ++i) second_of_trial = std::min(second_of_trial, OverlapMeter::alone(trial));

    std::vector<Samples> samples(sides.size());
    for (int repetition = -1; repetition < options.repetitions; ++repetition) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const std::size_t which = repetition % 2 == 0 ? i : sides.size() - 1 - i;
            Samples& of_side = samples[which];
            const double pure = meter.pure(sides[which]);
            of_side.pure.push_back(pure);
            const double typical = statistics(of_side.pure).median;
            const auto rounds = static_cast<std::uint64_t>(typical / second_of_trial * trial) + 1;
            of_side.compute.push_back(OverlapMeter::alone(rounds));
            double beside = 0;
            of_side.total.push_back(meter.total(sides[which], rounds, beside));
            of_side.compute_beside.push_back(beside);
            // The first try warms up, and says how much work there is to be.
            if (repetition < 0) {
                of_side.compute.clear();
                of_side.total.clear();
                of_side.compute_beside.clear();
            }
        }
    }
    OverlapMeasurement measurement{.subject = subject, .sides = sides, .of_sides = {}, .correct = meter.is_correct()};
    for (const Samples& of_side : samples)
        measurement.of_sides.push_back({.pure = statistics(of_side.pure).median,
                                        .compute = statistics(of_side.compute).median,
                                        .total = statistics(of_side.total).median,
                                        .compute_beside = statistics(of_side.compute_beside).median});
    MPI_Pcontrol(HCOLL_PCONTROL_OWN);
    return measurement;
}

void print_overlap_head() {
    fmt::print("{:<12} {:>10}  {:<6} {:>12} {:>12} {:>12} {:>9} {:>9}\n", "collective", "bytes", "side", "pure us",
               "compute us", "total us", "overlap", "slowdown");
    std::fflush(stdout);
}

void print_overlap_line(const OverlapMeasurement& measurement) {
    for (std::size_t i = 0; i < measurement.sides.size(); ++i) {
        const Overlap& overlap = measurement.of_sides[i];
        fmt::print("i{:<11} {:>10}  {:<6} {:>12.1f} {:>12.1f} {:>12.1f} {:>8.1f}% {:>9.2f}{}\n",
                   name(measurement.subject.collective), measurement.subject.bytes, name(measurement.sides[i]),
                   overlap.pure * 1e6, overlap.compute * 1e6, overlap.total * 1e6, 100 * overlap.share(),
                   overlap.slowdown(), measurement.correct ? "" : "  WRONG");
    }
    std::fflush(stdout);
}

}  // namespace hcoll::bench
