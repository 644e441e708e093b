// Finds the best choice at every length of message, for one call at one layout.
//
//   exhaustive   every candidate is measured at every length
//   task         hierarchical candidates are measured as tasks, once per length of segments, and their cost is put together for every
//                message (tuning/task_costs.hpp); the few that are the best by that, all others, and the vendor are raced
//
// Either with heuristics or without (tuning/candidates.hpp).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/laboratory.hpp"
#include "tuning/candidates.hpp"
#include "tuning/racing.hpp"

namespace hcoll {

enum class TuningMethod : std::uint8_t { task, exhaustive };
inline constexpr std::string_view tuning_method_names[] = {"task", "exhaustive"};

struct SearchOptions {
    TuningMethod method = TuningMethod::task;
    bool has_heuristics = true;
    RaceOptions race = {};
    VariedParameters varied = {};
    std::vector<std::string> algorithms = {};
    std::size_t finalists = 4;  // that the model of tasks sends to a race
};

// One candidate at one length.
struct Finding {
    std::string choice;
    double predicted = 0;  // seconds, by tasks; 0: not
    Runner measured;       // no samples: not
};

struct SearchResult {
    std::uint64_t bytes = 0;
    std::vector<Finding> findings;  // those that were measured first, the fastest first
    double seconds = 0;             // that it took, its share of the tasks not counted

    TableEntry entry(const TableCall& call, const Placement& placement) const;
};

class Search {
public:
    // `options` and `laboratory` outlive it.
    Search(Laboratory& laboratory, const TableCall& call, const SearchOptions& options)
        : laboratory_(laboratory), call_(call), options_(options) {}

    SearchResult at(std::uint64_t bytes);
    // What measuring tasks took up to now.
    double task_seconds() const { return task_seconds_; }
    std::size_t tasks() const { return tasks_.size(); }

private:
    struct Task;
    double predict(const Candidate& candidate, std::uint64_t bytes);
    const Task& task_of(const Candidate& candidate, std::uint64_t segment_bytes);

    Laboratory& laboratory_;
    TableCall call_;
    const SearchOptions& options_;
    std::map<std::string, std::shared_ptr<const Task>> tasks_;
    double task_seconds_ = 0;
    std::string last_winner_;
};

}  // namespace hcoll
