#include "tuner/search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tuning/settings.hpp"
#include "tuning/task_costs.hpp"

namespace hcoll {

struct Search::Task {
    TaskCosts costs;
};

namespace {

// Whole messages are tasks of one segment, of any length: those in between are interpolated.
bool is_whole(const Candidate& candidate) { return candidate.choice.parameters.pipeline.segment_bytes == 0; }

std::string with_segment(const Candidate& candidate, std::uint64_t bytes) {
    AlgorithmChoice choice = candidate.choice;
    choice.parameters.pipeline.segment_bytes = bytes;
    return short_choice_text(choice);
}

}  // namespace

TableEntry SearchResult::entry(const TableCall& call, const Placement& placement) const {
    constexpr std::size_t most_candidates = 4;  // besides the choice: what a look-up between points needs
    const int nodes = placement.nodes();
    const int ranks = (placement.ranks() + nodes - 1) / nodes;
    TableEntry entry{.call = call,
                     .nodes = {nodes, nodes},
                     .ranks_per_node = {ranks, ranks},
                     .bytes = {bytes, bytes},
                     .candidates = {},
                     .why = {}};
    std::size_t measured = 0;
    const Finding* vendor = nullptr;
    for (const Finding& finding : findings) {
        if (finding.measured.samples.empty()) continue;
        ++measured;
        if (finding.choice == "vendor") vendor = &finding;
        if (entry.candidates.size() < most_candidates)
            entry.candidates.push_back({finding.choice, finding.measured.median()});
    }
    if (vendor != nullptr && entry.find("vendor") == nullptr)
        entry.candidates.push_back({"vendor", vendor->measured.median()});
    // Who cannot be told from the vendor is no gain.
    const Finding& first = findings.front();
    const bool is_gain = vendor == nullptr || &first == vendor || first.measured.high() < vendor->measured.low();
    if (!is_gain)
        std::stable_partition(entry.candidates.begin(), entry.candidates.end(),
                              [](const TableCandidate& each) { return each.choice == "vendor"; });
    entry.spread = (is_gain ? first : *vendor).measured.spread();
    entry.why = fmt::format("{} of {} measured{}", is_gain ? "fastest" : "not to be told from the fastest", measured,
                            findings.size() > measured ? fmt::format(", {} predicted", findings.size()) : "");
    return entry;
}

// Of one segment length, measured when it is first asked for.
const Search::Task& Search::task_of(const Candidate& candidate, std::uint64_t segment_bytes) {
    const std::string choice = with_segment(candidate, segment_bytes);
    auto& task = tasks_[choice];
    if (task == nullptr) {
        const double begin = laboratory_.now();
        const Collective collective = call_.collective;
        const auto segments = [&](int number) {
            return laboratory_.sample_ranks(call_, choice, segment_bytes * static_cast<std::uint64_t>(number));
        };
        const std::vector<double> one = segments(1);
        task = std::make_shared<const Task>(Task{
            TaskCosts(collective, segment_bytes,
                      {one, segments(segments_to_fill(collective)), segments(segments_until_stable(collective))})});
        task_seconds_ += laboratory_.now() - begin;
    }
    return *task;
}

double Search::predict(const Candidate& candidate, std::uint64_t bytes) {
    return task_of(candidate, candidate.choice.parameters.pipeline.segment_bytes).costs.seconds(bytes);
}

SearchResult Search::at(std::uint64_t bytes) {
    const std::vector<Candidate> candidates = find_candidates({.call = call_,
                                                               .placement = &laboratory_.placement(),
                                                               .bytes = bytes,
                                                               .has_shared_memory = laboratory_.has_shared_memory(),
                                                               .has_heuristics = options_.has_heuristics,
                                                               .varied = options_.varied,
                                                               .algorithms = options_.algorithms});
    SearchResult result{.bytes = bytes, .findings = {}};
    const double tasks_before = task_seconds_;
    const double begin = laboratory_.now();
    std::vector<std::size_t> racing;
    std::vector<std::pair<double, std::size_t>> predicted;
    for (const Candidate& candidate : candidates) {
        if (!candidate.left_out.empty()) continue;
        const std::size_t number = result.findings.size();
        result.findings.push_back({.choice = candidate.text, .measured = {}});
        const bool is_task = options_.method == TuningMethod::task && candidate.is_hierarchical && !is_whole(candidate);
        if (!is_task) {
            racing.push_back(number);
            continue;
        }
        result.findings[number].predicted = predict(candidate, bytes);
        predicted.emplace_back(result.findings[number].predicted, number);
    }
    // The best by prediction, and what was the best one length before.
    std::sort(predicted.begin(), predicted.end());
    for (std::size_t i = 0; i < predicted.size(); ++i)
        if (i < options_.finalists || result.findings[predicted[i].second].choice == last_winner_)
            racing.push_back(predicted[i].second);
    std::sort(racing.begin(), racing.end());
    std::vector<Runner> runners = race(
        racing.size(),
        [&](std::size_t i) { return laboratory_.sample(call_, result.findings[racing[i]].choice, bytes); },
        options_.race);
    for (std::size_t i = 0; i < racing.size(); ++i) result.findings[racing[i]].measured = std::move(runners[i]);
    std::stable_sort(result.findings.begin(), result.findings.end(), [](const Finding& a, const Finding& b) {
        const bool a_measured = !a.measured.samples.empty();
        const bool b_measured = !b.measured.samples.empty();
        if (a_measured != b_measured) return a_measured;
        if (a_measured && a.measured.is_out != b.measured.is_out) return b.measured.is_out;
        return a_measured ? a.measured.median() < b.measured.median() : a.predicted < b.predicted;
    });
    last_winner_ = result.findings.front().choice;
    result.seconds = laboratory_.now() - begin - (task_seconds_ - tasks_before);
    return result;
}

}  // namespace hcoll
