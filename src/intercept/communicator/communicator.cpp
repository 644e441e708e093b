#include "intercept/communicator/communicator.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_map>

#include "intercept/communicator/segment_use.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/world_ranks.hpp"
#include "intercept/types/datatype.hpp"
#include "topology/draw_placement.hpp"
#include "topology/place.hpp"

namespace hcoll {

PerProcess<std::array<std::atomic<Communicator*>, Communicator::recent_count>> Communicator::recent_;
thread_local PerProcess<Communicator::Freeing*> Communicator::freeing_;

namespace {

struct Registry {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, Communicator*> by_key;
    std::deque<Communicator> states;
    std::vector<Communicator*> unused;
    std::uint64_t duplicates = 0;
};

Registry& registry() {
    static auto* instance = new PerProcess<Registry>;
    return instance->get();
}

// Of all ranks of `parent`, or of some, by all of them; MPI_COMM_NULL where that fails, and on the others. Its errors return.
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
#if defined(HCOLL_FLAVOUR_SIMGRID)
    // Every simulated rank would have tables of all ranks for a duplicate, and simulated programs send no messages of their
    // own that ours could meet: SimGrid's collectives use tags below 0.
    return parent;
#else
    return make_communicator(parent, nullptr);
#endif
}

// The same on all ranks; true also where it cannot be told.
bool is_true_anywhere(bool here, MPI_Comm communicator) {
    const int mine = here ? 1 : 0;
    int anywhere = 1;
    return mpi.Allreduce(&mine, &anywhere, 1, MPI_INT, MPI_MAX, communicator) != MPI_SUCCESS || anywhere != 0;
}

// Of an intra-communicator, the same on all its ranks. Where sessions came before MPI_COMM_WORLD, a communicator of theirs may have
// been used before on some ranks and not on others, and cannot be told from one that was made of MPI_COMM_WORLD.
bool lies_within_world(MPI_Comm handle) {
    const Process& process = Process::get();
    if (!process.has_world() || (process.has_earlier_sessions() && handle != MPI_COMM_WORLD)) return false;
    return !world_ranks_of(handle).empty();
}

bool leaves_all_to_vendor(const DecisionTable& table) {
    for (const SizeRange& range : table)
        if (range.decision.is_own()) return false;
    return true;
}

}  // namespace

bool has_gpu_runtime() {
    for (const char* symbol : {"cuInit", "hipInit", "zeInit"})
        if (dlsym(RTLD_DEFAULT, symbol) != nullptr) return true;
    return false;
}

// It probes for what nobody sends, a message to itself with the last tag: where a probe finds something, the MPI
// libraries move nothing else.
void OwnAlgorithms::drive_vendor(void* own) {
    const auto* self = static_cast<OwnAlgorithms*>(own);
    int found = 0;
    mpi.Iprobe(self->rank, self->tag_upper_bound, self->duplicate, &found, MPI_STATUS_IGNORE);
    if (Background::calls_must_move()) Background::get().in_flight().drive();
}

void NonblockingCollectives::end(std::uint64_t number) {
    ended_[number % ended_.size()] = true;
    while (ended_[oldest_ % ended_.size()]) ended_[oldest_++ % ended_.size()] = false;
    under_way_.fetch_sub(1, std::memory_order_release);
}

Communicator* Communicator::find_slowly(MPI_Comm handle) {
    const std::uintptr_t key = key_of(handle);
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    const auto found = known.by_key.find(key);
    if (found == known.by_key.end()) return nullptr;
    recent_.get()[recent_index(key)].store(found->second, std::memory_order_release);
    return found->second;
}

bool Communicator::is_within_world(MPI_Comm handle) {
    if (const Communicator* state = find(handle); state != nullptr) return state->is_within_world_;
    int is_inter = 1;
    if (handle == MPI_COMM_NULL || mpi.Comm_test_inter(handle, &is_inter) != MPI_SUCCESS) return false;
    return is_inter == 0 && lies_within_world(handle);
}

void Communicator::set_up_now(MPI_Comm handle) {
    Communicator* state = find(handle);
    if (state == nullptr) state = attach(handle);
    if (state != nullptr && state->is_counting() && state->is_within_world_) state->set_up();
}

