// Operations that go on while the application does something else: the list of those that are not complete, and who moves
// them.
//
// Any thread may move them, one at a time: the progress thread, or a thread of the application that is inside MPI anyhow. A
// thread that finds another one at it goes on with what it was doing. A part of an operation may be the callers' ("split-tree"):
// the progress thread leaves it to the application's threads, but not for ever. It knows no MPI.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace hcoll {

class BackgroundOperation {
public:
    explicit BackgroundOperation(bool has_callers_part = false) : has_callers_part_(has_callers_part) {}
    virtual ~BackgroundOperation() = default;
    // Moves it as far as it goes without waiting; never throws. `has_moved` is set where anything has happened. Returns true
    // when it is complete: then nothing of it is used again, and it is destroyed.
    virtual bool advance(bool& has_moved) noexcept = 0;
    // Is it the callers' turn to move it? Only asked if it has such a part.
    virtual bool is_callers_turn() const noexcept { return false; }

private:
    friend class InFlight;
    using Time = std::chrono::steady_clock::time_point;
    static constexpr Time not_yet = Time::min();

    std::unique_ptr<BackgroundOperation> next_;  // of its list
    Time left_until_ = not_yet;                  // to the callers
    bool has_callers_part_;
    bool is_led_ = false;  // by the call that has begun it
};

class InFlight {
public:
    enum class Driver { caller, progress_thread };

    // From any thread. The operation is moved by those who drive, from the next time on.
    void add(std::unique_ptr<BackgroundOperation> operation) noexcept;
    // The same, where it begins with the callers' part: returns when that is over, or `patience` is, since others may come late.
    void add_and_lead(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience) noexcept;
    // Moves all of them once, in the order in which they were added. False where nothing has moved, or where another thread
    // is at it, or this one, further up its stack.
    bool drive(Driver driver = Driver::caller) noexcept;
    // Is any of them not complete? One load: asked in every call.
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }
    // Has any of them a part that is the callers'?
    bool any_with_callers_part() const { return with_callers_part_.load(std::memory_order_acquire) != 0; }

    // For the progress thread. Sleeps until there is any, or until interrupt().
    void wait_for_any();
    // Has the progress thread, when it drove last, left all of them to the callers? Then it sleeps until there is another one, or
    // for some time.
    bool are_all_left_to_callers() const { return are_all_left_; }
    void wait_for_another(std::chrono::nanoseconds longest);
    void interrupt();

private:
    static bool is_left_to_callers(BackgroundOperation& operation) noexcept;
    std::unique_ptr<BackgroundOperation> take_arrivals();
    void stop_leading(BackgroundOperation& operation) noexcept;

    std::atomic<int> count_{0};
    std::atomic<int> with_callers_part_{0};
    std::atomic<int> led_{0};  // by the calls that have begun them
    std::atomic_flag is_driven_;
    std::unique_ptr<BackgroundOperation> active_;  // the first of a list; of who drives
    bool are_all_left_ = false;                    // of the progress thread
    std::mutex mutex_;                             // of what follows
    std::condition_variable arrival_;
    std::unique_ptr<BackgroundOperation> arrivals_;
    std::unique_ptr<BackgroundOperation>* last_arrival_ = &arrivals_;  // where the next one goes
    bool is_interrupted_ = false;
};

}  // namespace hcoll
