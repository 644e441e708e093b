// SPDX-License-Identifier: BSD-3-Clause
// What the ranks agree on, and what follows from it.
#include "intercept/communicator/set_up.hpp"

#include <algorithm>
#include <utility>

#include "intercept/communicator/communicator.hpp"
#include "intercept/process/attributes.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/device_memory.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/together.hpp"
#include "intercept/process/world_ranks.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

// ---- what the ranks agree on ----

// Replaces each value by the largest that any rank has.
bool SetUp::agree(std::span<std::uint64_t> values) {
    if (neighbors_ != nullptr) return neighbors_->find_largest(values);
    Told mine{};
    std::copy(values.begin(), values.end(), mine.begin());
    const int status =
        mpi.Allreduce(mine.data(), values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX, of_.handle);
    if (status != MPI_SUCCESS) has_failed_ = has_lost_touch_ = true;
    return status == MPI_SUCCESS;
}

// The same on all ranks; true also where it cannot be told.
bool SetUp::is_true_anywhere(bool here) {
    std::array<std::uint64_t, 1> anywhere = {here ? 1U : 0U};
    return !agree(anywhere) || anywhere[0] != 0;
}

// What was used so often, by calls and bytes, is worth the time that it takes; longer, where communicators were freed soon.
bool SetUp::is_earned() const { return of_.is_at_once || is_used_much(); }

bool SetUp::is_used_much() const {
    constexpr std::uint64_t enough = 32;
    constexpr std::uint64_t bytes_of_a_call = 16 << 10;
    const unsigned int caution = goes_by_own_calls() ? 0 : ProcessGroups::get().caution();
    return of_.calls + of_.bytes / bytes_of_a_call >= enough << caution;
}

// Bits of sums are others once it is set up. What other threads have made and freed by then is another thing in each run.
bool SetUp::goes_by_own_calls() const { return settings().bits == BitsPromise::fixed && may_have_threads(); }

// Does everything stay with the vendor until something is found to be faster? Who makes few calls pays nothing for that.
bool SetUp::is_only_to_learn() const {
    const auto leave_all = [](const DecisionTables& blocking, const NonblockingTables& nonblocking) {
        return std::all_of(blocking.begin(), blocking.end(), leaves_all_to_vendor) &&
               std::all_of(nonblocking.begin(), nonblocking.end(), leaves_all_to_vendor);
    };
    if (of_.wants_everything) return false;
    const CallDecisions* known = facts_.decisions.get();
    return known != nullptr ? leave_all(known->blocking, known->nonblocking) : leave_all(blocking_, nonblocking_);
}

// What this rank knows of `group_`.
void SetUp::tell_about_group() {
    reserved_ = group_ == nullptr ? nullptr : ProcessGroups::get().reserve_idle(*group_, of_.wants_everything);
    const std::uint64_t serial_of_idle = reserved_ == nullptr ? 0 : reserved_->serial;
    all_[idle] = serial_of_idle;
    all_[inverse_idle] = ~serial_of_idle;
    const std::uint64_t calls_of_idle = reserved_ == nullptr ? 0 : reserved_->learning.calls();
    all_[idle_calls] = calls_of_idle;
    all_[inverse_idle_calls] = ~calls_of_idle;
    known_facts_ = group_ == nullptr ? nullptr : ProcessGroups::get().facts_of(*group_);
    const std::uint64_t serial_of_facts = known_facts_ == nullptr ? 0 : known_facts_->serial;
    all_[facts] = serial_of_facts;
    all_[inverse_facts] = ~serial_of_facts;
    // Whoever gets an idle part needs no room, and in one there is not everything.
    const bool is_new = known_facts_ != nullptr && reserved_ == nullptr;
    if (is_new && known_facts_->rooms != nullptr && !of_.wants_everything) room_.take(known_facts_->rooms);
    if (is_new && known_facts_->duplicate != nullptr) tags_.take(known_facts_->duplicate);
    all_[room] = room_.name();
    all_[inverse_room] = ~room_.name();
    all_[tags] = tags_.name();
    all_[inverse_tags] = ~tags_.name();
}

void SetUp::give_places_back() {
    room_.give_back();
    tags_.give_back();
}

// May several of this rank's threads be in calls at a time, as far as can be told?
bool SetUp::may_have_threads() {
    int level = MPI_THREAD_MULTIPLE;
    return mpi.Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE;
}

