// SPDX-License-Identifier: BSD-3-Clause
// Is a buffer in a GPU's memory, where this library can neither read nor write it? The GPU's own runtime is asked, for each buffer: so
// what one rank finds is nobody else's business, and nothing about it has to be agreed (calls/staged_buffer.hpp).
//
// A runtime may be loaded by anybody, at any time, and so that no symbol of it is visible: the list of loaded objects has it by name,
// and their count tells whether there is anything new in it. Where the machine has no device, none of this is looked at.
//
//   CUDA, HIP    tell of each pointer where it lies, and copy
//   Level Zero   tells only who knows the application's context: communicators with such a process are the MPI library's (all ranks
//                agree on that when they are set up)
#pragma once

#include <atomic>
#include <cstddef>

#include "intercept/process/gpu_devices.hpp"
#include "tuning/settings.hpp"

namespace hcoll {

class DeviceMemory {
public:
    // Before any collective: what the machine has, or LIBHCOLL_GPU says.
    static void open(GpuUse use);
    // May any buffer be a device's? One load: asked in every call.
    static bool may_be_any() { return may_be_any_.load(std::memory_order_relaxed); }

    // From any thread; an address that the host may not read.
    static bool holds(const void* address);
    // Between memory of any kind. False where the runtime refuses.
    static bool copy(void* to, const void* from, std::size_t bytes);
    // Is there memory that nobody can be asked about?
    static bool is_any_unknown();

private:
    static std::atomic<bool> may_be_any_;
};

}  // namespace hcoll
