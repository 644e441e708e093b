// SPDX-License-Identifier: BSD-3-Clause
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

std::size_t words_of(const std::string& choice) {
    return static_cast<std::size_t>(std::count(choice.begin(), choice.end(), ',') +
                                    std::count(choice.begin(), choice.end(), ':'));
}

// A small gain that cannot be told from none is none. Where ranks share cores, samples differ by more than any gain: there the medians decide.
bool is_gain(const Finding& finding, const Finding* vendor) {
    constexpr double large = 1.3;
    return vendor == nullptr || &finding == vendor || finding.measured.high() < vendor->measured.low() ||
           vendor->measured.median() > large * finding.measured.median();
}

// Of those that nothing tells from the fastest, the one with the fewest parameters: what is plain is as fast on the next day, too. It has
// to gain what the fastest one does.
const Finding& simplest_of(const std::vector<Finding>& findings, const Finding* vendor) {
    constexpr double near = 1.02;
    const Finding& first = findings.front();
    const Finding* simplest = &first;
    for (const Finding& finding : findings) {
        const Runner& runner = finding.measured;
        const bool is_as_fast = !runner.samples.empty() && !runner.is_out && runner.low() <= first.measured.high() &&
                                runner.median() <= near * first.measured.median() && is_gain(finding, vendor);
        if (is_as_fast && finding.choice != "vendor" && words_of(finding.choice) < words_of(simplest->choice))
            simplest = &finding;
    }
    return *simplest;
}

}  // namespace

TableEntry SearchResult::entry(const TableCall& call, const Placement& placement) const {
    // With the choice, before the vendor: what a look-up between points needs.
    constexpr std::size_t most_candidates = 4;
    const int nodes = placement.nodes();
    const int ranks = (placement.ranks() + nodes - 1) / nodes;
    TableEntry entry{.call = call,
                     .nodes = {nodes, nodes},
                     .ranks_per_node = {ranks, ranks},
                     .bytes = {bytes, bytes},
                     .candidates = {},
                     .why = {}};
    std::size_t measured = 0;
    const auto of_vendor = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.choice == "vendor" && !finding.measured.samples.empty();
    });
    const Finding* vendor = of_vendor == findings.end() ? nullptr : &*of_vendor;
    const Finding& first = simplest_of(findings, vendor);
    entry.candidates.push_back({first.choice, first.measured.median()});
    for (const Finding& finding : findings) {
        if (finding.measured.samples.empty()) continue;
        ++measured;
        if (&finding != &first && entry.candidates.size() < most_candidates)
            entry.candidates.push_back({finding.choice, finding.measured.median()});
    }
    if (vendor != nullptr && entry.find("vendor") == nullptr)
        entry.candidates.push_back({"vendor", vendor->measured.median()});
    const bool gains = is_gain(first, vendor);
    if (!gains)
        std::stable_partition(entry.candidates.begin(), entry.candidates.end(),
                              [](const TableCandidate& each) { return each.choice == "vendor"; });
    entry.spread = (gains ? first : *vendor).measured.spread();
    entry.why = fmt::format("{} of {} measured{}", gains ? "fastest" : "not to be told from the fastest", measured,
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
    const int filling = segments_to_fill(call_.collective);
    TaskTimes times;
    const auto measure = [&](int segments) { times[segments] = sample_segments(candidate, segments); };
    const auto longest = [&](int segments) {
        return *std::max_element(times[segments].begin(), times[segments].end());
    };
    measure(1);
    measure(filling);
    const double one = longest(1);
    const double step = (longest(filling) - one) / (filling - 1);
    Fastest& fastest = fastest_[segment_bytes];
    const bool is_first = fastest.one == 0;
    const bool is_hopeless =
        !is_first && one > options_.race.hopeless * fastest.one && step > options_.race.hopeless * fastest.step;
    if (!is_hopeless) measure(segments_to_see_the_middle(call_.collective));
    task = std::make_shared<Task>(Task{.costs = TaskCosts(segment_bytes, std::move(times)),
                                       .choice = candidate.choice,
                                       .segment_bytes = segment_bytes});
    by_segment_[tasks_of(candidate)][segment_bytes] = task;
    fastest.one = is_first ? one : std::min(fastest.one, one);
    fastest.step = is_first ? step : std::min(fastest.step, step);
    return *task;
}

