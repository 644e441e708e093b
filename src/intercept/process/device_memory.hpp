// SPDX-License-Identifier: BSD-3-Clause
// Is a buffer in a GPU's memory, where this library can neither read nor write it? The GPU's own runtime is asked, for each buffer: so
// what one rank finds is nobody else's business, and nothing about it has to be agreed (calls/staged_buffer.hpp).
//
// A runtime may be loaded by anybody, at any time, and so that no symbol of it is visible: the list of loaded objects has it by name,
// and their count tells whether there is anything new in it. That is looked at once a tick of the system's clock (1 to 10 ms), since a runtime takes far longer from
// when it is loaded until it gives memory. Where the machine has no device, none of this is looked at; and where it has one, programs that load no runtime take
// the same ways as elsewhere, with a look at that clock where a way asks for buffers.
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
    // Has the machine a device, or is it said to have one? From open() on the same for good.
    static bool has_devices() { return has_devices_.load(std::memory_order_relaxed); }
    // May any buffer be a device's? Asked in every call: one load where there is no device.
    static bool may_be_any() {
        if (!has_devices()) [[likely]]
            return false;
        return is_runtime_loaded();
    }

    // From any thread; an address that the host may not read. Of several: any of them.
    template <typename... Address>
    static bool holds(const Address*... addresses) {
        return may_be_any() && (do_runtimes_hold(addresses) || ...);
    }
    // Between memory of any kind. False where the runtime refuses.
    static bool copy(void* to, const void* from, std::size_t bytes);
    // Is there memory that nobody can be asked about?
    static bool is_any_unknown();

private:
    // One that tells of pointers.
    static bool is_runtime_loaded();
    static bool do_runtimes_hold(const void* address);

    static std::atomic<bool> has_devices_;
};

}  // namespace hcoll
