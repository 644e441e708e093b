// SPDX-License-Identifier: BSD-3-Clause
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

#include "progress/engine/engine.hpp"

namespace hcoll {

// How far the call that began an operation is with the callers' part that it runs.
struct Leading {
    enum State : int { going_on, over, given_up };
    std::atomic<int> state{going_on};
};

class BackgroundOperation {
public:
    explicit BackgroundOperation(bool has_callers_part = false) : has_callers_part_(has_callers_part) {}
    virtual ~BackgroundOperation() = default;
    // Moves that part of it as far as it goes without waiting; never throws. `has_moved` is set where anything has happened.
    // Returns true when it is complete: then nothing of it is used again, and it is destroyed.
    virtual bool advance(Part part, bool& has_moved) noexcept = 0;
    // Does it wait for callers to run their part? Only asked if it has such a part.
    virtual bool is_callers_turn() const noexcept { return false; }

private:
    friend class InFlight;
    using Time = std::chrono::steady_clock::time_point;
    static constexpr Time not_yet = Time::min();

    std::unique_ptr<BackgroundOperation> next_;  // of its list
    Time left_until_ = not_yet;                  // to the callers
    std::shared_ptr<Leading> leading_;           // by the call that has begun it
    bool has_callers_part_;
};

class InFlight {
public:
    // Who drives: a thread of the application that waits or asks; what goes on in the background, which is the progress thread and
    // calls that only begin something; or a call that leads.
    enum class Driver { caller, background, leader };

    // A thread that is cancelled meanwhile is so at the end of each of these, as it left the operations whole.
    //
    // From any thread. The operation is moved by those who drive, from the next time on.
    void add(std::unique_ptr<BackgroundOperation> operation);
    // The same, where it begins with the callers' part, which the call leads: returns when that is over, or `patience` is, since
    // others may come late. Where an earlier one has lost its patience, and is not over yet, it has none.
    void add_and_lead(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience);
    // Moves all of them once, in the order in which they were added. False where nothing has moved, or where another thread
    // is at it, or this one, further up its stack.
    bool drive(Driver driver = Driver::caller);
    // Is any of them not complete? One load: asked in every call.
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }
    // Has any of them a part that is the callers'?
    bool any_with_callers_part() const { return with_callers_part_.load(std::memory_order_acquire) != 0; }

    // For the progress thread. Sleeps until there is any, or until interrupt().
    void wait_for_any();
    // Has the progress thread, when it drove last, left all of them to the callers? Then it sleeps until there is another one or a
    // call has led one through, or for some time.
    bool are_all_left_to_callers() const { return are_all_left_.load(std::memory_order_relaxed); }
    void wait_for_another(std::chrono::nanoseconds longest);
    void interrupt();
    // Before another thread begins, where there was one: a process may have one after the other.
    void end_interruption();

private:
    void put(std::unique_ptr<BackgroundOperation> operation) noexcept;
    void put_and_lead(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience) noexcept;
    bool move_all(Driver driver) noexcept;
    static bool is_left_to_callers(BackgroundOperation& operation) noexcept;
    static Part part_for(Driver driver, BackgroundOperation& operation) noexcept;
    std::unique_ptr<BackgroundOperation> take_arrivals();
    void stop_leading(BackgroundOperation& operation) noexcept;

    std::atomic<int> count_{0};
    std::atomic<int> with_callers_part_{0};
    std::atomic<int> given_up_{0};  // by the calls that led them
    std::atomic_flag is_driven_;
    std::unique_ptr<BackgroundOperation> active_;  // the first of a list; of who drives
    std::atomic<bool> are_all_left_{false};        // when the background drove last
    std::mutex mutex_;                             // of what follows
    std::condition_variable arrival_;
    std::unique_ptr<BackgroundOperation> arrivals_;
    std::unique_ptr<BackgroundOperation>* last_arrival_ = &arrivals_;  // where the next one goes
    bool is_interrupted_ = false;
};

}  // namespace hcoll
