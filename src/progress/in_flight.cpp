#include "progress/in_flight.hpp"

#include <utility>

namespace hcoll {

void InFlight::add(std::unique_ptr<BackgroundOperation> operation) noexcept {
    {
        const std::lock_guard lock(mutex_);
        *last_arrival_ = std::move(operation);
        last_arrival_ = &(*last_arrival_)->next_;
        count_.fetch_add(1, std::memory_order_release);
    }
    arrival_.notify_one();
}

std::unique_ptr<BackgroundOperation> InFlight::take_arrivals() {
    const std::lock_guard lock(mutex_);
    last_arrival_ = &arrivals_;
    return std::move(arrivals_);
}

bool InFlight::drive() noexcept {
    if (is_driven_.test_and_set(std::memory_order_acquire)) return false;
    bool has_moved = false;
    std::unique_ptr<BackgroundOperation>* each = &active_;
    while (true) {
        if (*each == nullptr) *each = take_arrivals();
        if (*each == nullptr) break;
        if (!(*each)->advance(has_moved)) {
            each = &(*each)->next_;
            continue;
        }
        std::unique_ptr<BackgroundOperation> complete = std::move(*each);
        *each = std::move(complete->next_);
        complete.reset();
        count_.fetch_sub(1, std::memory_order_release);
        has_moved = true;
    }
    is_driven_.clear(std::memory_order_release);
    return has_moved;
}

void InFlight::wait_for_any() {
    std::unique_lock lock(mutex_);
    arrival_.wait(lock, [&] { return is_interrupted_ || any(); });
}

void InFlight::interrupt() {
    {
        const std::lock_guard lock(mutex_);
        is_interrupted_ = true;
    }
    arrival_.notify_all();
}

}  // namespace hcoll
