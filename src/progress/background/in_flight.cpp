// SPDX-License-Identifier: BSD-3-Clause
#include "progress/background/in_flight.hpp"

#include <sched.h>

#include <new>
#include <utility>

#include "progress/engine/cancellation.hpp"

namespace hcoll {

using std::chrono::steady_clock;

void InFlight::add(std::unique_ptr<BackgroundOperation> operation) {
    const NoCancellation whole;
    put(std::move(operation));
}

void InFlight::add_and_lead(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience) {
    const NoCancellation whole;
    put_and_lead(std::move(operation), patience);
}

bool InFlight::drive(Driver driver) {
    const NoCancellation whole;
    return move_all(driver);
}

void InFlight::put(std::unique_ptr<BackgroundOperation> operation) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (operation->has_callers_part_) with_callers_part_.fetch_add(1, std::memory_order_release);
        *last_arrival_ = std::move(operation);
        last_arrival_ = &(*last_arrival_)->next_;
        count_.fetch_add(1, std::memory_order_release);
    }
    arrival_.notify_one();
}

void InFlight::put_and_lead(std::unique_ptr<BackgroundOperation> operation,
                            std::chrono::nanoseconds patience) noexcept {
    std::shared_ptr<Leading> leading;
    if (given_up_.load(std::memory_order_relaxed) == 0) {
        try {
            leading = std::make_shared<Leading>();
        } catch (const std::bad_alloc&) {
            // It is moved without.
        }
    }
    const auto now = steady_clock::now();
    const auto until = leading == nullptr ? now : now + patience;
    operation->leading_ = leading;
    operation->left_until_ = until;
    put(std::move(operation));
    if (leading == nullptr) {
        move_all(Driver::background);
        return;
    }
    // Who would only wait may as well run the rest.
    while (true) {
        const bool has_moved = move_all(Driver::leader) || move_all(Driver::caller);
        if (leading->state.load(std::memory_order_acquire) == Leading::over) return;
        if (steady_clock::now() >= until) break;
        if (!has_moved) sched_yield();
    }
    int state = Leading::going_on;
    if (leading->state.compare_exchange_strong(state, Leading::given_up))
        given_up_.fetch_add(1, std::memory_order_relaxed);
}

std::unique_ptr<BackgroundOperation> InFlight::take_arrivals() {
    const std::lock_guard lock(mutex_);
    last_arrival_ = &arrivals_;
    return std::move(arrivals_);
}

// To keep the promise that a non-blocking operation makes progress whatever the application does, the progress thread takes over
// what no caller comes for. By then it has had the time for what is its own.
bool InFlight::is_left_to_callers(BackgroundOperation& operation) noexcept {
    constexpr std::chrono::milliseconds usual(10);
    if (!operation.has_callers_part_ || !operation.is_callers_turn()) return false;
    const auto now = steady_clock::now();
    if (operation.left_until_ == BackgroundOperation::not_yet) operation.left_until_ = now + usual;
    return now < operation.left_until_;
}

// What of an operation this one runs.
Part InFlight::part_for(Driver driver, BackgroundOperation& operation) noexcept {
    if (!operation.has_callers_part_ || driver == Driver::caller) return Part::all;
    if (driver == Driver::leader) return operation.leading_ != nullptr ? Part::callers : Part::background;
    const bool is_overdue = operation.left_until_ != BackgroundOperation::not_yet && !is_left_to_callers(operation);
    return is_overdue ? Part::all : Part::background;
}

void InFlight::stop_leading(BackgroundOperation& operation) noexcept {
    const auto leading = std::exchange(operation.leading_, nullptr);
    if (leading->state.exchange(Leading::over, std::memory_order_acq_rel) == Leading::given_up)
        given_up_.fetch_sub(1, std::memory_order_relaxed);
    // The rest is for the progress thread, which may sleep.
    {
        const std::lock_guard lock(mutex_);
        are_all_left_.store(false, std::memory_order_relaxed);
    }
    arrival_.notify_one();
}

bool InFlight::move_all(Driver driver) noexcept {
    if (is_driven_.test_and_set(std::memory_order_acquire)) return false;
    bool has_moved = false;
    bool are_all_left = true;
    std::unique_ptr<BackgroundOperation>* each = &active_;
    while (true) {
        if (*each == nullptr) *each = take_arrivals();
        if (*each == nullptr) break;
        BackgroundOperation& operation = **each;
        const bool is_complete = operation.advance(part_for(driver, operation), has_moved);
        if (operation.leading_ != nullptr && (is_complete || !operation.is_callers_turn())) stop_leading(operation);
        if (!is_complete) {
            are_all_left = are_all_left && is_left_to_callers(operation);
            each = &operation.next_;
            continue;
        }
        std::unique_ptr<BackgroundOperation> complete = std::move(*each);
        *each = std::move(complete->next_);
        if (complete->has_callers_part_) with_callers_part_.fetch_sub(1, std::memory_order_release);
        complete.reset();
        count_.fetch_sub(1, std::memory_order_release);
        has_moved = true;
    }
    if (driver == Driver::background) are_all_left_.store(are_all_left, std::memory_order_relaxed);
    is_driven_.clear(std::memory_order_release);
    return has_moved;
}

void InFlight::wait_for_any() {
    std::unique_lock lock(mutex_);
    arrival_.wait(lock, [&] { return is_interrupted_ || any(); });
}

void InFlight::wait_for_another(std::chrono::nanoseconds longest) {
    std::unique_lock lock(mutex_);
    arrival_.wait_for(lock, longest,
                      [&] { return is_interrupted_ || arrivals_ != nullptr || !are_all_left_to_callers(); });
}

void InFlight::end_interruption() {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = false;
}

void InFlight::interrupt() {
    {
        const std::lock_guard lock(mutex_);
        is_interrupted_ = true;
    }
    arrival_.notify_all();
}

}  // namespace hcoll
