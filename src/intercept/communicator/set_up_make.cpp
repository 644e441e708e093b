// SPDX-License-Identifier: BSD-3-Clause
// What is made for a communicator: a duplicate, its leaders', and what messages and collectives inside a node travel by.
#include <algorithm>
#include <utility>

#include "intercept/communicator/communicator.hpp"
#include "intercept/communicator/segment_use.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/together.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

// Of all ranks of `parent`, or of some, by all of them; MPI_COMM_NULL where that fails, and on the others. Its errors return. Not
// MPI_Comm_dup: that would call the application's attribute copy functions.
MPI_Comm make_communicator(MPI_Comm parent, const std::vector<int>* ranks) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    const bool has_group =
        mpi.Comm_group(parent, &all) == MPI_SUCCESS &&
        (ranks == nullptr || mpi.Group_incl(all, static_cast<int>(ranks->size()), ranks->data(), &some) == MPI_SUCCESS);
    // A rank that has no group takes part without, as one that is in none does: the others are in the call.
    const MPI_Group group = !has_group ? MPI_GROUP_EMPTY : ranks == nullptr ? all : some;
    if (mpi.Comm_create(parent, group, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
    if (some != MPI_GROUP_NULL) mpi.Group_free(&some);
    if (all != MPI_GROUP_NULL) mpi.Group_free(&all);
    if (made != MPI_COMM_NULL && mpi.Comm_set_errhandler(made, MPI_ERRORS_RETURN) != MPI_SUCCESS) return MPI_COMM_NULL;
    return made;
}

// For the library's own messages.
MPI_Comm make_own_communicator(MPI_Comm parent) {
    // Every simulated rank would have tables of all ranks for a duplicate, and simulated programs send no messages of their
    // own that ours could meet: SimGrid's collectives use tags below 0.
    return is_simulated ? parent : make_communicator(parent, nullptr);
}

bool is_any_decision(const DecisionTables& decisions, const TrialTables& trials, bool (*is_it)(const Decision&)) {
    return std::any_of(decisions.begin(), decisions.end(),
                       [&](const DecisionTable& table) {
                           return std::any_of(table.begin(), table.end(),
                                              [&](const SizeRange& range) { return is_it(range.decision); });
                       }) ||
           std::any_of(trials.begin(), trials.end(), [&](const TrialTable& table) {
               return std::any_of(table.begin(), table.end(), [&](const TrialRange& range) {
                   return std::any_of(range.others.begin(), range.others.end(), is_it);
               });
           });
}

}  // namespace

// Where they are known: what is made may change them.
void SetUp::copy_decisions() {
    if (facts_.decisions == nullptr) return;
    has_failed_ |= !has_memory_for([&] {
        blocking_ = facts_.decisions->blocking;
        nonblocking_ = facts_.decisions->nonblocking;
        trials_ = facts_.decisions->trials;
    });
    facts_.decisions = nullptr;
}

// Leaves it in `kept_`, reserved among its group's parts. Returns why it cannot be made, nullptr where it is.
const char* SetUp::make() {
    copy_decisions();
    find_duplicate();
    std::array<std::uint64_t, 2> lacks = {duplicate_ == MPI_COMM_NULL ? 1U : 0U, has_failed_ ? 1U : 0U};
    if (!agree(lacks) || lacks[0] != 0) {
        if (of_.rank == 0)
            log_line(settings().reproducible ? LogLevel::warn : LogLevel::info,
                     "a communicator of {} ranks stays with the vendor: {}", of_.size, reason::no_context);
        leave_duplicate();
        return reason::no_context;
    }
    bool is_made = lacks[1] == 0 && make_own();
    if (is_made) {
        make_carriers();
        is_made = keep();
    }
    if (!is_made) give_back();
    return is_made ? nullptr : reason::no_memory;
}

// What its messages travel on: tags on the duplicate that communicators of the same processes share, where they have agreed on some, else on a new one, which
// some rank may not have. `has_failed_` where there is no memory to know it by.
void SetUp::find_duplicate() {
    if (has_tags()) {
        duplicate_ = tags_.of->handle();
        return;
    }
    tags_.give_back();
    duplicate_ = make_own_communicator(of_.handle);
    has_failed_ |= !has_memory_for([&] {
        tags_.take(std::make_shared<SharedDuplicate>(duplicate_, all_[serial], static_cast<int>(~all_[fewest_tags]),
                                                     all_[apart] == 0));
    });
    is_new_duplicate_ = true;
}

// Around the duplicate. May throw std::bad_alloc.
void SetUp::make_around_duplicate() {
    const MessageRoute route{.duplicate = duplicate_,
                             .rank = of_.rank,
                             .carriers = Carriers(duplicate_),
                             .tags = tags_.of->tags(tags_.place),
                             .largest_tag = tags_.of->largest_tag(),
                             .leaders = leaders_};
    own_ = std::make_unique<OwnAlgorithms>(route, settings(), facts_.placement);
    own_->serial = all_[serial];
    own_->shared_duplicate = tags_.of;
}