// shared_duplicate.hpp says why. It is so where any rank wants it.
bool SetUp::wants_duplicate_apart() const {
    return is_simulated || of_.reach != Reach::world || settings().verify != 0 || vendor_may_revoke() ||
           may_have_threads();
}

bool SetUp::meet() {
    Process& process = Process::get();
    ProcessGroups& groups = ProcessGroups::get();
    agreed_ = of_.rank == 0 ? process.agreed_with_table() : process.agreed();
    // Processes whose ranks are consecutive in MPI_COMM_WORLD are told by that: each rank sees its own part of it, and all together
    // whether it is so.
    constexpr std::uint64_t above_zero = std::uint64_t{1} << 32U;
    const int own_offset = process.world_rank() - of_.rank;
    const std::uint64_t told_offset = above_zero + static_cast<std::uint64_t>(std::int64_t{own_offset});
    if (of_.reach == Reach::world) group_ = groups.find({.ranks = of_.size, .offset = own_offset, .table = {}});
    all_[hash] = agreed_->hash;
    all_[inverse_hash] = ~agreed_->hash;
    all_[no_room] = groups.parts() < settings().communicators ? 0 : 1;
    all_[not_watched] = of_.is_watched ? 0 : 1;
    all_[device] = DeviceMemory::is_any_unknown() ? 1 : 0;
    all_[no_progress] = Background::get().is_possible_on(of_.reach == Reach::world) ? 0 : 1;
    all_[fewest_tags] = ~static_cast<std::uint64_t>(tag_upper_bound(of_.handle));
    all_[apart] = wants_duplicate_apart() ? 1 : 0;
    all_[unearned] = is_earned() ? 0 : 1;
    all_[idle_elsewhere] = groups.has_idle_of_table(of_.size, of_.wants_everything) ? 1 : 0;
    all_[too_few_calls] = is_used_much() || settings().setup_calls != automatic_setup_calls ? 0 : 1;
    all_[by_own_calls] = goes_by_own_calls() ? 1 : 0;
    all_[offset] = told_offset;
    all_[inverse_offset] = ~told_offset;
    all_[serial] = groups.draw_serial();
    tell_about_group();
    if (!agree(all_)) return false;
    groups.note_serial(all_[serial]);
    const bool settings_differ = all_[hash] != ~all_[inverse_hash];
    return !settings_differ || process.broadcast_settings(of_.handle, of_.rank, agreed_) == MPI_SUCCESS;
}

// The processes of this communicator, and, where meet() has looked at others', what all ranks know of them. Another thread may have
// met them meanwhile, on some ranks and not yet on others: what follows depends on what was agreed alone.
bool SetUp::find_group() {
    ProcessGroups& groups = ProcessGroups::get();
    if (are_in_a_row()) {
        who_ = WorldRanks{.ranks = of_.size, .offset = Process::get().world_rank() - of_.rank, .table = {}};
        has_failed_ = !has_memory_for([&] { group_ = groups.find_or_add(who_); });
        return true;
    }
    if (reserved_ != nullptr) groups.unreserve(*group_, *std::exchange(reserved_, nullptr));
    give_places_back();
    group_ = nullptr;
    if (of_.reach == Reach::world) {
        std::vector<int> table;
        if (is_true_anywhere(!has_memory_for([&] { table.resize(static_cast<std::size_t>(of_.size)); }))) return false;
        const int mine = Process::get().world_rank();
        if (mpi.Allgather(&mine, 1, MPI_INT, table.data(), 1, MPI_INT, of_.handle) != MPI_SUCCESS) return false;
        who_ = WorldRanks{.ranks = of_.size, .offset = 0, .table = std::move(table)};
    }
    if (is_true_anywhere(!has_memory_for([&] { group_ = groups.find_or_add(who_); }))) return false;
    tell_about_group();
    return agree(std::span(all_).subspan(about_group));
}

// ---- the choice ----

SetUp::Result SetUp::run() {
    Result result;
    if (of_.handle == MPI_COMM_WORLD && Process::get().agreed()->settings.sparse) {
        result = make_among_neighbors();
    } else {
        const ErrorsReturn errors_return(of_.handle);
        result = choose();
        if (reserved_ != nullptr && result.own != reserved_) ProcessGroups::get().unreserve(*group_, *reserved_);
        give_places_back();
    }
    return result;
}