std::vector<double> Search::sample_segments(const Candidate& candidate, int segments) {
    return laboratory_.sample_ranks(call_, candidate.text,
                                    segment_of(candidate) * static_cast<std::uint64_t>(segments));
}

// Measures the task in the middle later in the message, where that may still change what a message of `bytes` costs. False: it does not.
bool Search::refine(const Candidate& candidate, std::uint64_t bytes) {
    const auto found = tasks_.find(candidate.text);
    if (found == tasks_.end()) return false;
    TaskCosts& costs = found->second->costs;
    const int segments = 2 * costs.times().rbegin()->first;
    if (costs.is_stable() || static_cast<std::uint64_t>(segments) * segment_of(candidate) > bytes) return false;
    TaskTimes times = costs.times();
    times[segments] = sample_segments(candidate, segments);
    costs = TaskCosts(segment_of(candidate), std::move(times));
    return true;
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

// What tasks cost by the model, which measures nothing: of all ranks, the slowest.
void Search::price_tasks(const std::vector<const Candidate*>& candidates) {
    const std::array<int, 3> segments = {1, segments_to_fill(call_.collective),
                                         segments_to_see_the_middle(call_.collective)};
    std::vector<const Candidate*> unknown;
    for (const Candidate* candidate : candidates)
        if (priced_.count(candidate->text) == 0) unknown.push_back(candidate);
    const std::vector<double> seconds = laboratory_.shared_work(unknown.size() * segments.size(), [&](std::size_t i) {
        const Candidate& candidate = *unknown[i / segments.size()];
        const std::uint64_t bytes = segment_of(candidate) * static_cast<std::uint64_t>(segments[i % segments.size()]);
        return modelled_seconds(candidate.choice, laboratory_.placement(), bytes, machine_);
    });
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        const double* of_candidate = &seconds[i * segments.size()];
        TaskTimes times;
        for (std::size_t j = 0; j < segments.size(); ++j) times[segments[j]] = {of_candidate[j]};
        priced_.try_emplace(unknown[i]->text, segment_of(*unknown[i]), std::move(times));
    }
}