void Communicator::set_up_world() {
    const Process& process = Process::get();
    if (!process.has_world()) return;
    const Settings& settings = process.agreed()->settings;
    // Who asks for progress wants non-blocking collectives from the first one on, and those set nothing up.
    const bool asks_for_progress =
        settings.progress == ProgressMode::thread || settings.progress == ProgressMode::calls;
    // Among neighbors no call may be the vendor's, which would open connections to others.
    if (asks_for_progress || settings.sparse) set_up_now(MPI_COMM_WORLD);
}

void Communicator::count_call(MPI_Comm handle, Collective collective) {
    Communicator* state = find(handle);
    if (state == nullptr) state = attach(handle);
    if (state == nullptr || state->mode_ != Mode::counting) return;
    const Settings& settings = Process::get().agreed()->settings;
    // A communicator that is used for these alone, which no built-in rule takes from the vendor, needs no duplicate.
    if (state->is_within_world_ && has_blocks(collective) && !settings.sparse &&
        settings.choice(collective).kind != AlgorithmChoice::Kind::own)
        return;
    const std::uint64_t setup_calls = state->is_within_world_ ? settings.setup_calls : Settings{}.setup_calls;
    if (++state->calls_ >= setup_calls && Process::get().own_mode()) state->set_up();
}

// nullptr where no state can be had for it now.
Communicator* Communicator::attach(MPI_Comm handle) {
    if (Process::get().finished()) return nullptr;
    const std::uintptr_t key = key_of(handle);
    // A call from a delete function of the application: the vendor would never delete an attribute that is set now.
    for (const Freeing* freeing = freeing_.get(); freeing != nullptr; freeing = freeing->outer_)
        if (freeing->key_ == key) return nullptr;

    Registry& known = registry();
    Communicator* state = nullptr;
    {
        const std::lock_guard lock(known.mutex);
        if (known.unused.empty()) {
            state = &known.states.emplace_back();
        } else {
            state = known.unused.back();
            known.unused.pop_back();
        }
        known.by_key[key] = state;
    }
    int is_inter = 0;
    mpi.Comm_test_inter(handle, &is_inter);
    mpi.Comm_rank(handle, &state->rank_);
    mpi.Comm_size(handle, &state->size_);
    state->handle_ = handle;
    state->calls_ = 0;
    state->mode_ = Mode::counting;
    state->is_within_world_ = is_inter == 0 && lies_within_world(handle);
    if (is_inter != 0)
        state->give_to_vendor(reason::inter_communicator);
    else if (state->size_ == 1)
        state->give_to_vendor(reason::one_rank);
    else if (state->is_within_world_ && !Process::get().agreed()->settings.enable)
        state->give_to_vendor(reason::disabled);
    state->key_.store(key, std::memory_order_relaxed);
    if (is_inter == 0) Process::get().note_communicator(state->rank_, state->size_);
    state->is_watched_ = attach_deletion_hook(handle, on_delete, state) == MPI_SUCCESS;
    return state;
}

bool Communicator::is_valid_type(MPI_Datatype type) {
    if (type == known_type_) return true;
    if (check_type(type, own_->duplicate) != MPI_SUCCESS) return false;
    if (is_predefined_type(type)) known_type_ = type;
    return true;
}

void Communicator::give_to_vendor(const char* why) {
    mode_ = Mode::vendor;
    why_vendor_ = why;
}