SetUp::Result SetUp::choose() {
    // What follows blocks, and moves nothing that is in flight, on which another rank may depend before it comes here. When all
    // are here, nobody waits for anything else.
    if (Background::takes_collectives_apart() && of_.reach == Reach::world) {
        const auto begin = [&](MPI_Request* request) { return mpi.Ibarrier(of_.handle, request); };
        if (begin_and_finish(MPI_STATUS_IGNORE, of_.handle, begin) != MPI_SUCCESS)
            return {.why_vendor = reason::no_context};
    }
    if (!meet()) return {.why_vendor = reason::no_context};
    if (of_.rank == 0) Process::get().print_warnings(true);
    if (!settings().enable) return {.why_vendor = agreed_->why_disabled};
    if (all_[device] != 0) return {.why_vendor = reason::device};
    if (settings().leave_all_to_vendor() && !of_.wants_everything) return {.why_vendor = reason::settings};
    if (all_[not_watched] != 0) return {.why_vendor = reason::not_watched};
    // Who does not follow one another would have to be told all of them, for nothing.
    if (!are_in_a_row() && all_[unearned] != 0 && all_[idle_elsewhere] == 0) return {.why_later = reason::first_calls};
    if (!find_group()) return {.why_vendor = reason::no_memory};

    ProcessGroups& groups = ProcessGroups::get();
    const bool may_take_idle = all_[unearned] == 0 || all_[by_own_calls] == 0;
    if (may_take_idle && all_[idle] != 0 && all_[idle] == ~all_[inverse_idle]) {
        // Ranks that have not counted alike would not agree at the same time.
        if (all_[idle_calls] != ~all_[inverse_idle_calls]) reserved_->learn_no_more();
        groups.hand_over(*group_, *reserved_, of_.user);
        return {.own = reserved_, .group = group_.get()};
    }
    if (all_[unearned] != 0) return {.why_later = reason::first_calls};
    if (has_facts())
        facts_ = *known_facts_;
    else if (const char* why = find_facts(); why != nullptr)
        return {.why_vendor = why};
    if (all_[too_few_calls] != 0 && is_only_to_learn()) return {.why_later = reason::first_calls};
    if (all_[no_room] != 0) {
        if (OwnAlgorithms* taken = take_over_little_used(); taken != nullptr)
            return {.own = taken, .group = group_.get()};
        if (!settings().reproducible) return {.why_later = reason::limit};
        if (of_.rank == 0)
            log_line(LogLevel::warn,
                     "the bits of a communicator of {} ranks are the MPI library's, in spite of "
                     "LIBHCOLL_REPRODUCIBLE=1: {}",
                     of_.size, reason::limit);
        return {.why_vendor = reason::limit};
    }
    const bool is_in_room = has_room() && facts_.decisions != nullptr && !wants_leaders();
    if (const char* why = is_in_room ? make_in_room() : make(); why != nullptr) return {.why_vendor = why};
    groups.hand_over(*group_, *kept_, of_.user);
    return {.own = kept_, .group = group_.get()};
}

// There is no room for one more. Where another communicator of the same processes makes less use of its own than this one
// would, and nothing is in flight there, this one takes it, and that one's calls are counted again. All ranks have begun
// the same calls there: so none of them is, or will be, in one that another one runs differently. With MPI_THREAD_MULTIPLE another
// thread may be about to begin one.
OwnAlgorithms* SetUp::take_over_little_used() {
    ProcessGroups& groups = ProcessGroups::get();
    const bool may_look = !settings().reproducible && !may_have_threads();
    // Which one it is, rank 0 says.
    std::array<std::uint64_t, 1> little_used = {
        of_.rank == 0 && may_look ? groups.look_for_little_used(*group_, of_.calls) : 0};
    if (!agree(little_used) || little_used[0] == 0) return nullptr;
    const ProcessGroups::InUse there = groups.find_part(*group_, little_used[0]);
    const bool is_free = may_look && there.own != nullptr && there.own->is_idle();
    const std::uint64_t uses = is_free ? there.own->uses : 0;
    const std::uint64_t calls = is_free ? there.own->learning.calls() : 0;
    std::array<std::uint64_t, 5> told = {is_free ? 0U : 1U, uses, ~uses, calls, ~calls};
    if (!agree(told) || told[0] != 0 || told[1] != ~told[2]) return nullptr;
    if (told[3] != ~told[4]) there.own->learn_no_more();
    there.user->give_up_own();
    groups.hand_over(*group_, *there.own, of_.user);
    return there.own;
}

}  // namespace hcoll
