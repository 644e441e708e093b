// SPDX-License-Identifier: BSD-3-Clause
// Measures one operation, both sides in turn. hcoll_bench.cpp says why it is done this way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bound.hpp"
#include "mpi.hpp"
#include "node_bound.hpp"
#include "operation.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "subject.hpp"

namespace hcoll::bench {

// The same on all ranks.
struct Measurement {
    Subject subject;
    int iterations = 0;          // calls in a block
    std::vector<double> own;     // seconds per call, one sample per block; empty if not measured
    std::vector<double> vendor;  // the same; own[i] and vendor[i] are the blocks of one pair
    // What the node's caches need at the least, beside own[i] (node_bound.hpp): seconds of an exchange of flags for short
    // messages, of a copy for a long broadcast. Empty for all others.
    std::vector<double> least;
    const char* least_name = "";
    bool correct = true;
    std::optional<Bound> bound;

    // vendor / own of each pair: above 1, libhcoll is faster. Empty unless both were measured and right:
    // a wrong result has no speed.
    std::vector<double> ratios() const;
    // own / least, of each pair.
    std::vector<double> least_ratios() const;
};

class Meter {
public:
    Meter(const Options& options, std::vector<Side> sides, const World& world, const Buffers& buffers,
          const Progress& progress);

    // `position` says how far the whole run is, for the progress line.
    Measurement measure(const Subject& subject, const std::string& position);

private:
    struct Current;

    void barrier();
    void meet();
    // All return what the ranks have agreed on.
    double run_block(Current& current, Side side, int iterations);
    double time_alone(const Operation& operation, Side side, int iterations);
    enum class Least : std::uint8_t { none, exchange, copy };
    void let_learn(Current& current, const std::string& title, const std::string& position);
    Least least_of(const Subject& subject) const;
    double run_least(Least least, const Subject& subject, int iterations);
    void check_single_calls(Current& current, Side side);
    void check_barriers(Current& current, Side side);
    double estimate_call(Current& current, Side side);
    int choose_iterations(Current& current);

    void report_error(Current& current, Side side, const std::optional<std::string>& error, bool speaks);

    const Options& options_;
    std::vector<Side> sides_;
    World world_;
    const Buffers& buffers_;
    const Progress& progress_;
    bool one_host_;
    NodeBound node_bound_;
    std::uint32_t seed_ = 0;  // counts the fillings of the buffers, alike on all ranks
};

}  // namespace hcoll::bench
