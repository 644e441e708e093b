#include "intercept/communicator/set_up.hpp"

#include <algorithm>
#include <utility>

#include "intercept/communicator/communicator.hpp"
#include "intercept/communicator/segment_use.hpp"
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

namespace {

// Of all ranks of `parent`, or of some, by all of them; MPI_COMM_NULL where that fails, and on the others. Its errors return. Not
// MPI_Comm_dup: that would call the application's attribute copy functions.
MPI_Comm make_communicator(MPI_Comm parent, const std::vector<int>* ranks) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (mpi.Comm_group(parent, &all) != MPI_SUCCESS) return MPI_COMM_NULL;
    const bool has_group =
        ranks == nullptr || mpi.Group_incl(all, static_cast<int>(ranks->size()), ranks->data(), &some) == MPI_SUCCESS;
    if (!has_group || mpi.Comm_create(parent, ranks == nullptr ? all : some, &made) != MPI_SUCCESS)
        made = MPI_COMM_NULL;
    if (some != MPI_GROUP_NULL) mpi.Group_free(&some);
    mpi.Group_free(&all);
    if (made != MPI_COMM_NULL && mpi.Comm_set_errhandler(made, MPI_ERRORS_RETURN) != MPI_SUCCESS) return MPI_COMM_NULL;
    return made;
}

// For the library's own messages.
MPI_Comm make_own_communicator(MPI_Comm parent) {
    // Every simulated rank would have tables of all ranks for a duplicate, and simulated programs send no messages of their
    // own that ours could meet: SimGrid's collectives use tags below 0.
    return is_simulated ? parent : make_communicator(parent, nullptr);
}

bool is_any_decision(const DecisionTables& decisions, bool (*is_it)(const Decision&)) {
    return std::any_of(decisions.begin(), decisions.end(), [&](const DecisionTable& table) {
        return std::any_of(table.begin(), table.end(), [&](const SizeRange& range) { return is_it(range.decision); });
    });
}

DecisionTable vendor_without_progress() {
    return {{.decision = {.parameters = {}, .what = "vendor", .why = reason::no_progress}}};
}

}  // namespace

// ---- what the ranks agree on ----

// Replaces each value by the largest that any rank has.
bool SetUp::agree(std::span<std::uint64_t> values) const {
    if (neighbors_ != nullptr) return neighbors_->find_largest(values);
    Told mine{};
    std::copy(values.begin(), values.end(), mine.begin());
    return mpi.Allreduce(mine.data(), values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_MAX,
                         of_.handle) == MPI_SUCCESS;
}

// The same on all ranks; true also where it cannot be told.
bool SetUp::is_true_anywhere(bool here) const {
    std::array<std::uint64_t, 1> anywhere = {here ? 1U : 0U};
    return !agree(anywhere) || anywhere[0] != 0;
}

// What was used so often, by calls and bytes, is worth the time that it takes; longer, where communicators were freed soon.
bool SetUp::is_earned() const {
    constexpr std::uint64_t enough = 32;
    constexpr std::uint64_t bytes_of_a_call = 16 << 10;
    return of_.is_at_once || of_.calls + of_.bytes / bytes_of_a_call >= enough << ProcessGroups::get().caution();
}

// What this rank knows of `group_`.
void SetUp::tell_about_group() {
    reserved_ = group_ == nullptr ? nullptr : ProcessGroups::get().reserve_idle(*group_);
    const std::uint64_t serial_of_idle = reserved_ == nullptr ? 0 : reserved_->serial;
    all_[idle] = serial_of_idle;
    all_[inverse_idle] = ~serial_of_idle;
    known_facts_ = group_ == nullptr ? nullptr : ProcessGroups::get().facts_of(*group_);
    const std::uint64_t serial_of_facts = known_facts_ == nullptr ? 0 : known_facts_->serial;
    all_[facts] = serial_of_facts;
    all_[inverse_facts] = ~serial_of_facts;
    // Whoever gets an idle part needs no room.
    if (known_facts_ != nullptr && known_facts_->rooms != nullptr && reserved_ == nullptr) {
        rooms_ = known_facts_->rooms;
        room_ = rooms_->take();
    }
    const std::uint64_t name_of_room = room_ == SharedRooms::none ? 0 : rooms_->name_of(room_);
    all_[room] = name_of_room;
    all_[inverse_room] = ~name_of_room;
}

void SetUp::give_room_back() {
    if (room_ != SharedRooms::none) rooms_->give_back(std::exchange(room_, SharedRooms::none));
    rooms_ = nullptr;
}

