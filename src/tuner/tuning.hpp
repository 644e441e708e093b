// SPDX-License-Identifier: BSD-3-Clause
// What a tuner does at one layout: the machine is fitted, then every call is searched at every length; or, to compare, by all four ways.
#pragma once

#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/allocation.hpp"
#include "tuner/laboratory.hpp"
#include "tuner/search.hpp"
#include "tuner/tune_options.hpp"

namespace hcoll {

// The four ways of figure 6.1 (Luo 2020): method, with heuristics or without.
struct Way {
    TuningMethod method = TuningMethod::task;
    bool has_heuristics = true;
    friend bool operator==(const Way&, const Way&) = default;
};
inline constexpr std::array<Way, 4> ways = {{{TuningMethod::exhaustive, false},
                                             {TuningMethod::exhaustive, true},
                                             {TuningMethod::task, false},
                                             {TuningMethod::task, true}}};
std::string name_of(const Way& way);

// What one way has chosen for a call at a length, beside all that the exhaustive one has measured.
struct ComparedPoint {
    SubLayout layout;
    TableCall call;
    std::uint64_t bytes = 0;
    Way way;
    std::string chosen;
    double seconds = 0;  // of the choice, as the exhaustive way measured it
    double best = 0;     // of all configurations
    double median = 0;
    double mean = 0;
};

// What a way took for a call at a layout.
struct ComparedTime {
    SubLayout layout;
    TableCall call;
    Way way;
    double seconds = 0;
};

// All that was found out about a call at a layout.
struct LayoutFindings {
    SubLayout layout;
    TableCall call;
    MachineModel machine;
    std::vector<SearchResult> results;
    std::vector<Overlap> overlaps;
};

// The lengths that a call is tuned at in a layout: of a block, for collectives of blocks, which all together are bounded.
std::vector<std::uint64_t> sizes_of(const TuneOptions& options, const TableCall& call, const SubLayout& layout);
// Of the longest message that tuning any of the layouts needs memory for; a smaller one may have longer blocks.
std::uint64_t most_bytes_of(const TuneOptions& options, const std::vector<SubLayout>& layouts);

class Tuning {
public:
    // What the program does meanwhile. All but `found` on all ranks.
    struct Hooks {
        std::function<bool(Laboratory&)> is_over;             // asked before every point; the same answer on all ranks
        std::function<void(const std::string& what)> begins;  // a point
        std::function<void(const TableEntry&)> found;         // one; not where ways are compared
    };

    // `options` outlives it.
    Tuning(const TuneOptions& options, Hooks hooks) : options_(options), hooks_(std::move(hooks)) {}

    // Searches all points but the known ones. False where it is over before the end.
    bool tune(Laboratory& laboratory, const SubLayout& layout, const std::set<std::string>& known);
    // Searches all points in all four ways.
    bool compare(Laboratory& laboratory, const SubLayout& layout);

    const std::vector<LayoutFindings>& findings() const { return findings_; }
    const std::vector<ComparedPoint>& compared_points() const { return points_; }
    const std::vector<ComparedTime>& compared_times() const { return times_; }

private:
    const TuneOptions& options_;
    Hooks hooks_;
    std::vector<LayoutFindings> findings_;
    std::vector<ComparedPoint> points_;
    std::vector<ComparedTime> times_;
};

}  // namespace hcoll
