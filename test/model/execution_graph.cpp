// SPDX-License-Identifier: BSD-3-Clause
#include "execution_graph.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace hcoll::model {

void join(Clock& clock, const Clock& other) {
    for (std::size_t thread = 0; thread < clock.size(); ++thread)
        clock[thread] = std::max(clock[thread], other[thread]);
}

std::vector<Id>& ExecutionGraph::mutable_writes_to(Location location) {
    return writes_.try_emplace(location, std::vector<Id>{Id{}}).first->second;
}

std::uint64_t ExecutionGraph::value_of(Location location, Id write) const {
    return write.is_initial() ? initial_.at(location) : at(write).value;
}

Clock ExecutionGraph::clock_of(int thread) const {
    const auto& events = threads_[index_of(thread)];
    return events.empty() ? Clock{} : events.back().before;
}

std::size_t ExecutionGraph::place_of(Location location, Id write) const {
    const std::vector<Id>& all = writes_.at(location);
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), write) - all.begin());
}

std::size_t ExecutionGraph::first_readable(const Clock& clock, Location location) const {
    std::size_t first = 0;
    for (std::size_t thread = 0; thread < threads_.size(); ++thread)
        for (std::size_t index = 0; index < clock[thread]; ++index) {
            const Event& each = threads_[thread][index];
            if (each.location != location || each.kind == Event::Kind::choice) continue;
            const Id self{static_cast<std::int16_t>(thread), static_cast<std::int16_t>(index)};
            first = std::max(first, place_of(location, each.kind == Event::Kind::write ? self : each.from));
        }
    return first;
}

std::vector<Id> ExecutionGraph::readable(int thread, Location location) {
    const std::vector<Id>& all = writes_to(location);
    return {all.begin() + static_cast<std::ptrdiff_t>(first_readable(clock_of(thread), location)), all.end()};
}

std::vector<std::size_t> ExecutionGraph::places(int thread, Location location, bool is_exclusive) {
    const std::vector<Id>& all = writes_to(location);
    const std::size_t first = first_readable(clock_of(thread), location) + 1;
    const auto would_split = [&](std::size_t place) { return place < all.size() && at(all[place]).is_exclusive; };
    std::vector<std::size_t> list;
    if (is_exclusive) {
        const std::size_t place = place_of(location, threads_[index_of(thread)].back().from) + 1;
        if (place >= first && !would_split(place)) list.push_back(place);
        return list;
    }
    for (std::size_t place = all.size(); place >= first; --place)
        if (!would_split(place)) list.push_back(place);
    return list;
}

void ExecutionGraph::set_clocks(Id id) {
    Event& self = event(id);
    const auto thread = static_cast<std::size_t>(id.thread);
    self.before = self.causes = Clock{};
    if (id.index > 0) {
        const Event& previous = threads_[thread][static_cast<std::size_t>(id.index) - 1];
        self.before = previous.before;
        self.causes = previous.causes;
    }
    if (self.kind == Event::Kind::read && !self.from.is_initial()) {
        const Event& write = at(self.from);
        join(self.causes, write.causes);
        if (self.acquires) join(self.before, write.released);
    }
    self.before[thread] = self.causes[thread] = static_cast<std::uint16_t>(id.index + 1);
    if (self.kind != Event::Kind::write) return;
    self.released = self.releases ? self.before : Clock{};
    // What a read-modify-write reads from goes on to be released by it.
    if (!self.is_exclusive) return;
    if (const Id from = threads_[thread][static_cast<std::size_t>(id.index) - 1].from; !from.is_initial())
        join(self.released, at(from).released);
}

Id ExecutionGraph::append(int thread, Event event) {
    auto& events = threads_[index_of(thread)];
    const Id id{static_cast<std::int16_t>(thread), static_cast<std::int16_t>(events.size())};
    events.push_back(event);
    order_.push_back(id);
    set_clocks(id);
    return id;
}

Id ExecutionGraph::add_read(int thread, Location location, bool acquires, Id from) {
    return append(thread, {.kind = Event::Kind::read,
                           .acquires = acquires,
                           .location = location,
                           .value = value_of(location, from),
                           .from = from});
}

Id ExecutionGraph::add_write(int thread, Location location, std::uint64_t value, bool releases, bool is_exclusive,
                             std::size_t place) {
    const Id id = append(thread, {.kind = Event::Kind::write,
                                  .releases = releases,
                                  .is_exclusive = is_exclusive,
                                  .location = location,
                                  .value = value});
    std::vector<Id>& all = mutable_writes_to(location);
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), id);
    return id;
}

Id ExecutionGraph::add_choice(int thread, std::uint64_t value) {
    return append(thread, {.kind = Event::Kind::choice, .value = value});
}

// ---- revisits ----