// By tasks. With heuristics, a task is not measured where the model, or shorter segments, say that it will not be among the best.
void Search::predict(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers,
                     std::uint64_t bytes, SearchResult& result) {
    constexpr double worth_measuring = 1.5;  // times the best
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> of_tasks;
    std::vector<const Candidate*> tasks;
    for (std::size_t i = 0; i < result.findings.size(); ++i)
        if (result.findings[i].by == Prediction::tasks) {
            of_tasks.push_back(i);
            tasks.push_back(&candidates[numbers[i]]);
        }
    double best_price = never;
    if (options_.has_heuristics) {
        price_tasks(tasks);
        for (const Candidate* task : tasks) best_price = std::min(best_price, priced_.at(task->text).seconds(bytes));
    }
    double best = never;
    std::vector<std::size_t> extrapolated;
    for (const std::size_t i : of_tasks) {
        Finding& finding = result.findings[i];
        const Candidate& candidate = candidates[numbers[i]];
        if (options_.has_heuristics) {
            const double seconds = priced_.at(candidate.text).seconds(bytes);
            if (seconds > options_.price_tolerance * best_price) {
                finding.by = Prediction::price;
                finding.predicted = seconds;
                continue;
            }
        }
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
    // Those that will be raced have to be known better.
    const auto is_better = [&](std::size_t a, std::size_t b) {
        return result.findings[a].predicted < result.findings[b].predicted;
    };
    of_tasks.erase(std::remove_if(of_tasks.begin(), of_tasks.end(),
                                  [&](std::size_t i) { return result.findings[i].by != Prediction::tasks; }),
                   of_tasks.end());
    for (bool is_refined = true; is_refined;) {
        std::stable_sort(of_tasks.begin(), of_tasks.end(), is_better);
        is_refined = false;
        for (std::size_t i = 0; i < std::min(of_tasks.size(), options_.finalists) && !is_refined; ++i) {
            const Candidate& candidate = candidates[numbers[of_tasks[i]]];
            is_refined = refine(candidate, bytes);
            if (is_refined) result.findings[of_tasks[i]].predicted = task_of(candidate).costs.seconds(bytes);
        }
    }
}

// A candidate that takes several times as long as the best prediction up to now is not followed to its end.
void Search::price(const std::vector<Candidate>& candidates, const std::vector<std::size_t>& numbers,
                   std::uint64_t bytes, SearchResult& result) {
    double best = std::numeric_limits<double>::infinity();
    for (const Finding& finding : result.findings)
        if (finding.by == Prediction::tasks) best = std::min(best, finding.predicted);
    std::vector<std::size_t> of_findings;
    for (std::size_t i = 0; i < result.findings.size(); ++i)
        if (result.findings[i].by == Prediction::price && result.findings[i].predicted == 0) of_findings.push_back(i);
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

// A price, mended by what the family's last race has shown: where the model errs, it errs for all of a family.
double Search::corrected(const Finding& finding) const {
    const auto factor = finding.by == Prediction::price ? factors_.find(finding.family) : factors_.end();
    return factor == factors_.end() ? finding.predicted : factor->second * finding.predicted;
}

// What is raced: the best by prediction, what was the best one length before, and what cannot be predicted.
std::vector<std::size_t> Search::finalists(const SearchResult& result) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    constexpr std::array<Prediction, 2> kinds = {Prediction::tasks, Prediction::price};
    std::map<Prediction, double> best = {{Prediction::tasks, never}, {Prediction::price, never}};
    for (const Finding& finding : result.findings)
        if (finding.by != Prediction::none) best[finding.by] = std::min(best[finding.by], corrected(finding));
    const double of_both = tolerance(Prediction::tasks) * tolerance(Prediction::price);
    std::vector<std::size_t> chosen;
    for (const Prediction by : kinds) {
        // One kind may err where the other one does not.
        const double most =
            best[by] <= of_both * std::min(best[kinds[0]], best[kinds[1]]) ? tolerance(by) * best[by] : 0;
        std::vector<std::pair<double, std::size_t>> predicted;
        for (std::size_t i = 0; i < result.findings.size(); ++i)
            if (result.findings[i].by == by) predicted.emplace_back(corrected(result.findings[i]), i);
        std::sort(predicted.begin(), predicted.end());
        std::size_t sent = 0;
        std::set<std::string> families;
        for (std::size_t i = 0; i < predicted.size(); ++i) {
            const Finding& finding = result.findings[predicted[i].second];
            // One of each family that is priced: by it the others are known better.
            const bool is_good = sent < options_.finalists && predicted[i].first <= most &&
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

double Search::fastest_of(const SearchResult& result) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const Finding& finding : result.findings)
        if (!finding.measured.samples.empty()) fastest = std::min(fastest, finding.measured.median());
    return fastest;
}

// What was not raced, and could be the fastest by what the race has shown of its family.
std::vector<std::size_t> Search::overlooked(const SearchResult& result) const {
    if (!is_predicted_) return {};
    constexpr double near = 1.1;  // times the fastest
    std::vector<std::pair<double, std::size_t>> found;
    const double most = near * fastest_of(result);
    for (std::size_t i = 0; i < result.findings.size(); ++i) {
        const Finding& finding = result.findings[i];
        if (finding.by == Prediction::price && finding.measured.samples.empty() && corrected(finding) <= most)
            found.emplace_back(corrected(finding), i);
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), options_.finalists));
    std::vector<std::size_t> chosen(found.size());
    std::transform(found.begin(), found.end(), chosen.begin(), [](const auto& each) { return each.second; });
    return chosen;
}

