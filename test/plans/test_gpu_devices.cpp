// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs a machine has, by its drivers' files; which shared objects are their runtimes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../support/temporary_folder.hpp"
#include "intercept/process/gpu_devices.hpp"

namespace hcoll::test {
namespace {

class Root {
public:
    void add(const std::string& file, const std::string& content = "") const {
        std::filesystem::create_directories(std::filesystem::path(path() + file).parent_path());
        std::ofstream(path() + file) << content;
    }
    const std::string& path() const { return folder_.path(); }

private:
    TemporaryFolder folder_;
};

TEST(GpuDevices, NoneWhereThereAreNoFiles) { EXPECT_FALSE(find_gpu_devices(Root().path()).any()); }

TEST(GpuDevices, EachDriverHasItsOwn) {
    const Root nvidia;
    nvidia.add("/dev/nvidiactl");
    EXPECT_TRUE(find_gpu_devices(nvidia.path()).cuda);
    EXPECT_FALSE(find_gpu_devices(nvidia.path()).hip);
    const Root amd;
    amd.add("/dev/kfd");
    EXPECT_TRUE(find_gpu_devices(amd.path()).hip);
    EXPECT_FALSE(find_gpu_devices(amd.path()).cuda);
}

// The file that renders says nothing of whose it is: nearly every machine with a screen has one.
TEST(GpuDevices, WhatRendersIsIntelsOrAnothers) {
    const Root root;
    root.add("/dev/dri/card0");
    root.add("/dev/dri/renderD128");
    root.add("/sys/class/drm/renderD128/device/vendor", "0x1002\n");
    EXPECT_FALSE(find_gpu_devices(root.path()).level_zero);
    root.add("/dev/dri/renderD129");
    root.add("/sys/class/drm/renderD129/device/vendor", "0x8086\n");
    EXPECT_TRUE(find_gpu_devices(root.path()).level_zero);
}

TEST(GpuDevices, RuntimesHaveNames) {
    EXPECT_EQ(gpu_runtime_of("/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01"), GpuRuntime::cuda);
    EXPECT_EQ(gpu_runtime_of("libcuda.so.1"), GpuRuntime::cuda);
    EXPECT_EQ(gpu_runtime_of("/opt/rocm/lib/libamdhip64.so.6"), GpuRuntime::hip);
    EXPECT_EQ(gpu_runtime_of("/usr/lib/libze_loader.so.1"), GpuRuntime::level_zero);
    for (const char* other : {"", "/usr/lib/libcudart.so.12", "/opt/libcuda.so.1/libother.so", "libc.so.6"})
        EXPECT_EQ(gpu_runtime_of(other), GpuRuntime::none) << other;
}

}  // namespace
}  // namespace hcoll::test
