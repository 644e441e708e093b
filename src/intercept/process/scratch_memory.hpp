// SPDX-License-Identifier: BSD-3-Clause
// Memory for what a collective works on besides the application's buffers.
#pragma once

#include <cstddef>
#include <memory>

namespace hcoll {

// Memory that outlives a call. Used by one thread at a time.
class ScratchMemory {
public:
    // At least `bytes`, 64-byte aligned; valid until the next call of get or trim. Throws std::bad_alloc.
    std::byte* get(std::size_t bytes);
    // Gives back what is more than `most_bytes`.
    void trim(std::size_t most_bytes);
    // Forgets the memory without freeing it: messages may still be written to it after an error.
    void abandon() {
        (void)memory_.release();
        bytes_ = 0;
    }

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t bytes_ = 0;
};

// The memory of the calling thread, for one collective: kept for the thread's next one, up to a bound, whatever communicator that
// is on, and freed with the thread. A collective that runs inside of another one (an operation or an attribute function of the
// application may call any) gets memory of its own, and so does one at the end of a thread. Given back by the thread that took it.
class ScratchLease {
public:
    ScratchLease() = default;
    ~ScratchLease() {
        if (has_messages_ || of_thread_ != nullptr) [[unlikely]]
            end();
    }
    ScratchLease(const ScratchLease&) = delete;
    ScratchLease& operator=(const ScratchLease&) = delete;

    // As ScratchMemory has it; once.
    std::byte* get(std::size_t bytes);
    // Messages may be on their way to it, or from it, until they are said to have ended. If that never happens, it is abandoned.
    void begin_messages() { has_messages_ = true; }
    void end_messages() { has_messages_ = false; }

private:
    struct OfThread;
    static OfThread* of_thread();  // nullptr where the thread has ended but for what is destroyed after it
    void end();

    OfThread* of_thread_ = nullptr;  // where that is what it is
    ScratchMemory own_;
    bool has_messages_ = false;
};

}  // namespace hcoll
