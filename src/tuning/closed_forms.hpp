// SPDX-License-Identifier: BSD-3-Clause
// What the papers say that algorithms cost, as formulas. Tests hold the prices of the plans (price.hpp) against them, so
// that a plan, or the pricing, that strays from its source is found.
//
// All results are seconds, of the last rank to finish; `bytes` is the message, and logarithms are real: the formulas are
// exact where the counts are powers (of two; of ppn for NAP) and interpolate elsewhere. Pure functions.
#pragma once

#include <cmath>

#include "tuning/machine_model.hpp"

namespace hcoll {

// Hockney's figures: seconds per message, seconds per byte.
struct Postal {
    double alpha = 0;
    double beta = 0;
};

// Bcast along a chain of n >= 2 ranks in S equal segments: (n - 2 + S) (alpha + beta m / S). The first segment arrives at
// the last rank after n - 1 messages, the other S - 1 follow one by one. Pjesivac-Grbovic et al. 2007
// (pipeline with Hockney's model).
inline double chain_seconds(const Postal& link, int ranks, double segments, double bytes) {
    return (ranks - 2 + segments) * (link.alpha + link.beta * bytes / segments);
}

// Bcast along a binomial tree, unsegmented: ceil(log2 n) (alpha + beta m).
inline double binomial_seconds(const Postal& link, int ranks, double bytes) {
    return std::ceil(std::log2(ranks)) * (link.alpha + link.beta * bytes);
}

// One message to another node while all ppn ranks of its node send: the third term of Bienz et al. 2019, equation 3.
inline double max_rate_message_seconds(const MaxRate& machine, int ppn, double bytes) {
    return machine.alpha + ppn * bytes / std::fmin(machine.injection_rate, ppn * machine.rate);
}

// Allreduce over `nodes` nodes with ppn ranks each, by recursive doubling. Bienz et al. 2019, equation 4.
inline double recursive_doubling_seconds(const MaxRate& machine, int nodes, int ppn, double bytes) {
    return (machine.alpha_local + machine.beta_local * bytes) * std::log2(ppn) +
           max_rate_message_seconds(machine, ppn, bytes) * std::log2(nodes) +
           machine.gamma * bytes * std::log2(double{1} * nodes * ppn);
}

// The same by SMP: reduced to one rank of each node, recursive doubling among these, broadcast on each node. Bienz et al.
// 2019, equation 5, which counts log2(ppn) local messages: the broadcast's are left out there.
inline double smp_seconds(const MaxRate& machine, int nodes, int ppn, double bytes) {
    return (machine.alpha_local + machine.beta_local * bytes) * std::log2(ppn) +
           (machine.alpha + bytes / machine.rate) * std::log2(nodes) +
           machine.gamma * bytes * std::log2(double{1} * nodes * ppn);
}

// The same by the node-aware parallel algorithm (NAP): log_ppn(n) messages to other nodes, by all ranks of a node at once.
// ppn >= 2. Bienz et al. 2019, equation 6, which has ppn ranks of a node send in each step, where one of them is idle, and an
// operation for each message that arrives from another node, which the allreduce on the node that follows can do by itself.
inline double nap_seconds(const MaxRate& machine, int nodes, int ppn, double bytes) {
    const double log2_ranks = std::log2(double{1} * nodes * ppn);
    const double network_steps = std::log2(nodes) / std::log2(ppn);
    return (machine.alpha_local + machine.beta_local * bytes) * log2_ranks +
           max_rate_message_seconds(machine, ppn, bytes) * network_steps +
           machine.gamma * bytes * (log2_ranks + network_steps);
}

}  // namespace hcoll
