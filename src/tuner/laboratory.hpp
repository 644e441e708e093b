// SPDX-License-Identifier: BSD-3-Clause
// Where a tuner measures: a part of the job with so many nodes and ranks on each. All its ranks make the same calls of it in the same
// order, and what it returns is the same on all of them, so that all decide alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "topology/placement.hpp"
#include "tuning/table.hpp"

namespace hcoll {

// Of the ranks of a laboratory.
struct RankPair {
    int from = 0;
    int to = 0;
};

// Parts of its ranks: the first of each node, or each node's, all nodes at the same time.
enum class Level : std::uint8_t { network, node };

class Laboratory {
public:
    Laboratory() = default;
    Laboratory(const Laboratory&) = delete;
    Laboratory& operator=(const Laboratory&) = delete;
    virtual ~Laboratory() = default;

    virtual const Placement& placement() const = 0;
    virtual bool has_shared_memory() const = 0;
    // Seconds per call of a row of calls of a message of so many bytes, by `choice`, which is one of find_candidates(). Of a non-blocking
    // one with computing between its begin and its end, as long as the vendor's takes alone: what is not hidden behind it costs.
    virtual double sample(const TableCall& call, const std::string& choice, std::uint64_t bytes) = 0;
    // Seconds on each rank, of single calls that all begin at the same time: the median of some.
    virtual std::vector<double> sample_ranks(const TableCall& call, const std::string& choice, std::uint64_t bytes) = 0;
    // Seconds of a single call among the ranks of a level.
    virtual double sample_level(Level level, const TableCall& call, const std::string& choice, std::uint64_t bytes) = 0;

    // Seconds until the slowest sender has all its answers: for each of its pairs it sends so many messages at once, and the other one answers
    // with one of the same length. Between two messages the sender computes for about `pause` seconds, which do not count. A rank sends in all
    // its pairs, or answers in one.
    virtual double exchange(std::span<const RankPair> pairs, std::uint64_t bytes, int messages, double pause) = 0;
    // Is a message of so many bytes over for its sender before anybody receives it?
    virtual bool is_sent_at_once(RankPair pair, std::uint64_t bytes) = 0;
    // Seconds of one rank.
    virtual double copy(std::uint64_t bytes) = 0;
    virtual double reduce(std::uint64_t bytes) = 0;

    // work(0), work(1), ...: computed by one rank each, where there are several to do it, and known to all.
    virtual std::vector<double> shared_work(std::size_t items, const std::function<double(std::size_t)>& work) {
        std::vector<double> all(items);
        for (std::size_t i = 0; i < items; ++i) all[i] = work(i);
        return all;
    }
    // Seconds since some beginning.
    virtual double now() = 0;
};

}  // namespace hcoll