// All ranks are here, in the same call. What differs between them (settings of processes that were not started together,
// room for one more duplicate) is made equal by the vendor's own collectives before anything depends on it.
void Communicator::set_up() {
    if (handle_ == MPI_COMM_WORLD && Process::get().agreed()->settings.sparse) return set_up_among_neighbors();
    const ErrorsReturn errors_return(handle_);
    // What follows blocks, and moves nothing that is in flight, on which another rank may depend before it comes here. When all
    // are here, nobody waits for anything else.
    if (Background::takes_collectives_apart() && is_within_world_) {
        const auto begin = [&](MPI_Request* request) { return mpi.Ibarrier(handle_, request); };
        if (begin_and_finish(MPI_STATUS_IGNORE, begin) != MPI_SUCCESS) return give_to_vendor(reason::no_context);
    }
    Process& process = Process::get();
    std::shared_ptr<const AgreedSettings> agreed = process.agreed();
    const bool has_room = has_room_for_duplicate(agreed->settings);
    enum { hash, inverse_hash, no_room, not_watched, beyond_world, device, no_progress, fewest_tags, fields };
    std::array<std::uint64_t, fields> mine = {agreed->hash,
                                              ~agreed->hash,
                                              has_room ? 0U : 1U,
                                              is_watched_ ? 0U : 1U,
                                              is_within_world_ ? 0U : 1U,
                                              has_gpu_runtime() ? 1U : 0U,
                                              Background::get().is_possible_on(is_within_world_) ? 0U : 1U,
                                              ~static_cast<std::uint64_t>(tag_upper_bound(handle_))};
    std::array<std::uint64_t, fields> all{};
    if (mpi.Allreduce(mine.data(), all.data(), fields, MPI_UINT64_T, MPI_MAX, handle_) != MPI_SUCCESS)
        return give_to_vendor(reason::no_context);
    const bool settings_differ = all[hash] != ~all[inverse_hash];
    if (settings_differ && process.broadcast_settings(handle_, rank_, agreed) != MPI_SUCCESS)
        return give_to_vendor(reason::no_context);
    if (rank_ == 0) process.print_warnings(true);

    if (!agreed->settings.enable) return give_to_vendor(reason::disabled);
    if (all[device] != 0) return give_to_vendor(reason::device);
    if (agreed->settings.leave_all_to_vendor()) return give_to_vendor(reason::settings);
    std::shared_ptr<const Placement> placement = find_placement(*agreed, all[beyond_world] == 0);
    if (placement == nullptr) return give_to_vendor(reason::no_context);
    DecisionTables decisions =
        make_decisions(agreed->settings, *placement, agreed->settings.shared_memory && placement->nodes() == 1);
    const bool has_progress = all[no_progress] == 0 && agreed->settings.progress != ProgressMode::off;
    NonblockingTables nonblocking = make_nonblocking_decisions(
        agreed->settings, *placement, has_progress, [&](bool here) { return is_true_anywhere(here, handle_); });
    if (std::all_of(decisions.begin(), decisions.end(), leaves_all_to_vendor) &&
        std::all_of(nonblocking.begin(), nonblocking.end(), leaves_all_to_vendor))
        return give_to_vendor(reason::settings);
    const char* why = all[not_watched] != 0 ? reason::not_watched : all[no_room] != 0 ? reason::limit : nullptr;
    if (why != nullptr) {
        if (rank_ == 0 && agreed->settings.reproducible)
            log_line(LogLevel::warn,
                     fmt::format("the bits of a communicator of {} ranks are the MPI library's, in spite of "
                                 "LIBHCOLL_REPRODUCIBLE=1: {}",
                                 size_, why));
        return give_to_vendor(why);
    }
    make_duplicate(*agreed, std::move(decisions), std::move(nonblocking), std::move(placement),
                   static_cast<int>(~all[fewest_tags]));
}

bool Communicator::has_room_for_duplicate(const Settings& settings) {
    const std::lock_guard lock(registry().mutex);
    return registry().duplicates < settings.communicators;
}

// `has_progress`: every rank can move what it begins. `is_true_anywhere` asks all ranks.
NonblockingTables Communicator::make_nonblocking_decisions(const Settings& settings, const Placement& placement,
                                                           bool has_progress,
                                                           const std::function<bool(bool)>& is_true_anywhere) const {
    NonblockingTables tables;
    const auto leave_to_vendor = [&] {
        tables.fill({{.decision = {.parameters = {}, .what = "vendor", .why = reason::no_progress}}});
    };
    if (!has_progress) {
        leave_to_vendor();
        return tables;
    }
    // Of the world the process knows more, of what lies beyond nobody does; in a virtual layout all may be on this node.
    const int ranks_of_node = is_within_world_ ? 0
                              : settings.topology.is_automatic()
                                  ? static_cast<int>(placement.ranks_of_node(placement.node_of(rank_)).size())
                                  : size_;
    for (std::size_t i = 0; i < nonblocking_count; ++i)
        tables[i] = make_nonblocking_table(settings, Process::vendor_kind(), static_cast<Collective>(i), placement,
                                           Background::get().progress_cores(ranks_of_node));
    if (std::all_of(tables.begin(), tables.end(), leaves_all_to_vendor)) return tables;
    if (is_true_anywhere(!Background::get().is_ready(ranks_of_node, rank_ == 0))) leave_to_vendor();
    return tables;
}

