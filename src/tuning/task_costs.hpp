// SPDX-License-Identifier: BSD-3-Clause
// What a hierarchical collective costs, from the costs of its tasks.
//
// HAN (Luo 2020, section 5.3) cuts a message into u segments, and a leader of a node has in its hands, one after another,
//
//   Bcast       ib(0)  sbib(1) ... sbib(u-1)  sb(u-1)
//   Reduce      sr(0)  irsr(1) ... irsr(u-1)  ir(u-1)
//   Allreduce   sr(0)  irsr(1)  ibirsr(2)  sbibirsr(3) ... sbibirsr(u-1)  sbibir(u-1)  sbib(u-1)  sb(u-1)
//
// where ib and ir are a segment's Bcast and Reduce between nodes, sb and sr those inside one, and what stands together overlaps. The cost of
// the task in the middle is stable after the first few (figure 5.12), whatever the message. So (equations 5.4 and 5.5)
//
//   T_i(u) = T_i(f) + (u - f) T_i(full),   T(u) = max over ranks i,   f: segments with which the pipeline is full
//
// T_i(f) holds the tasks at both ends, and T_i(full) is sbib, irsr or sbibirsr. Both are measured once for a configuration and a length of
// segments, on every rank, and serve messages of every length: as collectives of 1, f and more segments, between which T_i goes straight, and
// beyond which it goes on as from the last but one to the last. Where trees are deep (a chain of 12 ranks in both directions), four
// segments do not fill the pipeline: then more are measured, until the task in the middle is stable.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "algorithms/catalog.hpp"

namespace hcoll {

// Segments with which every kind of task is under way.
int segments_to_fill(Collective collective);
// So many more that the task in the middle can be seen.
int segments_to_see_the_middle(Collective collective);

// Seconds on each rank, by the number of segments of the collective.
using TaskTimes = std::map<int, std::vector<double>>;

class TaskCosts {
public:
    // At least two numbers of segments, the smallest of them 1, and the same ranks for all.
    TaskCosts(std::uint64_t segment_bytes, TaskTimes times);
    // What a longer segment costs, on the straight line through two shorter ones of the same tasks.
    static TaskCosts extrapolated(const TaskCosts& shortest, const TaskCosts& shorter, std::uint64_t segment_bytes);

    // Of a message of so many bytes, in seconds.
    double seconds(std::uint64_t bytes) const;
    // Of one more segment, on the rank that takes longest for it: sbib, irsr or sbibirsr.
    double full_task() const;
    // Did the task in the middle take as long before the last measurement as up to it?
    bool is_stable() const;
    const TaskTimes& times() const { return times_; }

private:
    std::uint64_t segment_bytes_;
    TaskTimes times_;
};

// Equation 5.3: how much of the shorter one of two tasks is hidden behind the other where both are issued at once, 0 to 1.
double overlap_rate(double inter, double intra, double together);

}  // namespace hcoll
