#include "intercept/communicator/communicator.hpp"

#include <fmt/format.h>

#include <deque>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "intercept/communicator/process_group.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/log.hpp"
#include "intercept/types/datatype.hpp"
#include "topology/draw_placement.hpp"

namespace hcoll {

PerProcess<std::array<std::atomic<Communicator*>, Communicator::recent_count>> Communicator::recent_;
thread_local PerProcess<Communicator::Freeing*> Communicator::freeing_;

namespace {

struct Registry {
    std::mutex mutex;
    std::unordered_map<std::uintptr_t, Communicator*> by_key;
    std::deque<Communicator> states;
    std::vector<Communicator*> unused;
};

Registry& registry() {
    static auto* instance = new PerProcess<Registry>;
    return instance->get();
}

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// After so many calls a communicator is set up, or looked at for the first time.
std::uint64_t first_look(MPI_Comm handle, Reach reach, const Settings& settings) {
    constexpr std::uint64_t of_world = 5;
    constexpr std::uint64_t of_others = 10;
    // Until its ranks have compared their settings, none may depend on its own.
    if (reach == Reach::start) return of_world;
    if (settings.setup_calls != automatic_setup_calls) return settings.setup_calls;
    return handle == MPI_COMM_WORLD ? of_world : of_others;
}

// Does every rank wait for every other one in it, whatever the MPI library does?
bool waits_for_all(Collective collective, std::uint64_t bytes) {
    if (collective == Collective::barrier) return true;
    return bytes != 0 && (collective == Collective::allreduce || collective == Collective::allgather);
}

}  // namespace

// ---- found and counted ----

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
    if (const Communicator* state = find(handle); state != nullptr) return state->reach_ == Reach::world;
    int is_inter = 1;
    if (handle == MPI_COMM_NULL || mpi.Comm_test_inter(handle, &is_inter) != MPI_SUCCESS) return false;
    return is_inter == 0 && reach_of(handle) == Reach::world;
}

void Communicator::count_call(MPI_Comm handle, Collective collective, std::uint64_t bytes) {
    Communicator* state = find(handle);
    if (state == nullptr) state = attach(handle);
    if (state == nullptr || state->mode_ != Mode::counting) return;
    const Settings& settings = Process::get().agreed()->settings;
    // A communicator that is used for these alone, which no built-in rule takes from the vendor, needs no duplicate.
    if (state->reach_ == Reach::world && has_blocks(collective) && !settings.sparse &&
        settings.choice(collective).kind != AlgorithmChoice::Kind::own)
        return;
    ++state->calls_;
    state->bytes_ += bytes;
    if (state->calls_ >= state->look_at_ && waits_for_all(collective, bytes) && Process::get().own_mode())
        state->set_up(false);
}

void Communicator::set_up_now(MPI_Comm handle) {
    Communicator* state = find(handle);
    if (state == nullptr) state = attach(handle);
    if (state != nullptr && state->is_counting() && state->reach_ == Reach::world) state->set_up(true);
}

