// Operations that go on while the application does something else: the list of those that are not complete, and who moves
// them.
//
// Any thread may move them, one at a time: the progress thread, or a thread of the application that is inside MPI anyhow. A
// thread that finds another one at it goes on with what it was doing. It knows no MPI.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

namespace hcoll {

class BackgroundOperation {
public:
    virtual ~BackgroundOperation() = default;
    // Moves it as far as it goes without waiting; never throws. `has_moved` is set where anything has happened. Returns true
    // when it is complete: then nothing of it is used again, and it is destroyed.
    virtual bool advance(bool& has_moved) noexcept = 0;

private:
    friend class InFlight;
    std::unique_ptr<BackgroundOperation> next_;  // of its list
};

class InFlight {
public:
    // From any thread. The operation is moved by those who drive, from the next time on.
    void add(std::unique_ptr<BackgroundOperation> operation) noexcept;
    // Moves all of them once, in the order in which they were added. False where nothing has moved, or where another thread
    // is at it, or this one, further up its stack.
    bool drive() noexcept;
    // Is any of them not complete? One load: asked in every call.
    bool any() const { return count_.load(std::memory_order_acquire) != 0; }

    // Sleeps until there is any, or until interrupt().
    void wait_for_any();
    void interrupt();

private:
    std::unique_ptr<BackgroundOperation> take_arrivals();

    std::atomic<int> count_{0};
    std::atomic_flag is_driven_;
    std::unique_ptr<BackgroundOperation> active_;  // the first of a list; of who drives
    std::mutex mutex_;                             // of what follows
    std::condition_variable arrival_;
    std::unique_ptr<BackgroundOperation> arrivals_;
    std::unique_ptr<BackgroundOperation>* last_arrival_ = &arrivals_;  // where the next one goes
    bool is_interrupted_ = false;
};

}  // namespace hcoll
