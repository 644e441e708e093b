// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs this machine has, as far as their drivers' files tell: without a device there is no device memory, whatever is loaded.
#pragma once

#include <string>
#include <string_view>

namespace hcoll {

// By whose runtime their memory is reached.
struct GpuDevices {
    bool cuda = false;
    bool hip = false;
    bool level_zero = false;

    bool any() const { return cuda || hip || level_zero; }
};

// Below that folder: "" for the machine's own files.
GpuDevices find_gpu_devices(const std::string& root);

// Which runtime a shared object is, by the name of its file.
enum class GpuRuntime { none, cuda, hip, level_zero };
GpuRuntime gpu_runtime_of(std::string_view path);

}  // namespace hcoll
