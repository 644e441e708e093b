// SPDX-License-Identifier: BSD-3-Clause
// What depends on the processes of a communicator alone: where they sit, and what their calls run.
#include <algorithm>
#include <utility>

#include "base/own_arithmetic.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/together.hpp"

namespace hcoll {

namespace {

DecisionTable vendor_without_progress() {
    return {{.decision = {.parameters = {}, .what = "vendor", .why = reason::no_progress}}};
}

}  // namespace

// Returns why all ranks leave everything to the vendor; nullptr where they do not.
const char* SetUp::find_facts() {
    bool may_try = false;
    has_failed_ |= !has_memory_for([&] { facts_.placement = find_placement(); });
    if (is_true_anywhere(has_failed_ || facts_.placement == nullptr)) return reason::no_memory;
    const Placement& placement = *facts_.placement;
    // Of the world the process knows more, of what lies beyond nobody does; in a virtual layout all may be on this node.
    const int ranks_of_node = of_.reach == Reach::world ? 0
                              : settings().topology.is_automatic()
                                  ? static_cast<int>(placement.ranks_of_node(placement.node_of(of_.rank)).size())
                                  : of_.size;
    const bool shares_memory = settings().shared_memory && placement.nodes() == 1 && neighbors_ == nullptr;
    NonblockingTables left_to_vendor;
    const bool has_memory = has_memory_for([&] {
        blocking_ = make_decisions(placement, shares_memory);
        nonblocking_ = make_nonblocking_decisions(placement, ranks_of_node);
        // Nobody pays for finding out who could be tried before it is used enough for that.
        may_try = all_[too_few_calls] == 0 || !is_only_to_learn();
        // Whether copies can be made once is known when there is a segment.
        if (may_try) trials_ = make_trials(placement, shares_memory ? NodeMemory::copied_once : NodeMemory::apart);
        left_to_vendor.fill(vendor_without_progress());
    });
    if (is_true_anywhere(!has_memory)) return reason::no_memory;
    if (!may_run_in_background(ranks_of_node)) nonblocking_ = std::move(left_to_vendor);
    const bool tries_nothing =
        std::all_of(trials_.begin(), trials_.end(), [](const TrialTable& table) { return table.empty(); });
    const bool may_come = !may_try && (settings().tune == TuneMode::automatic || settings().tune == TuneMode::learn);
    if (tries_nothing && !may_come && is_only_to_learn()) return reason::settings;
    return nullptr;
}

// Does anything of nonblocking_ run here, and is there on every rank what moves it?
bool SetUp::may_run_in_background(int ranks_of_node) {
    if (std::all_of(nonblocking_.begin(), nonblocking_.end(), leaves_all_to_vendor)) return true;
    bool is_ready = false;
    const bool has_memory =
        has_memory_for([&] { is_ready = Background::get().is_ready(ranks_of_node, of_.rank == 0); });
    return !is_true_anywhere(!has_memory || !is_ready);
}

// nullptr where this rank has none.
std::shared_ptr<const Placement> SetUp::find_placement() const {
    // Among neighbors nobody has asked where ranks sit.
    if (of_.reach == Reach::world && settings().sparse)
        return std::make_shared<const Placement>(Placement::one_node(of_.size));
    return Process::get().placements().find({.communicator = of_.handle,
                                             .rank = of_.rank,
                                             .size = of_.size,
                                             .world_ranks = who_ ? &*who_ : nullptr,
                                             .layout = settings().topology});
}

DecisionTables SetUp::make_decisions(const Placement& placement, bool has_shared_memory) const {
    const OwnArithmetic own;
    DecisionTables decisions;
    for (std::size_t i = 0; i < collective_count; ++i)
        decisions[i] = make_decision_table(settings(), Process::vendor_kind(), static_cast<Collective>(i), placement,
                                           has_shared_memory);
    return decisions;
}

TrialTables SetUp::make_trials(const Placement& placement, NodeMemory memory) const {
    const OwnArithmetic own;
    TrialTables trials;
    for (std::size_t i = 0; i < collective_count; ++i)
        trials[i] = make_trial_table(settings(), static_cast<Collective>(i), placement, memory, blocking_[i]);
    return trials;
}

NonblockingTables SetUp::make_nonblocking_decisions(const Placement& placement, int ranks_of_node) const {
    const OwnArithmetic own;
    NonblockingTables tables;
    if (all_[no_progress] != 0 || settings().progress == ProgressMode::off) {
        tables.fill(vendor_without_progress());
        return tables;
    }
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        tables[i] = make_nonblocking_table(settings(), Process::vendor_kind(), static_cast<Collective>(i), placement,
                                           Background::get().progress_cores(ranks_of_node));
    return tables;
}

}  // namespace hcoll