void Communicator::note_birth(MPI_Comm handle) {
    const Process& process = Process::get();
    if (handle == MPI_COMM_NULL || !process.has_world()) return;
    const Settings& settings = process.agreed()->settings;
    // The bits of the first call must not be the vendor's, and a rooted one sets nothing up.
    bool is_wanted = settings.setup_calls == 0 || settings.reproducible;
    if (handle == MPI_COMM_WORLD) {
        // Who asks for progress wants non-blocking collectives from the first one on, and those set nothing up.
        is_wanted = is_wanted || settings.progress == ProgressMode::thread || settings.progress == ProgressMode::calls;
        // Among neighbors no call may be the vendor's, which would open connections to others.
        is_wanted = is_wanted || settings.sparse;
    }
    if (is_wanted) set_up_now(handle);
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
    const Settings& settings = Process::get().agreed()->settings;
    state->handle_ = handle;
    state->calls_ = 0;
    state->bytes_ = 0;
    state->mode_ = Mode::counting;
    state->why_counting_ = reason::first_calls;
    state->reach_ = is_inter == 0 ? reach_of(handle) : Reach::beyond;
    state->look_at_ = first_look(handle, state->reach_, settings);
    if (is_inter != 0)
        state->give_to_vendor(reason::inter_communicator);
    else if (state->size_ == 1)
        state->give_to_vendor(reason::one_rank);
    else if (state->reach_ == Reach::beyond)
        state->give_to_vendor(reason::beyond);
    else if (state->reach_ == Reach::world && !settings.enable)
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

// ---- set up, used, given up ----

// `at_once`: a setting wants it, earned or not.
void Communicator::set_up(bool at_once) {
    const bool is_automatic = Process::get().agreed()->settings.setup_calls == automatic_setup_calls;
    SetUp::Result result{.why_vendor = reason::no_memory};
    try {
        result = SetUp({.handle = handle_,
                        .rank = rank_,
                        .size = size_,
                        .reach = reach_,
                        .is_watched = is_watched_,
                        .is_at_once = at_once || !is_automatic || reach_ == Reach::start || handle_ == MPI_COMM_WORLD,
                        .calls = calls_,
                        .bytes = bytes_,
                        .user = this})
                     .run();
    } catch (const std::bad_alloc&) {
        // What is agreed with the others is agreed before it can fail on one rank alone.
    }
    if (result.own != nullptr) return begin_own(*result.group, *result.own);
    if (result.why_vendor != nullptr) return give_to_vendor(result.why_vendor);
    look_at_ = 2 * calls_;
    why_counting_ = result.why_later;
}

// Calls run here from now on.
void Communicator::begin_own(ProcessGroup& group, OwnAlgorithms& own) {
    group_ = &group;
    own_ = &own;
    vendor_only_ = own.vendor_only;
    nonblocking_vendor_only_ = own.nonblocking_vendor_only;
    uses_before_ = own.uses;
    mode_ = Mode::own;
    if (rank_ == 0 && log_enabled(LogLevel::debug))
        log_line(LogLevel::debug,
                 fmt::format("a communicator of {} ranks is set up after {} calls: {}", size_, calls_,
                             own.neighbors.is_complete() ? "neighbors only" : placement_summary(*own.placement)));
}

void Communicator::give_to_vendor(const char* why) {
    mode_ = Mode::vendor;
    why_vendor_ = why;
}

void Communicator::let_go_of_own() {
    OwnAlgorithms* own = std::exchange(own_, nullptr);
    if (own == nullptr) return;
    vendor_only_ = {};
    nonblocking_vendor_only_ = {};
    known_type_ = MPI_DATATYPE_NULL;
    ProcessGroups::get().note_life(own->uses - uses_before_);
    ProcessGroups::get().hand_over(*std::exchange(group_, nullptr), *own, nullptr);
    // Nobody else will come for it, and the session may end.
    if (reach_ == Reach::start) ProcessGroups::get().free_unknown();
}

void Communicator::give_up_own() {
    let_go_of_own();
    mode_ = Mode::counting;
    why_counting_ = reason::limit;
    calls_ = 0;
    bytes_ = 0;
    // It had its turn: it has to be used much more to have one again.
    constexpr std::uint64_t patience = 64;
    look_at_ = patience;
}

// ---- freed ----

void Communicator::retire() {
    Registry& known = registry();
    const std::lock_guard lock(known.mutex);
    const std::uintptr_t key = key_.load(std::memory_order_relaxed);
    known.by_key.erase(key);
    key_.store(0, std::memory_order_relaxed);
    Communicator* expected = this;
    recent_.get()[recent_index(key)].compare_exchange_strong(expected, nullptr);
    handle_ = MPI_COMM_NULL;
    known.unused.push_back(this);
}

int Communicator::on_delete(MPI_Comm, int, void* value, void*) {
    auto* state = static_cast<Communicator*>(value);
    state->let_go_of_own();
    state->retire();
    return MPI_SUCCESS;
}

Communicator::Freeing::Freeing(MPI_Comm handle) : key_(key_of(handle)), outer_(freeing_.get()) {
    freeing_.get() = this;
    Communicator* state = find(handle);
    if (state == nullptr) return;
    state->let_go_of_own();
    state->give_to_vendor(reason::freed);
    if (!state->is_watched_) state->retire();
}

Communicator::Freeing::~Freeing() { freeing_.get() = outer_; }

void Communicator::note_revoked(MPI_Comm handle) {
    Communicator* state = find(handle);
    if (state == nullptr) return;
    if (state->own_ != nullptr) state->own_->revoke();
    state->give_to_vendor(reason::revoked);
}

void Communicator::release_all() {
    std::vector<Communicator*> left;
    {
        Registry& known = registry();
        const std::lock_guard lock(known.mutex);
        for (Communicator& state : known.states)
            if (state.own_ != nullptr) left.push_back(&state);
    }
    for (Communicator* state : left) {
        state->let_go_of_own();
        state->give_to_vendor(reason::freed);
    }
    ProcessGroups::get().free_all();
}

}  // namespace hcoll
