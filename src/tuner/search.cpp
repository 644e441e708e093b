#include "tuner/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "tuning/model_rules.hpp"
#include "tuning/settings.hpp"
#include "tuning/task_costs.hpp"

namespace hcoll {

struct Search::Task {
    TaskCosts costs;
    AlgorithmChoice choice;
    std::uint64_t segment_bytes;
};

namespace {

// A whole message is no pipeline of tasks: it is priced.
bool is_of_tasks(const Candidate& candidate) {
    return candidate.is_hierarchical && candidate.choice.parameters.pipeline.segment_bytes != 0;
}

// How messages cross the network, or walk where there is one level.
std::string family_of(const AlgorithmChoice& choice) {
    if (choice.algorithm == nullptr) return {};
    const AlgorithmParameters& parameters = choice.parameters;
    return fmt::format("{} {} {} {} {} {}", choice.algorithm->name, static_cast<int>(parameters.network),
                       static_cast<int>(parameters.levels.network.shape), parameters.levels.network.in_turn,
                       static_cast<int>(parameters.tree.shape), static_cast<int>(parameters.exchange));
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
    // A small gain that cannot be told from none is none. Where ranks share cores, samples differ by more than any gain: there the medians decide.
    constexpr double large = 1.3;
    const Finding& first = findings.front();
    const bool is_gain = vendor == nullptr || &first == vendor || first.measured.high() < vendor->measured.low() ||
                         vendor->measured.median() > large * first.measured.median();
    if (!is_gain)
        std::stable_partition(entry.candidates.begin(), entry.candidates.end(),
                              [](const TableCandidate& each) { return each.choice == "vendor"; });
    entry.spread = (is_gain ? first : *vendor).measured.spread();
    entry.why = fmt::format("{} of {} measured{}", is_gain ? "fastest" : "not to be told from the fastest", measured,
                            findings.size() > measured ? fmt::format(", {} predicted", findings.size() - 1) : "");
    return entry;
}

namespace {

std::uint64_t segment_of(const Candidate& candidate) { return candidate.choice.parameters.pipeline.segment_bytes; }

// The same for segments of any length.
std::string tasks_of(const Candidate& candidate) {
    AlgorithmChoice choice = candidate.choice;
    choice.parameters.pipeline.segment_bytes = 0;
    return short_choice_text(choice);
}

}  // namespace

// Measured when it is first asked for. What is several times as slow as another one, both with the first segments
// and with each further one, is measured no longer: it does not get better in the middle of a message.
const Search::Task& Search::task_of(const Candidate& candidate) {
    const std::uint64_t segment_bytes = segment_of(candidate);
    auto& task = tasks_[candidate.text];
    if (task != nullptr) return *task;
    const double begin = laboratory_.now();
    const Collective collective = call_.collective;
    const int filling = segments_to_fill(collective);
    const auto segments = [&](int number) {
        return laboratory_.sample_ranks(call_, candidate.text, segment_bytes * static_cast<std::uint64_t>(number));
    };
    const auto longest = [](const std::vector<double>& of_ranks) {
        return *std::max_element(of_ranks.begin(), of_ranks.end());
    };
    const std::vector<double> one = segments(1);
    const std::vector<double> filled = segments(filling);
    const double step = (longest(filled) - longest(one)) / (filling - 1);
    Fastest& fastest = fastest_[segment_bytes];
    const bool is_first = fastest.one == 0;
    const bool is_hopeless = !is_first && longest(one) > options_.race.hopeless * fastest.one &&
                             step > options_.race.hopeless * fastest.step;
    std::vector<double> stable;
    if (is_hopeless) {
        const int further = segments_until_stable(collective) - filling;
        for (std::size_t i = 0; i < one.size(); ++i)
            stable.push_back(filled[i] + further * (filled[i] - one[i]) / (filling - 1));
    } else {
        stable = segments(segments_until_stable(collective));
    }
    task = std::make_shared<const Task>(Task{.costs = TaskCosts(collective, segment_bytes, {one, filled, stable}),
                                             .choice = candidate.choice,
                                             .segment_bytes = segment_bytes});
    by_segment_[tasks_of(candidate)][segment_bytes] = task;
    fastest.one = is_first ? longest(one) : std::min(fastest.one, longest(one));
    fastest.step = is_first ? step : std::min(fastest.step, step);
    task_seconds_ += laboratory_.now() - begin;
    return *task;
}

// What the same tasks in the two next shorter segments say of it; 0 where there are none, or where nothing needs saying.
double Search::extrapolate(const Candidate& candidate, std::uint64_t bytes) const {
    const std::uint64_t segment_bytes = segment_of(candidate);
    const auto known = by_segment_.find(tasks_of(candidate));
    if (!options_.has_heuristics || known == by_segment_.end() || known->second.count(segment_bytes) != 0) return 0;
    const Task* shorter = nullptr;
    const Task* shortest = nullptr;
    for (const auto& [length, task] : known->second)
        if (length < segment_bytes) shortest = std::exchange(shorter, task.get());
    if (shortest == nullptr) return 0;
    return TaskCosts::extrapolated(shortest->costs, shorter->costs, segment_bytes).seconds(bytes);
}

// By tasks. With heuristics, a task is not measured where shorter segments say that it will not be among the best.
void Search::predict(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers,
                     std::uint64_t bytes, SearchResult& result) {
    constexpr double worth_measuring = 1.5;  // times the best
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> extrapolated;
    for (std::size_t i = 0; i < result.findings.size(); ++i) {
        Finding& finding = result.findings[i];
        if (finding.by != Prediction::tasks) continue;
        const Candidate& candidate = candidates[numbers[i]];
        finding.predicted = extrapolate(candidate, bytes);
        if (finding.predicted > 0) {
            extrapolated.push_back(i);
            continue;
        }
        finding.predicted = task_of(candidate).costs.seconds(bytes);
        best = std::min(best, finding.predicted);
    }
    for (const std::size_t i : extrapolated) best = std::min(best, result.findings[i].predicted);
    for (const std::size_t i : extrapolated)
        if (result.findings[i].predicted <= worth_measuring * best)
            result.findings[i].predicted = task_of(candidates[numbers[i]]).costs.seconds(bytes);
}

// A candidate that takes several times as long as the best prediction up to now is not followed to its end.
void Search::price(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers,
                   std::uint64_t bytes, SearchResult& result) {
    double best = std::numeric_limits<double>::infinity();
    for (const Finding& finding : result.findings)
        if (finding.by == Prediction::tasks) best = std::min(best, finding.predicted);
    std::vector<std::size_t> of_findings;
    for (std::size_t i = 0; i < result.findings.size(); ++i)
        if (result.findings[i].by == Prediction::price) of_findings.push_back(i);
    const std::vector<double> prices = laboratory_.shared_work(of_findings.size(), [&](std::size_t i) {
        const double most = 2 * options_.price_tolerance * best;
        const Candidate& candidate = candidates[numbers[of_findings[i]]];
        const double seconds = modelled_seconds(candidate.choice, laboratory_.placement(), bytes, machine_, most);
        best = std::min(best, seconds);
        return seconds;
    });
    for (std::size_t i = 0; i < prices.size(); ++i) result.findings[of_findings[i]].predicted = prices[i];
}

// Three times the mean error, once that is known.
double Search::tolerance(Prediction by) const {
    constexpr int enough = 4;
    constexpr double least = 1.03;
    const double most = by == Prediction::tasks ? options_.task_tolerance : options_.price_tolerance;
    const auto found = errors_.find(by);
    if (found == errors_.end() || found->second.number < enough) return most;
    return std::clamp(1 + 3 * found->second.sum / found->second.number, least, most);
}

// What is raced: the best by prediction, what was the best one length before, and what cannot be predicted.
std::vector<std::size_t> Search::finalists(const SearchResult& result) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    constexpr std::array<Prediction, 2> kinds = {Prediction::tasks, Prediction::price};
    std::map<Prediction, double> best = {{Prediction::tasks, never}, {Prediction::price, never}};
    for (const Finding& finding : result.findings)
        if (finding.by != Prediction::none) best[finding.by] = std::min(best[finding.by], finding.predicted);
    const double of_both = tolerance(Prediction::tasks) * tolerance(Prediction::price);
    std::vector<std::size_t> chosen;
    for (const Prediction by : kinds) {
        // One kind may err where the other one does not.
        const double most =
            best[by] <= of_both * std::min(best[kinds[0]], best[kinds[1]]) ? tolerance(by) * best[by] : 0;
        std::vector<std::pair<double, std::size_t>> predicted;
        for (std::size_t i = 0; i < result.findings.size(); ++i)
            if (result.findings[i].by == by) predicted.emplace_back(result.findings[i].predicted, i);
        std::sort(predicted.begin(), predicted.end());
        std::size_t sent = 0;
        std::set<std::string> families;
        for (std::size_t i = 0; i < predicted.size(); ++i) {
            const Finding& finding = result.findings[predicted[i].second];
            // Candidates of the same price, to the bit, have the same plan; and where the model errs, it errs for all of a family.
            const bool is_same = by == Prediction::price && i != 0 && predicted[i].first == predicted[i - 1].first;
            const bool is_good = !is_same && sent < options_.finalists && predicted[i].first <= most &&
                                 (by == Prediction::tasks || families.count(finding.family) == 0);
            if (is_good) families.insert(finding.family);
            sent += is_good ? 1 : 0;
            if (is_good || finding.choice == last_winner_) chosen.push_back(predicted[i].second);
        }
    }
    for (std::size_t i = 0; i < result.findings.size(); ++i)
        if (result.findings[i].by == Prediction::none) chosen.push_back(i);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
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
    std::vector<std::size_t> numbers;  // of the findings' candidates
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const Candidate& candidate = candidates[i];
        if (!candidate.left_out.empty()) continue;
        Finding finding{.choice = candidate.text, .family = family_of(candidate.choice), .measured = {}};
        if (options_.method == TuningMethod::task && candidate.choice.kind == AlgorithmChoice::Kind::own) {
            finding.by = is_of_tasks(candidate) ? Prediction::tasks : Prediction::price;
        }
        result.findings.push_back(std::move(finding));
        numbers.push_back(i);
    }
    predict(candidates, numbers, bytes, result);
    price(candidates, numbers, bytes, result);
    const std::vector<std::size_t> racing = finalists(result);
    std::vector<Runner> runners = race(
        racing.size(),
        [&](std::size_t i) { return laboratory_.sample(call_, result.findings[racing[i]].choice, bytes); },
        options_.race);
    for (std::size_t i = 0; i < racing.size(); ++i) {
        Finding& finding = result.findings[racing[i]];
        finding.measured = std::move(runners[i]);
        if (finding.by == Prediction::none) continue;
        Errors& errors = errors_[finding.by];
        ++errors.number;
        errors.sum += std::abs(finding.predicted / finding.measured.median() - 1);
    }
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

// The same algorithm on a part of the ranks has that part's level alone; what the other level is, says nothing there.
double Search::level_seconds(Level level, const AlgorithmChoice& choice, std::uint64_t bytes) {
    AlgorithmChoice alone = choice;
    alone.parameters.pipeline.segment_bytes = 0;
    const AlgorithmParameters& usual = choice.algorithm->defaults;
    if (level == Level::network) {
        alone.parameters.levels.node = usual.levels.node;
        alone.parameters.levels.socket = usual.levels.socket;
    } else {
        alone.parameters.levels.network = usual.levels.network;
        alone.parameters.network = usual.network;
    }
    const std::string text = short_choice_text(alone);
    const auto [known, is_new] = levels_.try_emplace(fmt::format("{} {} {}", static_cast<int>(level), text, bytes), 0);
    if (is_new) known->second = laboratory_.sample_level(level, call_, text, bytes);
    return known->second;
}

std::vector<Overlap> Search::overlaps() {
    std::vector<Overlap> found;
    for (const auto& [choice, task] : tasks_) {
        Overlap overlap{.choice = choice, .segment_bytes = task->segment_bytes};
        overlap.inter = level_seconds(Level::network, task->choice, task->segment_bytes);
        overlap.intra = level_seconds(Level::node, task->choice, task->segment_bytes);
        overlap.together = task->costs.full_task();
        overlap.rate = overlap_rate(overlap.inter, overlap.intra, overlap.together);
        found.push_back(std::move(overlap));
    }
    return found;
}

}  // namespace hcoll