ExecutionGraph ExecutionGraph::restricted(const Clock& to) const {
    ExecutionGraph result;
    result.initial_ = initial_;
    for (std::size_t thread = 0; thread < threads_.size(); ++thread)
        result.threads_[thread].assign(threads_[thread].begin(), threads_[thread].begin() + to[thread]);
    for (const Id id : order_)
        if (id.is_in(to)) result.order_.push_back(id);
    for (const auto& [location, all] : writes_) {
        std::vector<Id>& kept = result.writes_[location];
        for (const Id id : all)
            if (id.is_in(to)) kept.push_back(id);
    }
    return result;
}

void ExecutionGraph::recompute_clocks() {
    std::array<std::size_t, most_threads> done{};
    for (bool has_moved = true; has_moved;) {
        has_moved = false;
        for (std::size_t thread = 0; thread < threads_.size(); ++thread)
            for (; done[thread] < threads_[thread].size(); ++done[thread]) {
                const Event& next = threads_[thread][done[thread]];
                if (next.kind == Event::Kind::read && !next.from.is_initial() &&
                    done[static_cast<std::size_t>(next.from.thread)] <= static_cast<std::size_t>(next.from.index))
                    break;
                set_clocks({static_cast<std::int16_t>(thread), static_cast<std::int16_t>(done[thread])});
                has_moved = true;
            }
    }
    for (std::size_t thread = 0; thread < threads_.size(); ++thread)
        check(done[thread] == threads_[thread].size(), "a graph has a circle");
}

// The paper's IsMaximallyAdded: would the event be as it is if it had been added to what was there before it and what `causes` the write?
bool ExecutionGraph::was_added_last(Id id, const std::vector<std::vector<std::size_t>>& added,
                                    const Clock& causes) const {
    const auto when = [&](Id each) {
        return added[static_cast<std::size_t>(each.thread)][static_cast<std::size_t>(each.index)];
    };
    const auto is_previous = [&](Id each) { return each.is_initial() || when(each) <= when(id) || each.is_in(causes); };
    const Event& self = at(id);
    if (self.kind == Event::Kind::choice) return self.value == 0;
    if (self.kind == Event::Kind::write)
        for (const Id each : order_)
            if (at(each).kind == Event::Kind::read && at(each).from == id && is_previous(each)) return false;
    const Id write = self.kind == Event::Kind::write ? id : self.from;
    if (!is_previous(write)) return false;
    const std::vector<Id>& all = writes_.at(self.location);
    for (std::size_t place = place_of(self.location, write) + 1; place < all.size(); ++place)
        if (is_previous(all[place])) return false;
    return true;
}

std::vector<ExecutionGraph> ExecutionGraph::revisits(Event write, int thread) const {
    std::vector<ExecutionGraph> result;
    std::vector<std::vector<std::size_t>> added(threads_.size());
    for (std::size_t each = 0; each < threads_.size(); ++each) added[each].resize(threads_[each].size());
    for (std::size_t when = 0; when < order_.size(); ++when)
        added[static_cast<std::size_t>(order_[when].thread)][static_cast<std::size_t>(order_[when].index)] = when;
    const auto& own = threads_[index_of(thread)];
    const Clock causes = own.empty() ? Clock{} : own.back().causes;
    for (std::size_t when = 0; when < order_.size(); ++when) {
        const Id read = order_[when];
        const Event& it = at(read);
        if (it.kind != Event::Kind::read || it.location != write.location || read.is_in(causes)) continue;
        bool may = true;
        for (std::size_t later = when; later < order_.size() && may; ++later)
            may = order_[later].is_in(causes) || was_added_last(order_[later], added, causes);
        if (!may) continue;
        Clock kept = causes;
        for (std::size_t before = 0; before <= when; ++before) {
            auto& events = kept[static_cast<std::size_t>(order_[before].thread)];
            events = std::max(events, static_cast<std::uint16_t>(order_[before].index + 1));
        }
        ExecutionGraph base = restricted(kept);
        for (const std::size_t place : base.places(thread, write.location, write.is_exclusive)) {
            ExecutionGraph next = base;
            const Id id =
                next.add_write(thread, write.location, write.value, write.releases, write.is_exclusive, place);
            // What the read's thread knows before it.
            const Clock known =
                read.index == 0 ? Clock{} : at({read.thread, static_cast<std::int16_t>(read.index - 1)}).before;
            if (place < next.first_readable(known, write.location)) continue;
            next.event(read).from = id;
            next.event(read).value = write.value;
            next.recompute_clocks();
            result.push_back(std::move(next));
        }
    }
    return result;
}

std::string ExecutionGraph::signature() const {
    std::string text;
    for (const auto& events : threads_) {
        text += "|";
        for (const Event& each : events)
            text += " " + std::to_string(static_cast<int>(each.kind)) + ":" + std::to_string(each.location) + ":" +
                    std::to_string(each.from.thread) + "," + std::to_string(each.from.index) + ":" +
                    std::to_string(each.value);
    }
    for (const auto& [location, all] : writes_) {
        text += "|" + std::to_string(location);
        for (const Id id : all) text += " " + std::to_string(id.thread) + "," + std::to_string(id.index);
    }
    return text;
}

}  // namespace hcoll::model
