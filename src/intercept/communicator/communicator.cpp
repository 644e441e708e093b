// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/communicator.hpp"

#include <hcoll/hcoll.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "intercept/communicator/chosen_calls.hpp"
#include "intercept/communicator/process_group.hpp"
#include "intercept/communicator/set_up.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/errors_return.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/taken_apart.hpp"
#include "intercept/process/together.hpp"
#include "intercept/types/datatype.hpp"
#include "topology/draw_placement.hpp"
#include "tuning/rules.hpp"

namespace hcoll {

PerProcess<std::array<std::atomic<Communicator*>, Communicator::recent_count>> Communicator::recent_;

// By value: an error handler of the application's may jump out of MPI_Comm_free, and leave one here for ever.
class Communicator::InFreeing {
public:
    void enter(std::uintptr_t key) {
        leave(key);
        last_[next_++ % last_.size()] = key;
    }
    void leave(std::uintptr_t key) { std::replace(last_.begin(), last_.end(), key, nobody); }
    bool has(std::uintptr_t key) const { return std::find(last_.begin(), last_.end(), key) != last_.end(); }

private:
    static constexpr std::uintptr_t nobody = 0;
    std::array<std::uintptr_t, 16> last_{};  // more than delete functions free within one another
    std::size_t next_ = 0;
};

thread_local PerProcess<Communicator::InFreeing> Communicator::in_freeing_;

// By key, and those that nobody uses.
struct Communicator::Registry {
    static constexpr std::size_t chains = 1024;

    Communicator*& chain_of(std::uintptr_t key) { return by_key[(key ^ (key >> 10U)) % chains]; }
    Communicator* find(std::uintptr_t key) {
        Communicator* state = chain_of(key);
        while (state != nullptr && state->key_.load(std::memory_order_relaxed) != key) state = state->next_;
        return state;
    }
    static void put(Communicator*& first, Communicator& state) { state.next_ = std::exchange(first, &state); }
    // Keeps one in reserve where it can: what fails here fails on this rank alone. nullptr where there is none.
    Communicator* take() {
        const bool is_last = unused == nullptr || unused->next_ == nullptr;
        if (Communicator* made = is_last ? new (std::nothrow) Communicator : nullptr; made != nullptr) return made;
        Communicator* state = unused;
        if (state != nullptr) unused = state->next_;
        return state;
    }
    void remove(Communicator& state) {
        Communicator** link = &chain_of(state.key_.load(std::memory_order_relaxed));
        while (*link != &state) link = &(*link)->next_;
        *link = state.next_;
    }

    // One that runs own algorithms; nullptr where none does.
    Communicator* find_own() {
        const std::lock_guard lock(mutex);
        for (Communicator* state : by_key)
            for (; state != nullptr; state = state->next_)
                if (state->own_ != nullptr) return state;
        return nullptr;
    }

