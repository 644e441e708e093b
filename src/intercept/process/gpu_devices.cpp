// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/gpu_devices.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace hcoll {

namespace {

bool is_there(const std::string& path) {
    std::error_code none;
    return std::filesystem::exists(path, none);
}

// A device that renders, of Intel's.
bool has_intel_device(const std::string& root) {
    std::error_code problem;
    std::filesystem::directory_iterator entries(root + "/dev/dri", problem);
    for (; !problem && entries != std::filesystem::directory_iterator(); entries.increment(problem)) {
        const std::string name = entries->path().filename().string();
        if (!name.starts_with("renderD")) continue;
        std::string path = root;
        path.append("/sys/class/drm/").append(name).append("/device/vendor");
        std::ifstream file(path);
        std::string vendor;
        if (file >> vendor && vendor == "0x8086") return true;
    }
    return false;
}

}  // namespace

GpuDevices find_gpu_devices(const std::string& root) {
    const auto has_any = [&](std::initializer_list<const char*> files) {
        return std::any_of(files.begin(), files.end(), [&](const char* file) { return is_there(root + file); });
    };
    return {.cuda = has_any({"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/dxg", "/dev/nvhost-gpu"}),
            .hip = has_any({"/dev/kfd"}),
            .level_zero = has_intel_device(root)};
}

GpuRuntime gpu_runtime_of(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libcuda.so")) return GpuRuntime::cuda;
    if (name.starts_with("libamdhip64.so")) return GpuRuntime::hip;
    if (name.starts_with("libze_loader.so") || name.starts_with("libze_intel_gpu.so")) return GpuRuntime::level_zero;
    return GpuRuntime::none;
}

}  // namespace hcoll
