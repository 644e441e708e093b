#include "watch/watch_record.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/hash.hpp"

namespace hcoll {

std::atomic<WatchRecord*> WatchRecord::instance_{nullptr};

namespace {

double seconds_between(WatchRecord::Clock::time_point from, WatchRecord::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

WatchRecord::WatchRecord(int rank, std::string host) : rank_(rank), host_(std::move(host)), last_end_(Clock::now()) {}

WatchRecord& WatchRecord::make(int rank, std::string host) {
    auto* made = new WatchRecord(rank, std::move(host));
    instance_.store(made, std::memory_order_release);
    WaitNote::expect();
    return *made;
}

int WatchRecord::know(std::string name, const std::vector<int>& members) {
    std::vector<RankRange> ranges = ranges_of(members);
    std::string bytes(reinterpret_cast<const char*>(members.data()), members.size() * sizeof(int));
    const std::uint64_t group = fnv1a(bytes);
    const std::lock_guard lock(mutex_);
    // Ranks use communicators of the same processes for the first time in the same order, in most programs.
    std::uint32_t before = 0;
    if (const auto found = communicators_of_group_.find(group); found != communicators_of_group_.end())
        before = found->second++;
    else if (communicators_of_group_.size() < most_groups)
        communicators_of_group_.emplace(group, 1);
    auto place = std::find_if(known_.begin(), known_.end(), [](const Known& each) { return !each.is_used; });
    if (place == known_.end()) place = known_.insert(known_.end(), Known{});
    *place = {.is_used = true,
              .key = group + before,
              .name = std::move(name),
              .members = std::move(ranges),
              .last_use = ++uses_};
    return static_cast<int>(place - known_.begin());
}

void WatchRecord::forget(int communicator) {
    const std::lock_guard lock(mutex_);
    known_[static_cast<std::size_t>(communicator)].is_used = false;
}

int WatchRecord::take_slot() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.is_used) continue;
        slot.is_used = true;
        slot.counts = false;
        slot.function = nullptr;
        slot.communicator = unknown;
        slot.runs[0] = 0;
        slot.since = Clock::now();
        slot.note.clear();
        return static_cast<int>(i);
    }
    return no_slot;
}

int WatchRecord::begin(int communicator, const CallDescription& call, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    Known& known = known_[static_cast<std::size_t>(communicator)];
    known.entered = number;
    known.last_use = ++uses_;
    if (call.form != CallForm::blocking) has_begun_nonblocking_ = true;
    const int index = take_slot();
    if (index == no_slot) return index;
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    slot.counts = true;
    slot.communicator = communicator;
    slot.number = number;
    slot.call = call;
    return index;
}

int WatchRecord::begin(const char* function, bool may_wait_for_collectives) {
    const std::lock_guard lock(mutex_);
    const int index = take_slot();
    if (index == no_slot) return index;
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    slot.counts = may_wait_for_collectives && has_begun_nonblocking_;
    slot.function = function;
    return index;
}

void WatchRecord::decide(int slot, std::string_view what) {
    if (slot == no_slot) return;
    const std::lock_guard lock(mutex_);
    auto& runs = slots_[static_cast<std::size_t>(slot)].runs;
    runs[what.copy(runs.data(), runs.size() - 1)] = 0;
}

void WatchRecord::end(int slot, bool is_void) {
    if (slot == no_slot) return;
    const std::lock_guard lock(mutex_);
    Slot& ended = slots_[static_cast<std::size_t>(slot)];
    ended.is_used = false;
    last_end_ = Clock::now();
    if (ended.communicator == unknown) return;
    Known& known = known_[static_cast<std::size_t>(ended.communicator)];
    if (is_void) {
        --known.entered;
        return;
    }
    Past& past = past_[ended_++ % past_calls];
    past.key = known.key;
    past.name.assign(known.name);
    past.number = ended.number;
    past.call = ended.call;
    past.runs = ended.runs;
    past.since = ended.since;
    past.end = last_end_;
}

void WatchRecord::note_finalized() {
    const std::lock_guard lock(mutex_);
    has_finalized_ = true;
}

std::optional<WatchRecord::Clock::time_point> WatchRecord::oldest_call(Clock::time_point after) const {
    const std::lock_guard lock(mutex_);
    std::optional<Clock::time_point> oldest;
    for (const Slot& slot : slots_)
        if (slot.is_used && slot.counts && slot.since > after && (!oldest || slot.since < *oldest)) oldest = slot.since;
    return oldest;
}

std::string WatchRecord::text_of(const Slot& slot) {
    return slot.function != nullptr ? slot.function : function_name(slot.call.collective, slot.call.form);
}

std::string WatchRecord::oldest_call_text() const {
    const std::lock_guard lock(mutex_);
    const Slot* oldest = nullptr;
    for (const Slot& slot : slots_)
        if (slot.is_used && slot.counts && (oldest == nullptr || slot.since < oldest->since)) oldest = &slot;
    return oldest == nullptr ? "no call" : text_of(*oldest);
}

RankState WatchRecord::state() const {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    RankState state{.rank = rank_,
                    .process = static_cast<int>(getpid()),
                    .host = host_,
                    .has_finalized = has_finalized_,
                    .outside = seconds_between(last_end_, now)};
    // Those used last, and those that a call is on.
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < known_.size(); ++i)
        if (known_[i].is_used) used.push_back(i);
    std::sort(used.begin(), used.end(),
              [&](std::size_t a, std::size_t b) { return known_[a].last_use > known_[b].last_use; });
    if (used.size() > most_communicators) used.resize(most_communicators);
    std::vector<int> told(known_.size(), RankState::no_communicator);
    for (const std::size_t each : used) {
        told[each] = static_cast<int>(state.communicators.size());
        const Known& known = known_[each];
        state.communicators.push_back(
            {.key = known.key, .name = known.name, .entered = known.entered, .members = known.members});
    }
    for (const Slot& slot : slots_) {
        if (!slot.is_used) continue;
        RankState::Call call{.text = slot.function != nullptr ? slot.function : call_text(slot.call),
                             .runs = slot.runs.data(),
                             .seconds = seconds_between(slot.since, now),
                             .wait = slot.note.get()};
        if (slot.communicator != unknown) {
            const auto communicator = static_cast<std::size_t>(slot.communicator);
            call.communicator = told[communicator];
            call.number = slot.number;
            call.wait.rank = rank_at(known_[communicator].members, call.wait.rank);
        }
        state.calls.push_back(std::move(call));
    }
    std::stable_sort(state.calls.begin(), state.calls.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    for (std::uint64_t i = ended_; i > 0 && ended_ - i < past_calls; --i) {
        const Past& past = past_[(i - 1) % past_calls];
        RankState::Call call{.number = past.number,
                             .text = call_text(past.call) + " on " + past.name,
                             .runs = past.runs.data(),
                             .seconds = seconds_between(past.since, past.end),
                             .is_only_begun = past.call.form != CallForm::blocking};
        const auto same = std::find_if(state.communicators.begin(), state.communicators.end(),
                                       [&](const auto& each) { return each.key == past.key; });
        if (same != state.communicators.end()) call.communicator = static_cast<int>(same - state.communicators.begin());
        state.past.push_back({std::move(call), seconds_between(past.end, now)});
    }
    return state;
}

}  // namespace hcoll