bool SetUp::meet() {
    const Process& process = Process::get();
    ProcessGroups& groups = ProcessGroups::get();
    agreed_ = process.agreed();
    // Processes whose ranks are consecutive in MPI_COMM_WORLD are told by that: each rank sees its own part of it, and all together
    // whether it is so.
    constexpr std::uint64_t above_zero = std::uint64_t{1} << 32U;
    const int own_offset = process.world_rank() - of_.rank;
    const std::uint64_t told_offset = above_zero + static_cast<std::uint64_t>(std::int64_t{own_offset});
    if (of_.reach == Reach::world) group_ = groups.find({.ranks = of_.size, .offset = own_offset, .table = {}});
    all_[hash] = agreed_->hash;
    all_[inverse_hash] = ~agreed_->hash;
    all_[no_room] = groups.duplicates() < settings().communicators ? 0 : 1;
    all_[not_watched] = of_.is_watched ? 0 : 1;
    all_[device] = DeviceMemory::is_any_unknown() ? 1 : 0;
    all_[no_progress] = Background::get().is_possible_on(of_.reach == Reach::world) ? 0 : 1;
    all_[fewest_tags] = ~static_cast<std::uint64_t>(tag_upper_bound(of_.handle));
    all_[unearned] = is_earned() ? 0 : 1;
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
    const bool is_offset = all_[offset] == ~all_[inverse_offset];
    if (of_.reach == Reach::world && is_offset) {
        who_ = WorldRanks{.ranks = of_.size, .offset = Process::get().world_rank() - of_.rank, .table = {}};
        has_failed_ = !has_memory_for([&] { group_ = &groups.find_or_add(who_); });
        return true;
    }
    if (reserved_ != nullptr) groups.unreserve(*group_, *std::exchange(reserved_, nullptr));
    give_room_back();
    group_ = nullptr;
    if (of_.reach == Reach::world) {
        std::vector<int> table;
        if (is_true_anywhere(!has_memory_for([&] { table.resize(static_cast<std::size_t>(of_.size)); }))) return false;
        const int mine = Process::get().world_rank();
        if (mpi.Allgather(&mine, 1, MPI_INT, table.data(), 1, MPI_INT, of_.handle) != MPI_SUCCESS) return false;
        who_ = WorldRanks{.ranks = of_.size, .offset = 0, .table = std::move(table)};
    }
    if (is_true_anywhere(!has_memory_for([&] { group_ = &groups.find_or_add(who_); }))) return false;
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
        if (result.own == nullptr || result.own->rooms != rooms_) give_room_back();
    }
    return result;
}

SetUp::Result SetUp::choose() {
    // What follows blocks, and moves nothing that is in flight, on which another rank may depend before it comes here. When all
    // are here, nobody waits for anything else.
    if (Background::takes_collectives_apart() && of_.reach == Reach::world) {
        const auto begin = [&](MPI_Request* request) { return mpi.Ibarrier(of_.handle, request); };
        if (begin_and_finish(MPI_STATUS_IGNORE, begin) != MPI_SUCCESS) return {.why_vendor = reason::no_context};
    }
    if (!meet()) return {.why_vendor = reason::no_context};
    if (of_.rank == 0) Process::get().print_warnings(true);
    if (!settings().enable) return {.why_vendor = reason::disabled};
    if (all_[device] != 0) return {.why_vendor = reason::device};
    if (settings().leave_all_to_vendor()) return {.why_vendor = reason::settings};
    if (all_[not_watched] != 0) return {.why_vendor = reason::not_watched};
    if (!find_group()) return {.why_vendor = reason::no_memory};

    ProcessGroups& groups = ProcessGroups::get();
    if (all_[idle] != 0 && all_[idle] == ~all_[inverse_idle]) {
        groups.hand_over(*group_, *reserved_, of_.user);
        return {.own = reserved_, .group = group_};
    }
    if (all_[unearned] != 0) return {.why_later = reason::first_calls};
    if (has_facts())
        facts_ = *known_facts_;
    else if (const char* why = find_facts(); why != nullptr)
        return {.why_vendor = why};
    if (all_[no_room] != 0) {
        if (OwnAlgorithms* taken = take_over_little_used(); taken != nullptr) return {.own = taken, .group = group_};
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
    return {.own = kept_, .group = group_};
}

// There is no room for one more duplicate. Where another communicator of the same processes makes less use of its own than this one
// would, and nothing is in flight there, this one takes it, and that one's calls are counted again. All ranks have begun
// the same calls there: so none of them is, or will be, in one that another one runs differently. With MPI_THREAD_MULTIPLE another
// thread may be about to begin one.
OwnAlgorithms* SetUp::take_over_little_used() {
    ProcessGroups& groups = ProcessGroups::get();
    int level = MPI_THREAD_MULTIPLE;
    const bool may_look =
        !settings().reproducible && mpi.Query_thread(&level) == MPI_SUCCESS && level != MPI_THREAD_MULTIPLE;
    // Which one it is, rank 0 says.
    std::array<std::uint64_t, 1> little_used = {
        of_.rank == 0 && may_look ? groups.look_for_little_used(*group_, of_.calls) : 0};
    if (!agree(little_used) || little_used[0] == 0) return nullptr;
    const ProcessGroups::InUse there = groups.find_part(*group_, little_used[0]);
    const bool is_free = may_look && there.own != nullptr && there.own->is_idle();
    const std::uint64_t uses = is_free ? there.own->uses : 0;
    std::array<std::uint64_t, 3> told = {is_free ? 0U : 1U, uses, ~uses};
    if (!agree(told) || told[0] != 0 || told[1] != ~told[2]) return nullptr;
    there.user->give_up_own();
    groups.hand_over(*group_, *there.own, of_.user);
    return there.own;
}

// ---- what depends on the processes alone ----

// Returns why all ranks leave everything to the vendor; nullptr where they do not.
const char* SetUp::find_facts() {
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
        left_to_vendor.fill(vendor_without_progress());
    });
    if (is_true_anywhere(!has_memory)) return reason::no_memory;
    if (!may_run_in_background(ranks_of_node)) nonblocking_ = std::move(left_to_vendor);
    if (std::all_of(blocking_.begin(), blocking_.end(), leaves_all_to_vendor) &&
        std::all_of(nonblocking_.begin(), nonblocking_.end(), leaves_all_to_vendor))
        return reason::settings;
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
    DecisionTables decisions;
    for (std::size_t i = 0; i < collective_count; ++i)
        decisions[i] = make_decision_table(settings(), Process::vendor_kind(), static_cast<Collective>(i), placement,
                                           has_shared_memory);
    return decisions;
}

