#include "progress/in_flight.hpp"

#include <sched.h>

#include <utility>

namespace hcoll {

using std::chrono::steady_clock;

void InFlight::add(std::unique_ptr<BackgroundOperation> operation) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (operation->has_callers_part_) with_callers_part_.fetch_add(1, std::memory_order_release);
        *last_arrival_ = std::move(operation);
        last_arrival_ = &(*last_arrival_)->next_;
        count_.fetch_add(1, std::memory_order_release);
    }
    arrival_.notify_one();
}

void InFlight::add_and_lead(std::unique_ptr<BackgroundOperation> operation,
                            std::chrono::nanoseconds patience) noexcept {
    const auto until = steady_clock::now() + patience;
    operation->left_until_ = until;
    operation->is_led_ = true;
    led_.fetch_add(1, std::memory_order_relaxed);
    add(std::move(operation));
    // What other threads lead counts as well: it can be moved just as well.
    do {
        if (!drive()) sched_yield();
    } while (led_.load(std::memory_order_relaxed) != 0 && steady_clock::now() < until);
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

void InFlight::stop_leading(BackgroundOperation& operation) noexcept {
    operation.is_led_ = false;
    led_.fetch_sub(1, std::memory_order_relaxed);
}

bool InFlight::drive(Driver driver) noexcept {
    if (is_driven_.test_and_set(std::memory_order_acquire)) return false;
    const bool is_thread = driver == Driver::progress_thread;
    bool has_moved = false;
    bool are_all_left = true;
    std::unique_ptr<BackgroundOperation>* each = &active_;
    while (true) {
        if (*each == nullptr) *each = take_arrivals();
        if (*each == nullptr) break;
        BackgroundOperation& operation = **each;
        if (is_thread && is_left_to_callers(operation)) {
            each = &operation.next_;
            continue;
        }
        are_all_left = false;
        const bool is_complete = operation.advance(has_moved);
        if (operation.is_led_ && (is_complete || !operation.is_callers_turn())) stop_leading(operation);
        if (!is_complete) {
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
    if (is_thread) are_all_left_ = are_all_left;
    is_driven_.clear(std::memory_order_release);
    return has_moved;
}

void InFlight::wait_for_any() {
    std::unique_lock lock(mutex_);
    arrival_.wait(lock, [&] { return is_interrupted_ || any(); });
}

void InFlight::wait_for_another(std::chrono::nanoseconds longest) {
    std::unique_lock lock(mutex_);
    arrival_.wait_for(lock, longest, [&] { return is_interrupted_ || arrivals_ != nullptr; });
}

void InFlight::interrupt() {
    {
        const std::lock_guard lock(mutex_);
        is_interrupted_ = true;
    }
    arrival_.notify_all();
}

}  // namespace hcoll
