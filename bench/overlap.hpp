// SPDX-License-Identifier: BSD-3-Clause
// How much of a non-blocking collective goes on while its ranks compute (hcoll-bench --overlap).
//
//   pure      begin and wait at once
//   compute   work that makes no MPI call and lasts as long as `pure`, alone
//   total     begin, compute, wait
//
//   overlap   1 - (total - compute) / pure, not below 0: the share of the collective that was hidden (OSU's benchmarks and
//             IMB-NBC define it so)
//   slowdown  the same work while the collective goes on, over alone: what moves the collective takes cores from it
//
// All are of the slowest rank, medians of several tries, own and vendor in turn.
#pragma once

#include <vector>

#include "measurement.hpp"

namespace hcoll::bench {

struct Overlap {
    double pure = 0;  // seconds
    double compute = 0;
    double total = 0;
    double compute_beside = 0;

    double share() const;
    double slowdown() const { return compute > 0 ? compute_beside / compute : 0; }
};

struct OverlapMeasurement {
    Subject subject;
    std::vector<Side> sides;
    std::vector<Overlap> of_sides;  // in the same order
    bool correct = true;
};

OverlapMeasurement measure_overlap(const Subject& subject, const Options& options, const std::vector<Side>& sides,
                                   const World& world, const Buffers& buffers);

void print_overlap_head();
void print_overlap_line(const OverlapMeasurement& measurement);

}  // namespace hcoll::bench
