// SPDX-License-Identifier: BSD-3-Clause
// What happens when, in virtual time: the queue and the clock of price.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hcoll {

enum class EventKind : std::uint8_t { ready, ports_free, arrived, arrived_and_ports_free, wake, collective_done };

struct Event {
    double time = 0;
    std::uint64_t sequence = 0;
    std::uint32_t subject = 0;  // a rank for wake, a number for collective_done, a message for all others
    EventKind kind = EventKind::wake;
};

// Ordered by (time, sequence): what is the same in time leaves in the order in which it was added, so that a run is
// repeatable to the bit.
//
// Times that differ by no more than rounding are one instant. Otherwise the last bit would decide whether an engine hears
// of two completions together, or starts to work after the first and hears of the second when it is done.
class EventQueue {
public:
    bool empty() const { return events_.empty(); }
    bool is_now(double time) const { return time <= instant_end_; }
    bool has_event_now() const { return !events_.empty() && is_now(events_.front().time); }

    // Goes on to the instant of the next event, unless there is still one now.
    void advance() {
        if (!events_.empty() && !has_event_now()) instant_end_ = events_.front().time * (1 + 1e-12);
    }

    // The instant, but for rounding.
    double now() const { return instant_end_; }

    void push(double time, EventKind kind, std::uint32_t subject) {
        events_.push_back({time, sequence_++, subject, kind});
        std::push_heap(events_.begin(), events_.end(), later);
    }

    Event pop() {
        std::pop_heap(events_.begin(), events_.end(), later);
        const Event event = events_.back();
        events_.pop_back();
        return event;
    }

private:
    static bool later(const Event& a, const Event& b) {
        return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }

    std::vector<Event> events_;
    std::uint64_t sequence_ = 0;
    double instant_end_ = 0;
};

}  // namespace hcoll
