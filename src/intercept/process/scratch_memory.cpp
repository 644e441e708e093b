// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/scratch_memory.hpp"

#include "base/aligned_memory.hpp"
#include "progress/engine/per_process.hpp"

namespace hcoll {

namespace {

constexpr std::size_t kept_by_thread = 4 << 20;

}  // namespace

void ScratchMemory::Free::operator()(std::byte* memory) const { free_aligned(memory); }

std::byte* ScratchMemory::get(std::size_t bytes) {
    if (bytes > bytes_) {
        constexpr std::size_t alignment = 64;
        const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
        memory_.reset();
        bytes_ = 0;
        memory_.reset(allocate_aligned(alignment, rounded));
        bytes_ = rounded;
    }
    return memory_.get();
}

void ScratchMemory::trim(std::size_t most_bytes) {
    if (bytes_ <= most_bytes) return;
    memory_.reset();
    bytes_ = 0;
}

struct ScratchLease::OfThread {
    ScratchMemory memory;
    bool is_taken = false;
};

// The main thread's goes before objects of static lifetime do, and those may have collectives to call in their destructors.
ScratchLease::OfThread* ScratchLease::of_thread() {
    static thread_local bool has_ended = false;
    struct Instance {
        PerProcess<OfThread> each;
        ~Instance() { has_ended = true; }
    };
    static thread_local Instance instance;
    return has_ended ? nullptr : &instance.each.get();
}

std::byte* ScratchLease::get(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (OfThread* here = of_thread(); here != nullptr && !here->is_taken) {
        here->is_taken = true;
        of_thread_ = here;
    }
    return (of_thread_ != nullptr ? of_thread_->memory : own_).get(bytes);
}

void ScratchLease::end() {
    if (has_messages_) (of_thread_ != nullptr ? of_thread_->memory : own_).abandon();
    if (of_thread_ == nullptr) return;
    of_thread_->memory.trim(kept_by_thread);
    of_thread_->is_taken = false;
}

}  // namespace hcoll