    std::mutex mutex;
    std::array<Communicator*, chains> by_key{};
    Communicator* unused = nullptr;
    DeletionHooks deletion_hooks{on_delete};
};

PerProcess<Communicator::Registry> Communicator::registry_;

namespace {

// May a setting, a table or, if they are on one node, a built-in rule have calls of that collective on so many ranks run here?
bool may_run_here(Collective collective, const Settings& settings, int ranks) {
    const AlgorithmChoice::Kind kind = settings.choice(collective).kind;
    if (kind != AlgorithmChoice::Kind::automatic) return kind != AlgorithmChoice::Kind::vendor;
    if (settings.table != nullptr && settings.table->says_of[static_cast<std::size_t>(collective)]) return true;
    return settings.shared_memory && may_have_rule_on_a_node(Process::vendor_kind(), collective, ranks);
}

// It was a hint, and what runs is as it was.
constexpr const char* no_memory_for_info = "there is no memory on some rank; nothing changes";
constexpr std::size_t most_answer = 250;

Decision vendor_for(const char* why) {
    AlgorithmChoice vendor;
    vendor.kind = AlgorithmChoice::Kind::vendor;
    return decision_of(vendor, why);
}

// After so many calls a communicator is set up, or looked at for the first time.
std::uint64_t first_look(MPI_Comm handle, Reach reach, const Settings& settings) {
    constexpr std::uint64_t of_world = 5;
    constexpr std::uint64_t of_others = 10;
    // Until its ranks have compared their settings, none may depend on its own.
    if (reach == Reach::start) return of_world;
    if (settings.setup_calls != automatic_setup_calls) return settings.setup_calls;
    return handle == MPI_COMM_WORLD ? of_world : of_others;
}

}  // namespace

// ---- found and counted ----

Communicator* Communicator::find_slowly(MPI_Comm handle) {
    const std::uintptr_t key = key_of(handle);
    Registry& known = registry_.get();
    const std::lock_guard lock(known.mutex);
    Communicator* found = known.find(key);
    if (found != nullptr) recent_.get()[recent_index(key)].store(found, std::memory_order_release);
    return found;
}

bool Communicator::is_within_world(MPI_Comm handle) {
    if (const Communicator* state = find(handle); state != nullptr) return state->reach_ == Reach::world;
    int is_inter = 1;
    if (handle == MPI_COMM_NULL || mpi.Comm_test_inter(handle, &is_inter) != MPI_SUCCESS) return false;
    return is_inter == 0 && reach_of(handle) == Reach::world;
}

int Communicator::count_call(MPI_Comm handle, Collective collective, std::uint64_t bytes) {
    Communicator* state = nullptr;
    if (const int status = attach(handle, state); status != MPI_SUCCESS) return status;
    if (state == nullptr || state->mode_ != Mode::counting) return MPI_SUCCESS;
    const Settings& settings = Process::get().agreed()->settings;
    // A communicator that is used for these alone needs nothing where nothing can take them from the vendor.
    if (state->reach_ == Reach::world && has_blocks(collective) && !settings.sparse &&
        !may_run_here(collective, settings, state->size_))
        return MPI_SUCCESS;
    ++state->calls_;
    state->bytes_ += bytes;
    if (state->calls_ >= state->look_at_ && waits_for_all(collective, bytes) && Process::get().own_mode())
        state->set_up(false);
    return MPI_SUCCESS;
}

Communicator* Communicator::know(MPI_Comm handle) {
    if (!is_within_world(handle)) return nullptr;
    Communicator* state = nullptr;
    if (attach(handle, state) != MPI_SUCCESS || state == nullptr) return nullptr;
    return state->size_ > 1 ? state : nullptr;
}

int Communicator::set_up_now(MPI_Comm handle) {
    Communicator* state = nullptr;
    const int status = attach(handle, state);
    if (state != nullptr && state->is_counting() && state->reach_ == Reach::world) state->set_up(true);
    return status;
}

int Communicator::note_birth(MPI_Comm handle) {
    const Process& process = Process::get();
    if (handle == MPI_COMM_NULL) return MPI_SUCCESS;
    in_freeing_.get().leave(key_of(handle));
    if (!process.has_world()) return MPI_SUCCESS;
    const Settings& settings = process.agreed()->settings;
    // The bits of the first call must not be the vendor's, and a rooted one sets nothing up.
    bool is_wanted = settings.setup_calls == 0 || settings.reproducible;
    if (handle == MPI_COMM_WORLD) {
        // Who asks for progress wants non-blocking collectives from the first one on, and those set nothing up.
        is_wanted = is_wanted || settings.progress == ProgressMode::thread || settings.progress == ProgressMode::calls;
        // Among neighbors no call may be the vendor's, which would open connections to others.
        is_wanted = is_wanted || settings.sparse;
    }
    return is_wanted ? set_up_now(handle) : MPI_SUCCESS;
}

void Communicator::prepare() {
    Registry& known = registry_.get();
    const std::lock_guard lock(known.mutex);
    if (known.unused == nullptr) known.unused = new Communicator;
    ProcessGroups::get();
}

// Finds its state, or makes one; none where the vendor would not tell when it is freed.
int Communicator::attach(MPI_Comm handle, Communicator*& state) {
    state = find(handle);
    if (state != nullptr || Process::get().finished()) return MPI_SUCCESS;
    const std::uintptr_t key = key_of(handle);
    // A call from a delete function of the application: the vendor would never delete an attribute that is set now.
    if (in_freeing_.get().has(key)) return MPI_SUCCESS;

    Registry& known = registry_.get();
    {
        const std::lock_guard lock(known.mutex);
        state = known.take();
    }
    if (state == nullptr) return MPI_ERR_NO_MEM;
    int is_inter = 0;
    mpi.Comm_test_inter(handle, &is_inter);
    mpi.Comm_rank(handle, &state->rank_);
    mpi.Comm_size(handle, &state->size_);
    const AgreedSettings& agreed = *Process::get().agreed();
    const Settings& settings = agreed.settings;
    state->handle_ = handle;
    state->observed_calls_ = 0;
    state->watched_as_ = WatchRecord::unknown;
    state->traced_as_ = -1;
    state->made_ = 0;
    state->calls_ = 0;
    state->bytes_ = 0;
    state->mode_ = Mode::counting;
    state->why_vendor_ = nullptr;
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
        state->give_to_vendor(agreed.why_disabled);
    {
        const std::lock_guard lock(known.mutex);
        // Another thread, in a call of some of its ranks, may have been first.
        if (Communicator* other = known.find(key)) {
            Registry::put(known.unused, *std::exchange(state, other));
            return MPI_SUCCESS;
        }
        state->key_.store(key, std::memory_order_relaxed);
        Registry::put(known.chain_of(key), *state);
    }
    if (is_inter == 0) {
        Process::get().note_communicator(state->rank_, state->size_);
        if (state->rank_ == 0 && state->size_ > 1) Process::get().tell_what_awaits_world();
    }
    const bool keeps_key = !is_simulated && Background::get().is_entered();
    state->is_watched_ = known.deletion_hooks.attach(handle, state, keeps_key) == MPI_SUCCESS;
    return MPI_SUCCESS;
}

int Communicator::check_type(MPI_Datatype type) {
    if (type == known_type_) return MPI_SUCCESS;
    const int error_class = hcoll::check_type(type, own_->duplicate);
    if (error_class == MPI_SUCCESS && is_predefined_type(type)) known_type_ = type;
    return error_class;
}

// ---- asked to run something ----

int Communicator::note_info(MPI_Comm handle, MPI_Info info) {
    // An MPI library need not have ranks wait for one another there, and a program may count on that.
    if (!ChosenCalls::are_in(info)) return MPI_SUCCESS;
    Communicator* state = nullptr;
    if (const int status = attach(handle, state); status != MPI_SUCCESS) return status;
    std::vector<std::string> mistakes;
    const char* refused = nullptr;
    if (state == nullptr || state->reach_ != Reach::world || state->size_ == 1 ||
        !Process::get().agreed()->settings.enable)
        refused = state == nullptr || state->why_vendor_ == nullptr ? reason::beyond : state->why_vendor_;
    else if (const int status = state->take_info(info, mistakes, refused); status != MPI_SUCCESS)
        return status;
    if (refused == nullptr) refused = mistakes.empty() ? HCOLL_ANSWER_TAKEN : mistakes.front().c_str();
    answer(info, refused);
    return MPI_SUCCESS;
}

// Where it is asked for one.
void Communicator::answer(MPI_Info info, std::string_view text) {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int is_asked = 0;
    if (info == MPI_INFO_NULL || is_simulated) return;
    if (mpi.Info_get(info, HCOLL_INFO_ANSWER, MPI_MAX_INFO_VAL, value.data(), &is_asked) != MPI_SUCCESS ||
        is_asked == 0)
        return;
    value = {};
    text.copy(value.data(), std::min<std::size_t>(MPI_MAX_INFO_VAL - 1, most_answer));
    mpi.Info_set(info, HCOLL_INFO_ANSWER, value.data());
}

// Runs what it asks for, on all ranks alike. What is not run, and why, is added to `mistakes`, which rank 0 says; `refused`: why nothing is.
int Communicator::take_info(MPI_Info info, std::vector<std::string>& mistakes, const char*& refused) {
    const Settings& settings = Process::get().agreed()->settings;
    ChosenCalls chosen;
    std::shared_ptr<ChosenCalls> all_chosen;
    std::uint64_t hash = 0;
    const bool has_memory = has_memory_for([&] {
        chosen = ChosenCalls::of(info, mistakes);
        all_chosen = chosen_ == nullptr ? std::make_shared<ChosenCalls>() : std::make_shared<ChosenCalls>(*chosen_);
        all_chosen->add(chosen);
        hash = chosen.hash();
    });
    // Its edges are made in MPI_Init alone: later a message on it could be received by the application.
    if (settings.sparse && handle_ == MPI_COMM_WORLD) {
        if (chosen.is_empty()) return MPI_SUCCESS;
        refused = "MPI_COMM_WORLD keeps to neighbors (LIBHCOLL_SPARSE=1) and runs what the settings say";
        if (rank_ == 0) log_line(LogLevel::warn, "MPI_Comm_set_info: {}", refused);
        return MPI_SUCCESS;
    }
    // Has any rank something to ask for, and do all ask for the same?
    const ErrorsReturn errors_return(handle_);
    const std::array<std::uint64_t, 4> mine = {hash, ~hash, chosen.is_empty() ? 0U : 1U, has_memory ? 0U : 1U};
    std::array<std::uint64_t, 4> all{};
    if (const int status = find_largest(mine, all.data(), handle_); status != MPI_SUCCESS) return status;
    if (all[3] != 0)
        refused = no_memory_for_info;
    else if (all[0] != ~all[1])
        refused = "the ranks do not ask for the same; nothing changes";
    if (rank_ == 0) {
        for (const std::string& mistake : mistakes) log_line(LogLevel::warn, mistake);
        if (refused != nullptr) log_line(LogLevel::warn, "MPI_Comm_set_info: {}", refused);
    }
    if (refused == nullptr && all[2] != 0) refused = choose(chosen, all_chosen, mistakes);
    return MPI_SUCCESS;
}

// Is there on every rank what moves a collective that does not block? It is begun where it is not yet there. All ranks are in the same call.
bool Communicator::has_progress_everywhere() const {
    bool is_ready = false;
    const bool has_memory = has_memory_for([&] {
        constexpr int of_the_world = 0;  // which the process knows
        Background& background = Background::get();
        is_ready = background.is_possible_on(reach_ == Reach::world) && background.is_ready(of_the_world, rank_ == 0);
    });
    return !is_true_anywhere(!has_memory || !is_ready, handle_);
}

// Runs `all_chosen`, in which `chosen` is new. Why not, where nothing changes.
const char* Communicator::choose(const ChosenCalls& chosen, const std::shared_ptr<ChosenCalls>& all_chosen,
                                 std::vector<std::string>& mistakes) {
    if (own_ == nullptr || !own_->has_everything) {
        let_go_of_own();
        mode_ = Mode::counting;
        set_up(true, true);
    }
    if (own_ == nullptr || !own_->has_everything) {
        const char* why = mode_ == Mode::vendor ? why_vendor_ : why_counting_;
        if (rank_ == 0)
            log_line(LogLevel::warn, "MPI_Comm_set_info: a communicator of {} ranks stays with the MPI library: {}",
                     size_, why);
        return why;
    }
    const bool has_progress = !all_chosen->wants_progress() || has_progress_everywhere();
    std::shared_ptr<const CallDecisions> decisions;
    const std::shared_ptr<const CallDecisions> usual =
        own_->usual_decisions == nullptr ? own_->decisions : own_->usual_decisions;
    std::vector<std::string> cannot_run;
    const bool has_memory = has_memory_for([&] {
        (void)chosen.over(*usual, *own_, has_progress, cannot_run);
        std::vector<std::string> told_before;
        decisions = all_chosen->over(*usual, *own_, has_progress, told_before);
    });
    if (is_true_anywhere(!has_memory, handle_)) {
        if (rank_ == 0) log_line(LogLevel::warn, "MPI_Comm_set_info: {}", no_memory_for_info);
        return no_memory_for_info;
    }
    own_->usual_decisions = usual;
    chosen_ = all_chosen;
    own_->decide_by(decisions);
    vendor_only_ = own_->decisions->vendor_only;
    nonblocking_vendor_only_ = own_->decisions->nonblocking_vendor_only;
    for (std::string& mistake : cannot_run) {
        if (rank_ == 0) log_line(LogLevel::warn, mistake);
        (void)has_memory_for([&] { mistakes.push_back(std::move(mistake)); });
    }
    return nullptr;
}

std::shared_ptr<const CallDecisions> Communicator::decisions_without(Collective collective,
                                                                     std::string_view what) const {
    DecisionTables blocking = own_->decisions->blocking;
    for (SizeRange& range : blocking[static_cast<std::size_t>(collective)]) {
        Decision& decision = range.decision;
        if (decision.what == what) decision = vendor_for(reason::wrong_result);
        if (decision.next_best != nullptr && decision.next_best->what == what) decision.next_best = nullptr;
    }
    return std::make_shared<const CallDecisions>(std::move(blocking), own_->decisions->nonblocking, TrialTables{},
                                                 *own_->placement);
}

std::shared_ptr<const CallDecisions> Communicator::decisions_without_nonblocking(Collective collective) const {
    NonblockingTables nonblocking = own_->decisions->nonblocking;
    nonblocking[static_cast<std::size_t>(collective)] = {{.decision = vendor_for(reason::wrong_result)}};
    return std::make_shared<const CallDecisions>(own_->decisions->blocking, std::move(nonblocking), TrialTables{},
                                                 *own_->placement);
}

void Communicator::run_without(std::shared_ptr<const CallDecisions> decisions) {
    if (decisions == nullptr) return give_to_vendor(reason::wrong_result);
    if (own_->usual_decisions == nullptr) own_->usual_decisions = own_->decisions;
    own_->decide_by(std::move(decisions));
    vendor_only_ = own_->decisions->vendor_only;
    nonblocking_vendor_only_ = own_->decisions->nonblocking_vendor_only;
}

// ---- set up, used, given up ----

// `at_once`: a setting wants it, earned or not.
void Communicator::set_up(bool at_once, bool with_everything) {
    const bool is_automatic = Process::get().agreed()->settings.setup_calls == automatic_setup_calls;
    SetUp::Result result{.why_vendor = reason::no_memory};
    try {
        result = SetUp({.handle = handle_,
                        .rank = rank_,
                        .size = size_,
                        .reach = reach_,
                        .is_watched = is_watched_,
                        .is_at_once = at_once || !is_automatic || reach_ == Reach::start || handle_ == MPI_COMM_WORLD,
                        .wants_everything = with_everything,
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
    own.served.begin(handle_);
    vendor_only_ = own.decisions->vendor_only;
    nonblocking_vendor_only_ = own.decisions->nonblocking_vendor_only;
    uses_before_ = own.uses;
    mode_ = Mode::own;
    if (rank_ != 0 || !log_enabled(LogLevel::debug)) return;
    (void)has_memory_for([&] {
        log_line(LogLevel::debug, "a communicator of {} ranks is set up after {} calls: {}", size_, calls_,
                 own.neighbors.is_complete() ? "neighbors only" : placement_summary(*own.placement));
        if (own.shared_duplicate != nullptr)
            log_line(LogLevel::debug,
                     "its messages have tags from {} on, on duplicate {}, where there are tags for {} communicators",
                     own.tags.first, own.shared_duplicate->number(), own.shared_duplicate->places());
    });
}

void Communicator::give_to_vendor(const char* why) {
    mode_ = Mode::vendor;
    why_vendor_ = why;
}

void Communicator::let_go_of_own() {
    OwnAlgorithms* own = std::exchange(own_, nullptr);
    if (own == nullptr) return;
    own->served.end(own->nonblocking.any_under_way());
    vendor_only_ = {};
    nonblocking_vendor_only_ = {};
    known_type_ = MPI_DATATYPE_NULL;
    if (own->usual_decisions != nullptr) own->decide_by(std::exchange(own->usual_decisions, nullptr));
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
    Registry& known = registry_.get();
    const std::lock_guard lock(known.mutex);
    const std::uintptr_t key = key_.load(std::memory_order_relaxed);
    known.remove(*this);
    key_.store(0, std::memory_order_relaxed);
    Communicator* expected = this;
    recent_.get()[recent_index(key)].compare_exchange_strong(expected, nullptr);
    handle_ = MPI_COMM_NULL;
    chosen_ = nullptr;
    if (watched_as_ != WatchRecord::unknown)
        WatchRecord::get()->forget(std::exchange(watched_as_, WatchRecord::unknown));
    Registry::put(known.unused, *this);
}

int Communicator::on_delete(MPI_Comm, int, void* value, void*) {
    auto* state = static_cast<Communicator*>(value);
    state->let_go_of_own();
    state->retire();
    return MPI_SUCCESS;
}

Communicator::Freeing::Freeing(MPI_Comm handle) : key_(key_of(handle)) {
    HeldHandler::give_back();
    in_freeing_.get().enter(key_);
    Communicator* state = find(handle);
    if (state == nullptr) return;
    state->let_go_of_own();
    state->give_to_vendor(reason::freed);
    if (!state->is_watched_) state->retire();
}

Communicator::Freeing::~Freeing() { in_freeing_.get().leave(key_); }

void Communicator::note_revoked(MPI_Comm handle) {
    Communicator* state = find(handle);
    if (state == nullptr) return;
    if (state->own_ != nullptr) state->own_->revoke();
    state->give_to_vendor(reason::revoked);
}

void Communicator::forget_key() { registry_.get().deletion_hooks.forget_key(); }

void Communicator::release_all() {
    while (Communicator* left = registry_.get().find_own()) {
        left->let_go_of_own();
        left->give_to_vendor(reason::freed);
    }
    ProcessGroups::get().free_all();
}

}  // namespace hcoll