NonblockingTables SetUp::make_nonblocking_decisions(const Placement& placement, int ranks_of_node) const {
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

// ---- what is made ----

// Where they are known: what is made may change them.
void SetUp::copy_decisions() {
    if (facts_.decisions == nullptr) return;
    has_failed_ |= !has_memory_for([&] {
        blocking_ = facts_.decisions->blocking;
        nonblocking_ = facts_.decisions->nonblocking;
    });
    facts_.decisions = nullptr;
}

// Leaves it in `kept_`, reserved among its group's parts. Returns why it cannot be made, nullptr where it is.
const char* SetUp::make() {
    copy_decisions();
    duplicate_ = make_own_communicator(of_.handle);
    std::array<std::uint64_t, 2> lacks = {duplicate_ == MPI_COMM_NULL ? 1U : 0U, has_failed_ ? 1U : 0U};
    if (!agree(lacks) || lacks[0] != 0) {
        if (of_.rank == 0)
            log_line(settings().reproducible ? LogLevel::warn : LogLevel::info,
                     "a communicator of {} ranks stays with the vendor: {}", of_.size, reason::no_context);
        // If some rank has none, freeing it, which is collective, could wait for ever: it is left alone.
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

// Around the duplicate. False, on all ranks alike, where one of them has no memory for it.
bool SetUp::make_own() {
    leaders_ = make_leaders(duplicate_);
    const bool has_memory = has_memory_for([&] {
        own_ = std::make_unique<OwnAlgorithms>(duplicate_, of_.rank, Carriers(duplicate_),
                                               static_cast<int>(~all_[fewest_tags]), settings(), facts_.placement,
                                               leaders_);
        own_->serial = all_[serial];
    });
    return !is_true_anywhere(has_failed_ || !has_memory);
}

// Where all that there is to find is known, and there is a room: every rank makes its part, and they meet once.
const char* SetUp::make_in_room() {
    duplicate_ = make_own_communicator(of_.handle);
    std::list<ProcessGroup::Part> part;
    const bool has_memory = !has_failed_ && duplicate_ != MPI_COMM_NULL && has_memory_for([&] {
        own_ = std::make_unique<OwnAlgorithms>(duplicate_, of_.rank, Carriers(duplicate_),
                                               static_cast<int>(~all_[fewest_tags]), settings(), facts_.placement,
                                               MPI_COMM_NULL);
        own_->serial = all_[serial];
        own_->rooms = rooms_;
        if (enter(room_) != 0) throw std::bad_alloc();
        if (facts_.copies != nullptr) own_->node->adopt_single_copy(facts_.copies);
        own_->decisions = facts_.decisions;
        part.emplace_back();
    });
    std::array<std::uint64_t, 2> lacks = {duplicate_ == MPI_COMM_NULL ? 1U : 0U, has_memory ? 0U : 1U};
    const bool has_met = agree(lacks);
    if (has_met && lacks[1] == 0) {
        part.front().own = std::move(own_);
        kept_ = ProcessGroups::get().add(*group_, part);
        return nullptr;
    }
    room_ = SharedRooms::none;  // which is not used again
    if (has_met && lacks[0] == 0) {
        give_back();
        return reason::no_memory;
    }
    // If some rank has no duplicate, freeing it, which is collective, could wait for ever: it is left alone.
    own_.reset();
    return reason::no_context;
}

// What its calls run is decided, and its group has it: the same on all ranks, after which nothing can fail on one of them alone.
bool SetUp::keep() {
    std::list<ProcessGroup::Part> part;
    const bool has_memory = has_memory_for([&] {
        facts_.decisions =
            std::make_shared<const CallDecisions>(std::move(blocking_), std::move(nonblocking_), *facts_.placement);
        own_->decisions = facts_.decisions;
        facts_.serial = all_[serial];
        ProcessGroups::get().learn(*group_, facts_);
        part.emplace_back();
    });
    if (is_true_anywhere(has_failed_ || !has_memory)) return false;
    part.front().own = std::move(own_);
    kept_ = ProcessGroups::get().add(*group_, part);
    return true;
}

// What all ranks have, but some of them cannot use.
void SetUp::give_back() {
    own_.reset();
    if (is_simulated) return;  // there it is the application's own
    for (MPI_Comm* each : {&leaders_, &duplicate_})
        if (*each != MPI_COMM_NULL) mpi.Comm_free(each);
}

bool SetUp::wants_leaders() const {
    const CallDecisions* known = facts_.decisions.get();
    return facts_.placement->nodes() != 1 &&
           is_any_decision(known != nullptr ? known->blocking : blocking_,
                           [](const Decision& decision) { return decision.wants_leaders(); });
}

// A communicator of the nodes' leaders, where a decision wants one. Without it, those algorithms use the library's own trees, on all
// ranks alike.
MPI_Comm SetUp::make_leaders(MPI_Comm duplicate) {
    const Placement& placement = *facts_.placement;
    if (!wants_leaders()) return MPI_COMM_NULL;
    std::vector<int> ranks;
    MPI_Comm leaders = MPI_COMM_NULL;
    const bool has_memory = has_memory_for([&] {
        ranks.reserve(static_cast<std::size_t>(placement.nodes()));
        for (int node = 0; node < placement.nodes(); ++node) ranks.push_back(placement.ranks_of_node(node).front());
    });
    if (!is_true_anywhere(!has_memory)) leaders = make_communicator(duplicate, &ranks);
    const bool leads = placement.index_on_node(of_.rank) == 0;
    if (!is_true_anywhere(leads && leaders == MPI_COMM_NULL)) return leaders;
    // Freeing one that some leader lacks could wait for ever: it is left alone.
    has_failed_ = !has_memory_for([&] {
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
                           !leaves_all_to_vendor(blocking_[static_cast<std::size_t>(Collective::bcast)]);
    const SegmentUse use{
        .collectives =
            announces || is_any_decision(blocking_, [](const Decision& decision) { return decision.shared; }),
        .messages = shares_memory &&
                    is_any_decision(blocking_, [](const Decision& decision) { return decision.algorithm != nullptr; })};
    if ((use.collectives || use.messages) && !make_segment(use) && use.collectives)
        has_failed_ = !has_memory_for([&] { blocking_ = make_decisions(placement, false); });
    const bool wants_single_copy = own_->node != nullptr && is_any_decision(blocking_, [](const Decision& decision) {
                                       return decision.single_copy != 0;
                                   });
    facts_.rooms = may_share_rooms() ? own_->rooms : nullptr;
    facts_.copies = nullptr;
    if (!wants_single_copy || !find_single_copy(settings().single_copy)) return;
    // What the rules say is for cores that are far apart; whom a setting asks for it gets it.
    if (has_facts() || settings().single_copy != SingleCopyWay::automatic || is_single_copy_faster()) return;
    has_failed_ = !has_memory_for([&] {
        for (std::size_t i = 0; i < collective_count; ++i)
            if (settings().choices[i].kind == AlgorithmChoice::Kind::automatic)
                for (SizeRange& range : blocking_[i]) range.decision.do_without_single_copy();
    });
}

}  // namespace hcoll