void Search::race_heat(SearchResult& result, const std::vector<std::size_t>& racing, std::uint64_t bytes) {
    const std::vector<Runner> runners = race(
        racing.size(),
        [&](std::size_t i) {
            const std::string& choice = result.findings[racing[i]].choice;
            const double besides = choice == "vendor" ? announcement() : 0;
            return besides + laboratory_.sample(call_, choice, bytes);
        },
        options_.race);
    // Who ran in an earlier heat, too, tells how the machine has changed since; what is measured now is compared with what was then.
    double then_over_now = 1;
    for (std::size_t i = 0; i < racing.size(); ++i)
        if (const Runner& before = result.findings[racing[i]].measured; !before.samples.empty())
            then_over_now = before.median() / runners[i].median();
    std::map<std::string, double> fastest;  // by family
    for (std::size_t i = 0; i < racing.size(); ++i) {
        Finding& finding = result.findings[racing[i]];
        const double seconds = runners[i].median();
        if (finding.by != Prediction::none && finding.measured.samples.empty() && std::isfinite(corrected(finding)) &&
            is_predicted_) {
            Errors& errors = errors_[finding.by];
            ++errors.number;
            errors.sum += std::abs(corrected(finding) / seconds - 1);
        }
        for (const double sample : runners[i].samples) finding.measured.samples.push_back(sample * then_over_now);
        finding.measured.is_out = runners[i].is_out;
    }
    for (const std::size_t i : racing) {
        const Finding& finding = result.findings[i];
        if (!is_predicted_ || finding.by != Prediction::price || !std::isfinite(finding.predicted) ||
            finding.predicted <= 0)
            continue;
        const double seconds = finding.measured.median();
        const auto [known, is_new] = fastest.try_emplace(finding.family, seconds);
        if (!is_new && known->second <= seconds) continue;
        known->second = seconds;
        factors_[finding.family] = seconds / finding.predicted;
    }
}

// Where some lengths of a Bcast run over shared memory, the ranks of a node hear the root's length before they take a way
// (intercept/calls/own_run.hpp), also where that is the vendor's. It is a flag, as the shortest message is.
double Search::announcement() {
    const bool is_announced =
        call_.collective == Collective::bcast && !call_.is_nonblocking && laboratory_.has_shared_memory();
    if (is_announced && announcement_ == 0) {
        constexpr std::uint64_t shortest = 1;
        constexpr int times = 5;
        std::vector<double> all(times);
        for (double& seconds : all) seconds = laboratory_.sample(call_, "shared", shortest);
        announcement_ = *std::min_element(all.begin(), all.end());
    }
    return announcement_;
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
    race_heat(result, finalists(result), bytes);
    if (std::vector<std::size_t> others = overlooked(result); !others.empty()) {
        const double fastest = fastest_of(result);
        for (std::size_t i = 0; i < result.findings.size(); ++i) {
            const Runner& runner = result.findings[i].measured;
            if (!runner.samples.empty() && runner.median() <= fastest) others.push_back(i);
        }
        race_heat(result, others, bytes);
    }
    std::stable_sort(result.findings.begin(), result.findings.end(), [](const Finding& a, const Finding& b) {
        const bool a_measured = !a.measured.samples.empty();
        const bool b_measured = !b.measured.samples.empty();
        if (a_measured != b_measured) return a_measured;
        if (a_measured && a.measured.is_out != b.measured.is_out) return b.measured.is_out;
        return a_measured ? a.measured.median() < b.measured.median() : a.predicted < b.predicted;
    });
    last_winner_ = result.findings.front().choice;
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
