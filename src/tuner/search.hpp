// SPDX-License-Identifier: BSD-3-Clause
// Finds the best choice at every length of message, for one call at one layout.
//
//   exhaustive   every candidate is measured at every length
//   task         hierarchical candidates are measured as tasks, once per length of segments, and their cost is put together for every
//                message (tuning/task_costs.hpp); all others are priced on the machine as it was fitted (machine_fit.hpp); the few that are
//                the best by that are raced with the vendor
//
// Either with heuristics or without (tuning/candidates.hpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/laboratory.hpp"
#include "tuning/candidates.hpp"
#include "tuning/machine_model.hpp"
#include "tuning/racing.hpp"
#include "tuning/task_costs.hpp"

namespace hcoll {

enum class TuningMethod : std::uint8_t { task, exhaustive };
inline constexpr std::string_view tuning_method_names[] = {"task", "exhaustive"};

struct SearchOptions {
    TuningMethod method = TuningMethod::task;
    bool has_heuristics = true;
    RaceOptions race = {};
    VariedParameters varied = {};
    std::vector<std::string> algorithms = {};
    // That go into a heat of a race, at most, of those that are predicted by tasks and of those that are priced ...
    std::size_t finalists = 3;
    // ... and how many times as long as the best they may take by that, until it has shown what the predictions are good for.
    double task_tolerance = 1.25;
    double price_tolerance = 2;
};

enum class Prediction : std::uint8_t { none, tasks, price };
inline constexpr std::string_view prediction_names[] = {"none", "tasks", "price"};

// One candidate at one length.
struct Finding {
    std::string choice;
    std::string family;  // of candidates that a model errs alike for
    Prediction by = Prediction::none;
    double predicted = 0;  // seconds; infinite: too long to be followed to its end
    Runner measured;       // no samples: not
};

// Two tasks of a level each, of one segment, and how much of the shorter one the collective hides behind the other (equation 5.3).
struct Overlap {
    std::string choice;
    std::uint64_t segment_bytes = 0;
    double inter = 0;  // ib, ir, or both: between nodes
    double intra = 0;  // sb, sr, or both: inside a node
    double together = 0;
    double rate = 0;
};

struct SearchResult {
    std::uint64_t bytes = 0;
    std::vector<Finding> findings;  // those that were measured first, the fastest first

    TableEntry entry(const TableCall& call, const Placement& placement) const;
};

class Search {
public:
    // All but `call` outlive it. `machine`: as fitted in this laboratory; nothing is asked of it by the exhaustive method.
    Search(Laboratory& laboratory, const TableCall& call, const SearchOptions& options, const MachineModel& machine)
        : laboratory_(laboratory), call_(call), options_(options), machine_(machine) {}

    SearchResult at(std::uint64_t bytes);
    std::size_t tasks() const { return tasks_.size(); }
    // Of all pairs of modules whose tasks were measured. Measures those of single levels.
    std::vector<Overlap> overlaps();

private:
    struct Task;
    void predict(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers, std::uint64_t bytes,
                 SearchResult& result);
    const Task& task_of(const Candidate& candidate);
    std::vector<double> sample_segments(const Candidate& candidate, int segments);
    bool refine(const Candidate& candidate, std::uint64_t bytes);
    void price_tasks(const std::vector<const Candidate*>& candidates);
    double extrapolate(const Candidate& candidate, std::uint64_t bytes) const;
    void price(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers, std::uint64_t bytes,
               SearchResult& result);
    double corrected(const Finding& finding) const;
    std::vector<std::size_t> finalists(const SearchResult& result) const;
    std::vector<std::size_t> overlooked(const SearchResult& result) const;
    static double fastest_of(const SearchResult& result);
    void race_heat(SearchResult& result, const std::vector<std::size_t>& racing, std::uint64_t bytes);
    double tolerance(Prediction by) const;
    double announcement();
    double level_seconds(Level level, const AlgorithmChoice& choice, std::uint64_t bytes);

    Laboratory& laboratory_;
    TableCall call_;
    // Predictions are of a call alone: they order non-blocking ones, which are measured beside computing, but say nothing of how long those take.
    bool is_predicted_ = !call_.is_nonblocking;
    const SearchOptions& options_;
    const MachineModel& machine_;
    std::map<std::string, std::shared_ptr<Task>> tasks_;
    std::map<std::string, std::map<std::uint64_t, std::shared_ptr<Task>>> by_segment_;  // of the same tasks
    std::map<std::string, TaskCosts> priced_;  // tasks, on the machine as it was fitted
    std::map<std::string, double> levels_;
    // Of tasks with segments of one length, the fastest up to now.
    struct Fastest {
        double one = 0;
        double step = 0;
    };
    std::map<std::uint64_t, Fastest> fastest_;
    // How far predictions were from what was measured, by their kind.
    struct Errors {
        int number = 0;
        double sum = 0;
    };
    std::map<Prediction, Errors> errors_;
    std::map<std::string, double>
        factors_;  // measured over predicted, of the family of priced ones that was raced last
    std::string last_winner_;
    double announcement_ = 0;  // seconds; 0: not measured yet, or none
};

}  // namespace hcoll
