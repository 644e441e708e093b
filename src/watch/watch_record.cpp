// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watch_record.hpp"

#include <fmt/format.h>
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

template <std::size_t size>
void copy(std::string_view text, std::array<char, size>& to) {
    to[text.copy(to.data(), size - 1)] = 0;
}

}  // namespace

WatchRecord::WatchRecord(int rank, std::string host, std::chrono::milliseconds limit)
    : rank_(rank), host_(std::move(host)), limit_(limit), last_end_(Clock::now()) {}

WatchRecord& WatchRecord::make(int rank, std::string host, std::chrono::milliseconds limit) {
    auto* made = new WatchRecord(rank, std::move(host), limit);
    instance_.store(made, std::memory_order_release);
    return *made;
}

void WatchRecord::note_calls() {
    notes_calls_.store(true, std::memory_order_relaxed);
    WaitNote::expect();
}

int WatchRecord::know(std::string name, const std::vector<int>& members, std::uint64_t birth) {
    std::vector<RankRange> ranges = ranges_of(members);
    std::string bytes(reinterpret_cast<const char*>(members.data()), members.size() * sizeof(int));
    bytes.append(reinterpret_cast<const char*>(&birth), sizeof birth);
    const std::uint64_t group = fnv1a(bytes);
    const std::lock_guard lock(mutex_);
    auto place = std::find_if(known_.begin(), known_.end(), [](const Known& each) { return !each.is_used; });
    if (place == known_.end()) place = known_.insert(known_.end(), Known{});
    *place = {.is_used = true,
              .key = group + (birth == 0 ? known_alike_[group]++ : 0),
              .name = std::move(name),
              .members = std::move(ranges),
              .last_use = ++uses_};
    return static_cast<int>(place - known_.begin());
}

std::uint64_t WatchRecord::key(int communicator) const {
    const std::lock_guard lock(mutex_);
    return known_[static_cast<std::size_t>(communicator)].key;
}

std::string WatchRecord::name(int communicator) const {
    const std::lock_guard lock(mutex_);
    return known_[static_cast<std::size_t>(communicator)].name;
}

void WatchRecord::forget(int communicator) {
    const std::lock_guard lock(mutex_);
    Known& freed = known(communicator);
    freed.is_used = false;
    freed_[freed_count_++ % most_freed] = {.key = freed.key, .entered = freed.entered};
}

int WatchRecord::take_slot() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.is_used) continue;
        slot.is_used = true;
        slot.counts = false;
        slot.serial = ++calls_;
        slot.function = nullptr;
        slot.communicator = unknown;
        slot.runs[0] = 0;
        slot.waits = 0;
        slot.since = Clock::now();
        slot.due = slot.since + limit_;
        slot.note.clear();
        return static_cast<int>(i);
    }
    return no_slot;
}

int WatchRecord::begin(int communicator, const CallDescription& call, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    Known& on = known(communicator);
    on.entered = number;
    on.last_use = ++uses_;
    const int index = take_slot();
    if (index == no_slot) return index;
    Slot& made = slot(index);
    made.counts = true;
    made.communicator = communicator;
    made.number = number;
    made.call = call;
    return index;
}

int WatchRecord::begin(const char* function, bool counts) {
    const std::lock_guard lock(mutex_);
    const int index = take_slot();
    if (index == no_slot) return index;
    slot(index).counts = counts;
    slot(index).function = function;
    return index;
}

int WatchRecord::begin_wait(const char* function, std::span<const std::uint64_t> requests) {
    const int index = begin(function, false);
    if (index == no_slot || !has_requests()) return index;
    const std::lock_guard lock(mutex_);
    Slot& waiting = slot(index);
    const std::size_t count = requests_.load(std::memory_order_relaxed);
    // Who has begun the last one has begun those before it.
    const auto add = [&](const Request& begun) {
        for (std::size_t i = 0; i < waiting.waits; ++i) {
            Request& known = waiting.waits_on[i];
            if (known.key != begun.key) continue;
            if (known.number < begun.number) known = begun;
            return;
        }
        if (waiting.waits < most_waited_for) waiting.waits_on[waiting.waits++] = begun;
    };
    for (std::size_t i = 0; i < count; ++i)
        if (std::find(requests.begin(), requests.end(), begun_[i].request) != requests.end()) add(begun_[i]);
    waiting.counts = waiting.waits != 0;
    return index;
}

void WatchRecord::decide(int index, std::string_view what) {
    if (index == no_slot) return;
    const std::lock_guard lock(mutex_);
    copy(what, slot(index).runs);
}

void WatchRecord::add_request(int index, std::uint64_t request) {
    if (index == no_slot) return;
    const std::lock_guard lock(mutex_);
    const std::size_t count = requests_.load(std::memory_order_relaxed);
    // One of the same name is over: somebody has waited for it who is not watched.
    const auto end = begun_.begin() + static_cast<std::ptrdiff_t>(count);
    const auto place = std::find_if(begun_.begin(), end, [&](const Request& each) { return each.request == request; });
    if (place == begun_.end()) return;
    const Slot& of = slot(index);
    *place = {.request = request,
              .key = known(of.communicator).key,
              .communicator = of.communicator,
              .number = of.number,
              .call = of.call};
    if (place == end) requests_.store(count + 1, std::memory_order_relaxed);
}

std::size_t WatchRecord::find_requests(std::array<std::uint64_t, most_requests>& requests) const {
    const std::lock_guard lock(mutex_);
    const std::size_t count = requests_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) requests[i] = begun_[i].request;
    std::sort(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

void WatchRecord::remove_request(std::uint64_t request) {
    const std::lock_guard lock(mutex_);
    const std::size_t count = requests_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        if (begun_[i].request != request) continue;
        begun_[i] = begun_[count - 1];
        requests_.store(count - 1, std::memory_order_relaxed);
        return;
    }
}