DecisionTables Communicator::make_decisions(const Settings& settings, const Placement& placement,
                                            bool has_shared_memory) const {
    DecisionTables decisions;
    for (std::size_t i = 0; i < collective_count; ++i)
        decisions[i] = make_decision_table(settings, Process::vendor_kind(), static_cast<Collective>(i), placement,
                                           has_shared_memory);
    return decisions;
}

// nullptr on all ranks alike where one of them has none.
std::shared_ptr<const Placement> Communicator::find_placement(const AgreedSettings& agreed, bool is_within_world) {
    // Among neighbors nobody has asked where ranks sit.
    if (is_within_world && agreed.settings.sparse) return std::make_shared<const Placement>(Placement::one_node(size_));
    std::shared_ptr<const Placement> placement = Process::get().placements().find({.communicator = handle_,
                                                                                   .rank = rank_,
                                                                                   .size = size_,
                                                                                   .is_within_world = is_within_world,
                                                                                   .layout = agreed.settings.topology});
    return is_true_anywhere(placement == nullptr, handle_) ? nullptr : placement;
}

// Not MPI_Comm_dup: that would call the application's attribute copy functions.
void Communicator::make_duplicate(const AgreedSettings& agreed, DecisionTables decisions, NonblockingTables nonblocking,
                                  std::shared_ptr<const Placement> placement, int tag_upper_bound) {
    MPI_Comm duplicate = make_own_communicator(handle_);
    if (is_true_anywhere(duplicate == MPI_COMM_NULL, handle_)) {
        if (rank_ == 0)
            log_line(agreed.settings.reproducible ? LogLevel::warn : LogLevel::info,
                     fmt::format("a communicator of {} ranks stays with the vendor: {}", size_, reason::no_context));
        // If some rank has none, freeing it, which is collective, could wait for ever: it is left alone.
        return give_to_vendor(reason::no_context);
    }
    const auto is_wanted = [&](auto&& by) {
        return std::any_of(decisions.begin(), decisions.end(), [&](const DecisionTable& table) {
            return std::any_of(table.begin(), table.end(), [&](const SizeRange& range) { return by(range.decision); });
        });
    };
    const bool wants_leaders =
        placement->nodes() > 1 && is_wanted([](const Decision& decision) { return decision.wants_leaders(); });
    MPI_Comm leaders = MPI_COMM_NULL;
    // Without it, those algorithms use the library's own trees, on all ranks alike.
    if (wants_leaders && !make_leaders(duplicate, *placement, leaders))
        for (DecisionTable& table : decisions)
            for (SizeRange& range : table) range.decision.do_without_leaders();
    own_ = std::make_unique<OwnAlgorithms>(duplicate, rank_, Carriers(duplicate), tag_upper_bound, agreed.settings,
                                           std::move(placement), leaders);
    const SegmentUse use{.collectives = is_wanted([](const Decision& decision) { return decision.shared; }),
                         .messages = agreed.settings.shared_memory && own_->placement->most_ranks_of_a_node() > 1 &&
                                     is_wanted([](const Decision& decision) { return decision.algorithm != nullptr; })};
    if ((use.collectives || use.messages) && !make_segment(agreed.settings, use) && use.collectives)
        decisions = make_decisions(agreed.settings, *own_->placement, false);
    const bool wants_single_copy =
        own_->node != nullptr && is_wanted([](const Decision& decision) { return decision.single_copy != 0; });
    // What the rules say is for cores that are far apart; whom a setting asks for it gets it.
    if (wants_single_copy && find_single_copy(agreed.settings.single_copy) &&
        agreed.settings.single_copy == SingleCopyWay::automatic && !is_single_copy_faster())
        for (std::size_t i = 0; i < collective_count; ++i)
            if (agreed.settings.choices[i].kind == AlgorithmChoice::Kind::automatic)
                for (SizeRange& range : decisions[i]) range.decision.do_without_single_copy();
    begin_own(std::move(decisions), std::move(nonblocking));
}