// False, on all ranks alike, where one of them has no memory for it.
bool SetUp::make_own() {
    leaders_ = make_leaders();
    const bool has_memory = has_memory_for([&] {
        make_around_duplicate();
        own_->has_leaders = has_leaders_;
        own_->has_everything = of_.wants_everything;
    });
    return !is_true_anywhere(has_failed_ || !has_memory);
}

// Where all that there is to find is known, and there is a room: every rank makes its part, and they meet once.
const char* SetUp::make_in_room() {
    find_duplicate();
    std::list<ProcessGroup::Part> part;
    const bool has_duplicate = duplicate_ != MPI_COMM_NULL;
    const bool has_memory = !has_failed_ && has_duplicate && has_memory_for([&] {
        make_around_duplicate();
        own_->rooms = room_.of;
        if (enter(room_.place) != 0) throw std::bad_alloc();
        if (facts_.copies != nullptr && own_->node != nullptr) own_->node->adopt_single_copy(facts_.copies);
        own_->decisions = facts_.decisions;
        own_->prepare_to_learn(settings());
        if (is_new_duplicate_ && all_[apart] == 0) learn_facts();
        part.emplace_back();
    });
    std::array<std::uint64_t, 2> lacks = {has_duplicate ? 0U : 1U, has_memory ? 0U : 1U};
    const bool has_met = agree(lacks);
    room_.use_up();
    if (has_met && lacks[1] == 0) {
        compare_clocks();
        tags_.use_up();
        part.front().own = std::move(own_);
        kept_ = ProcessGroups::get().add(*group_, part);
        return nullptr;
    }
    if (has_met && lacks[0] == 0) {
        give_back();
        return reason::no_memory;
    }
    drop_own();
    leave_duplicate();
    return reason::no_context;
}

// If some rank has no duplicate, freeing it, which is collective, could wait for ever: it is left alone.
void SetUp::leave_duplicate() {
    if (is_new_duplicate_ && tags_.of != nullptr) tags_.of->close();
    tags_.use_up();
}

// Calls over several nodes are timed by a clock that all ranks have in common.
void SetUp::compare_clocks() {
    if (!own_->learning.is_on() || facts_.placement->nodes() == 1) return;
    if (is_true_anywhere(own_->clock.compare(own_->duplicate, own_->tags.first, *facts_.placement, of_.rank) !=
                         MPI_SUCCESS))
        own_->learn_no_more();
}

// What its calls run is decided, and its group has it: the same on all ranks, after which nothing can fail on one of them alone.
bool SetUp::keep() {
    std::list<ProcessGroup::Part> part;
    // What failed on this rank alone it must not learn: the others would take it for what they know.
    const bool has_memory = !has_failed_ && has_memory_for([&] {
        facts_.decisions = std::make_shared<const CallDecisions>(std::move(blocking_), std::move(nonblocking_),
                                                                 std::move(trials_), *facts_.placement);
        own_->decisions = facts_.decisions;
        // On a communicator that is asked to run what nobody would choose nothing is tried.
        if (!of_.wants_everything) own_->prepare_to_learn(settings());
        learn_facts();
        part.emplace_back();
    });
    if (is_true_anywhere(!has_memory)) return false;
    compare_clocks();
    tags_.use_up();
    part.front().own = std::move(own_);
    kept_ = ProcessGroups::get().add(*group_, part);
    return true;
}

// From now on the group's communicators find them. May throw std::bad_alloc.
void SetUp::learn_facts() {
    facts_.duplicate = all_[apart] == 0 ? tags_.of : nullptr;
    facts_.serial = all_[serial];
    ProcessGroups::get().learn(*group_, facts_);
}

// Where a process dies meanwhile, an Allreduce may fail on some ranks and not on others, which keep their part: they must not wait for this rank in it.
void SetUp::drop_own() {
    const bool may_be_kept = has_lost_touch_ && own_ != nullptr;
    if (may_be_kept && own_->peers != nullptr) own_->peers->give_up(NodeBreak::vendor);
    if (may_be_kept && vendor_may_revoke()) own_->revoke();
    // Nor would they come to free it with the last part on it.
    if (may_be_kept && own_->shared_duplicate != nullptr) own_->shared_duplicate->add_user();
    own_.reset();
}

// What all ranks have, but some of them cannot use.
void SetUp::give_back() {
    drop_own();
    leave_duplicate();
    if (!is_new_duplicate_) duplicate_ = MPI_COMM_NULL;
    // There it is the application's own; and of others that may go on with it none would come to free it.
    if (is_simulated || has_lost_touch_) return;
    for (MPI_Comm* each : {&leaders_, &duplicate_})
        if (*each != MPI_COMM_NULL) mpi.Comm_free(each);
}

bool SetUp::wants_leaders() const {
    const CallDecisions* known = facts_.decisions.get();
    return facts_.placement->nodes() != 1 &&
           (of_.wants_everything ||
            is_any_decision(known != nullptr ? known->blocking : blocking_, known != nullptr ? known->trials : trials_,
                            [](const Decision& decision) { return decision.wants_leaders(); }));
}