void WatchRecord::end(int index, bool is_void) {
    if (index == no_slot) return;
    const std::lock_guard lock(mutex_);
    Slot& ended = slot(index);
    ended.is_used = false;
    last_end_ = Clock::now();
    if (ended.communicator == unknown) return;
    Known& on = known(ended.communicator);
    if (is_void) {
        --on.entered;
        return;
    }
    Past& past = past_[ended_++ % past_calls];
    copy(on.name, past.name);
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

std::optional<WatchRecord::Due> WatchRecord::due(Clock::time_point now) const {
    if (limit_.count() == 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const Slot* oldest = nullptr;
    for (const Slot& slot : slots_)
        if (slot.is_used && slot.counts && slot.due <= now && (oldest == nullptr || slot.since < oldest->since))
            oldest = &slot;
    if (oldest == nullptr) return std::nullopt;
    return Due{.text = oldest->function != nullptr ? oldest->function
                                                   : function_name(oldest->call.collective, oldest->call.form),
               .seconds = seconds_between(oldest->since, now)};
}

struct WatchRecord::Telling {
    RankState state;
    std::vector<int> places;  // by number in this record
};

// Those that a call is on, those used last, those that were freed last, and whether that is all.
void WatchRecord::tell_communicators(Telling& telling) const {
    RankState& state = telling.state;
    std::vector<bool> is_in_call(known_.size(), false);
    for (const Slot& slot : slots_) {
        if (!slot.is_used) continue;
        if (slot.communicator != unknown) is_in_call[static_cast<std::size_t>(slot.communicator)] = true;
        for (std::size_t i = 0; i < slot.waits; ++i)
            is_in_call[static_cast<std::size_t>(slot.waits_on[i].communicator)] = true;
    }
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < known_.size(); ++i)
        if (known_[i].is_used) used.push_back(i);
    const auto order = [&](std::size_t each) { return std::pair(is_in_call[each], known_[each].last_use); };
    std::sort(used.begin(), used.end(), [&](std::size_t a, std::size_t b) { return order(a) > order(b); });
    constexpr std::size_t most = most_communicators + most_nameless;
    state.knows_all = used.size() <= most && freed_count_ <= most_freed;
    if (used.size() > most) used.resize(most);
    telling.places.assign(known_.size(), RankState::no_communicator);
    for (std::size_t i = 0; i < used.size(); ++i) {
        const Known& each = known_[used[i]];
        const bool is_named = i < most_communicators || is_in_call[used[i]];
        telling.places[used[i]] = static_cast<int>(state.communicators.size());
        state.communicators.push_back(
            {.key = each.key, .name = is_named ? each.name : std::string(), .entered = each.entered});
    }
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(freed_count_, most_freed); ++i)
        state.communicators.push_back({.key = freed_[i].key, .name = {}, .entered = freed_[i].entered});
}

RankState::Call WatchRecord::told(const Slot& slot, Telling& telling, Clock::time_point now) const {
    RankState::Call call{.kind = slot.function != nullptr ? slot.function : call_kind(slot.call),
                         .text = slot.function != nullptr ? slot.function : call_text(slot.call),
                         .runs = slot.runs.data(),
                         .seconds = seconds_between(slot.since, now),
                         .wait = slot.note.get(),
                         .serial = slot.serial};
    // With its members, since somebody of them may be missing.
    const auto place_of = [&](int communicator) {
        const int place = telling.places[static_cast<std::size_t>(communicator)];
        if (place != RankState::no_communicator)
            telling.state.communicators[static_cast<std::size_t>(place)].members =
                known_[static_cast<std::size_t>(communicator)].members;
        return place;
    };
    for (std::size_t i = 0; i < slot.waits; ++i) {
        const Request& on = slot.waits_on[i];
        const Known& of = known_[static_cast<std::size_t>(on.communicator)];
        const bool is_there = of.is_used && of.key == on.key;
        call.waits_on.push_back({.communicator = is_there ? place_of(on.communicator) : RankState::no_communicator,
                                 .number = on.number,
                                 .text = call_text(on.call)});
    }
    if (slot.communicator == unknown) {
        call.wait.rank = -1;
        return call;
    }
    call.communicator = place_of(slot.communicator);
    call.number = slot.number;
    call.wait.rank = rank_at(known_[static_cast<std::size_t>(slot.communicator)].members, call.wait.rank);
    return call;
}

RankState WatchRecord::state(bool is_told) {
    constexpr int until_told_again = 10;
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    Telling telling{.state = {.rank = rank_,
                              .process = static_cast<int>(getpid()),
                              .host = host_,
                              .has_finalized = has_finalized_,
                              .outside = seconds_between(last_end_, now)},
                    .places = {}};
    RankState& state = telling.state;
    tell_communicators(telling);
    for (Slot& slot : slots_) {
        if (!slot.is_used) continue;
        state.calls.push_back(told(slot, telling, now));
        if (is_told && now - slot.since >= limit_ / 2) slot.due = now + until_told_again * (now - slot.since);
    }
    std::stable_sort(state.calls.begin(), state.calls.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    for (std::uint64_t i = ended_; i > 0 && ended_ - i < past_calls; --i) {
        const Past& past = past_[(i - 1) % past_calls];
        RankState::Call call{.number = past.number,
                             .kind = call_kind(past.call),
                             .text = fmt::format("{} on {}", call_text(past.call), past.name.data()),
                             .runs = past.runs.data(),
                             .seconds = seconds_between(past.since, past.end)};
        state.past.push_back({std::move(call), seconds_between(past.end, now)});
    }
    return std::move(telling.state);
}

}  // namespace hcoll