// Calls run here from now on.
void Communicator::begin_own(DecisionTables decisions, NonblockingTables nonblocking) {
    for (DecisionTable& table : decisions)
        for (SizeRange& range : table) range.decision.note_order(*own_->placement);
    own_->decisions = std::move(decisions);
    own_->nonblocking.decisions = std::move(nonblocking);
    for (std::size_t i = 0; i < nonblocking_count; ++i) {
        const DecisionTable& table = own_->nonblocking.decisions[i];
        nonblocking_vendor_only_[i] = leaves_all_to_vendor(table) ? table.front().decision.why.c_str() : nullptr;
    }
    for (std::size_t i = 0; i < collective_count; ++i)
        vendor_only_[i] =
            leaves_all_to_vendor(own_->decisions[i]) ? own_->decisions[i].front().decision.why.c_str() : nullptr;
    mode_ = Mode::own;
    {
        const std::lock_guard lock(registry().mutex);
        ++registry().duplicates;
    }
    if (rank_ == 0 && log_enabled(LogLevel::debug))
        log_line(LogLevel::debug,
                 fmt::format("a communicator of {} ranks is set up after {} calls: {}", size_, calls_,
                             own_->neighbors.is_complete() ? "neighbors only" : placement_summary(*own_->placement)));
}

// False, on all ranks alike, where one of the leaders has none.
bool Communicator::make_leaders(MPI_Comm duplicate, const Placement& placement, MPI_Comm& leaders) const {
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(placement.nodes()));
    for (int node = 0; node < placement.nodes(); ++node) ranks.push_back(placement.ranks_of_node(node).front());
    leaders = make_communicator(duplicate, &ranks);
    const bool leads = placement.index_on_node(rank_) == 0;
    if (!is_true_anywhere(leads && leaders == MPI_COMM_NULL, duplicate)) return true;
    // Freeing one that some leader lacks could wait for ever: it is left alone.
    leaders = MPI_COMM_NULL;
    return false;
}

void Communicator::free_duplicate() {
    if (own_ == nullptr) return;
    // All ranks have begun them, or will before they free the communicator.
    while (own_->nonblocking.any_under_way()) Background::get().help();
    // Requests of persistent collectives outlive the communicator, and each rank frees its own when it likes.
    if (own_->nonblocking.has_persistent()) {
        (void)own_.release();
        return;
    }
    // The duplicate's ranks are those of the application's communicator, and all of them are freeing that one.
    if (own_->neighbors.is_complete()) {
        own_->neighbors.free();
        own_->duplicate = MPI_COMM_NULL;
    }
    for (MPI_Comm* each : {&own_->leaders, &own_->duplicate})
        if (*each != MPI_COMM_NULL && *each != handle_)
            if (const int status = mpi.Comm_free(each); status != MPI_SUCCESS)
                log_line(LogLevel::warn, fmt::format("a duplicate cannot be freed (MPI error {})", status));
    own_.reset();
    const std::lock_guard lock(registry().mutex);
    --registry().duplicates;
}

void Communicator::retire() {
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    const std::uintptr_t key = key_.load(std::memory_order_relaxed);
    known.by_key.erase(key);
    key_.store(0, std::memory_order_relaxed);
    Communicator* expected = this;
    recent_.get()[recent_index(key)].compare_exchange_strong(expected, nullptr);
    vendor_only_ = {};
    nonblocking_vendor_only_ = {};
    known_type_ = MPI_DATATYPE_NULL;
    handle_ = MPI_COMM_NULL;
    known.unused.push_back(this);
}

int Communicator::on_delete(MPI_Comm, int, void* value, void*) {
    auto* state = static_cast<Communicator*>(value);
    state->free_duplicate();
    state->retire();
    return MPI_SUCCESS;
}

Communicator::Freeing::Freeing(MPI_Comm handle) : key_(key_of(handle)), outer_(freeing_.get()) {
    freeing_.get() = this;
    Communicator* state = find(handle);
    if (state == nullptr) return;
    state->free_duplicate();
    state->give_to_vendor(reason::freed);
    if (!state->is_watched_) state->retire();
}

Communicator::Freeing::~Freeing() { freeing_.get() = outer_; }

void Communicator::release_all() {
    std::vector<Communicator*> left;
    {
        Registry& known = registry();
        const std::lock_guard lock(known.mutex);
        for (Communicator& state : known.states)
            if (state.own_ != nullptr) left.push_back(&state);
    }
    for (Communicator* state : left) {
        state->free_duplicate();
        state->give_to_vendor(reason::freed);
    }
}

}  // namespace hcoll