// A communicator of the nodes' leaders, where a decision wants one. Without it, those algorithms use the library's own trees, on all
// ranks alike.
MPI_Comm SetUp::make_leaders() {
    const Placement& placement = *facts_.placement;
    if (!wants_leaders()) return MPI_COMM_NULL;
    std::vector<int> ranks;
    MPI_Comm leaders = MPI_COMM_NULL;
    const bool has_memory = has_memory_for([&] {
        ranks.reserve(static_cast<std::size_t>(placement.nodes()));
        for (int node = 0; node < placement.nodes(); ++node) ranks.push_back(placement.ranks_of_node(node).front());
    });
    if (!is_true_anywhere(!has_memory)) leaders = make_communicator(of_.handle, &ranks);
    const bool leads = placement.index_on_node(of_.rank) == 0;
    has_leaders_ = !is_true_anywhere(leads && leaders == MPI_COMM_NULL);
    if (has_leaders_) return leaders;
    // Freeing one that some leader lacks could wait for ever: it is left alone.
    has_failed_ |= !has_memory_for([&] {
        for (DecisionTable& table : blocking_)
            for (SizeRange& range : table) range.decision.do_without_leaders();
    });
    return MPI_COMM_NULL;
}

// What messages and collectives inside a node travel by.
void SetUp::make_carriers() {
    const Placement& placement = *facts_.placement;
    const bool shares_memory = settings().shared_memory && placement.most_ranks_of_a_node() > 1;
    // On one node a Bcast that goes another way is announced over it.
    const bool announces = shares_memory && placement.nodes() == 1 &&
                           !(leaves_all_to_vendor(blocking_[static_cast<std::size_t>(Collective::bcast)]) &&
                             trials_[static_cast<std::size_t>(Collective::bcast)].empty());
    const SegmentUse use{
        .collectives = announces || (of_.wants_everything && shares_memory && placement.nodes() == 1) ||
                       is_any_decision(blocking_, trials_, [](const Decision& decision) { return decision.shared; }),
        .messages =
            shares_memory && (of_.wants_everything || is_any_decision(blocking_, trials_, [](const Decision& decision) {
                                  return decision.algorithm != nullptr;
                              }))};
    if (!use.collectives && !use.messages)
        has_failed_ |= !has_memory_for([&] { make_empty_rooms(); });
    else if (!make_segment(use) && use.collectives)
        has_failed_ |= !has_memory_for([&] {
            blocking_ = make_decisions(placement, false);
            trials_ = make_trials(placement, NodeMemory::apart);
        });
    const bool wants_single_copy =
        own_->node != nullptr &&
        (of_.wants_everything ||
         is_any_decision(blocking_, trials_, [](const Decision& decision) { return decision.single_copy != 0; }));
    facts_.rooms = may_share_rooms() ? own_->rooms : nullptr;
    // Threads must not use the memory that copies pass through at the same time.
    const std::shared_ptr<PeerMemory> proven = has_facts() && all_[apart] == 0 ? facts_.copies : nullptr;
    facts_.copies = proven;
    if (!wants_single_copy) return;
    if (proven != nullptr)
        own_->node->adopt_single_copy(proven);
    else if (!find_single_copy(settings().single_copy))
        return make_trials_again(NodeMemory::shared);
    // What the rules say is for cores that are far apart. Whom a setting or a table asks for it gets it. What learning tries is timed there.
    const auto for_copies_of_rules = [&](auto&& do_it) {
        for (std::size_t i = 0; i < collective_count; ++i)
            if (settings().choices[i].kind == AlgorithmChoice::Kind::automatic)
                for (SizeRange& range : blocking_[i])
                    if (range.decision.is_of_rule && range.decision.single_copy != 0) do_it(range.decision);
    };
    bool is_any_of_rule = false;
    for_copies_of_rules([&](const Decision&) { is_any_of_rule = true; });
    if (has_facts() || settings().single_copy != SingleCopyWay::automatic || !is_any_of_rule || is_single_copy_faster())
        return;
    has_failed_ |=
        !has_memory_for([&] { for_copies_of_rules([](Decision& decision) { decision.do_without_single_copy(); }); });
    make_trials_again(NodeMemory::copied_once);
}

// Candidates go by what is usual, and by how ranks reach one another's memory: where either has turned out to be another one. Those that are known were made
// when that was known, too.
void SetUp::make_trials_again(NodeMemory memory) {
    const auto tries_single_copies = [&] {
        return is_any_decision({}, trials_, [](const Decision& decision) { return decision.single_copy != 0; });
    };
    if (has_facts() && !tries_single_copies()) return;
    if (std::all_of(trials_.begin(), trials_.end(), [](const TrialTable& table) { return table.empty(); })) return;
    has_failed_ |= !has_memory_for([&] { trials_ = make_trials(*facts_.placement, memory); });
}

}  // namespace hcoll
