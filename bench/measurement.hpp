// Measures one operation, both sides in turn. hcoll_bench.cpp says why it is done this way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bound.hpp"
#include "flag_exchange.hpp"
#include "mpi.hpp"
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
    std::vector<double>
        flags;  // seconds of an exchange of flags beside own[i]; empty but for short messages on one node
    bool correct = true;
    std::optional<Bound> bound;

    // vendor / own of each pair: above 1, libhcoll is faster. Empty unless both were measured and right:
    // a wrong result has no speed.
    std::vector<double> ratios() const;
    // own / exchange of flags, of each pair.
    std::vector<double> flag_ratios() const;
};

class Meter {
public:
    Meter(const Options& options, std::vector<Side> sides, const World& world, const Buffers& buffers,
          const Progress& progress);

    // `position` says how far the whole run is, for the progress line.
    Measurement measure(const Subject& subject, const std::string& position);

private:
    struct Current;

    // All return what the ranks have agreed on.
    double run_block(Current& current, Side side, int iterations);
    double run_flags(int iterations);
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
    FlagExchange flags_;
    std::uint32_t seed_ = 0;  // counts the fillings of the buffers, alike on all ranks
};

}  // namespace hcoll::bench
