// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/learned_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuning/table_file.hpp"

namespace hcoll {

namespace {

std::string choice_of(const Decision& decision) {
    if (!decision.is_own()) return "vendor";
    return short_choice_text({.kind = decision.shared ? AlgorithmChoice::Kind::shared : AlgorithmChoice::Kind::own,
                              .algorithm = decision.algorithm,
                              .parameters = decision.parameters,
                              .single_copy = decision.single_copy});
}

LearnedPlace place_of(const Learning::Place& place, const Placement& placement) {
    const PlaceLearning& learned = place.learning;
    LearnedPlace made{.collective = place.key.collective,
                      .nodes = placement.nodes(),
                      .ranks_per_node = ranks_per_node(placement),
                      .bytes = place.bytes,
                      .calls = learned.calls(),
                      .regret = learned.regret(),
                      .decisions = learned.decisions(),
                      .candidates = {}};
    const auto add = [&](int candidate) {
        const CostSamples& costs = learned.costs_of(candidate);
        if (costs.count() == 0 && candidate != learned.chosen()) return;
        const Decision& decision = place.decision(candidate);
        made.candidates.push_back({.what = decision.what,
                                   .choice = choice_of(decision),
                                   .seconds = candidate == learned.chosen() ? learned.cost() : costs.mean(),
                                   .samples = costs.count()});
    };
    add(learned.chosen());
    for (int i = 0; i < learned.candidates(); ++i)
        if (i != learned.chosen()) add(i);
    std::sort(made.candidates.begin() + 1, made.candidates.end(),
              [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    if (const CostSamples& vendor = learned.costs_of(learned.vendor()); vendor.count() != 0)
        made.gained = (vendor.mean() - learned.cost()) * static_cast<double>(learned.calls()) - learned.regret();
    return made;
}

bool is_same(const LearnedPlace& a, const LearnedPlace& b) {
    return a.collective == b.collective && a.nodes == b.nodes && a.ranks_per_node == b.ranks_per_node &&
           size_class_of_place(a.bytes) == size_class_of_place(b.bytes);
}

}  // namespace

void LearnedPlaces::add(const Learning& learning, const Placement& placement) {
    for (const Learning::Place& each : learning.places()) {
        if (each.learning.decisions() == 0 || each.is_left_alone) continue;
        LearnedPlace made = place_of(each, placement);
        const std::lock_guard lock(mutex_);
        const auto known = std::find_if(places_.begin(), places_.end(),
                                        [&](const LearnedPlace& other) { return is_same(other, made); });
        if (known == places_.end()) {
            places_.push_back(std::move(made));
            continue;
        }
        // Who was called more knows more.
        if (known->calls < made.calls) std::swap(*known, made);
        known->calls += made.calls;
        known->regret += made.regret;
        known->gained += made.gained;
        known->decisions += made.decisions;
    }
}

std::vector<LearnedPlace> LearnedPlaces::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(places_, {});
}

std::vector<TableEntry> entries_of(const std::vector<LearnedPlace>& places) {
    std::vector<TableEntry> entries;
    for (const LearnedPlace& place : places) {
        if (place.candidates.front().seconds <= 0) continue;
        TableEntry entry{.call = {place.collective, false},
                         .nodes = {place.nodes, place.nodes},
                         .ranks_per_node = {place.ranks_per_node, place.ranks_per_node},
                         .bytes = {place.bytes, place.bytes},
                         .candidates = {},
                         .why = fmt::format("{} on {} calls", why_learned, place.calls)};
        for (const LearnedPlace::Candidate& each : place.candidates)
            if (entry.find(each.choice) == nullptr) entry.candidates.push_back({each.choice, each.seconds});
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace hcoll
