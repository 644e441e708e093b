// SPDX-License-Identifier: BSD-3-Clause
// Which buffers are a device's (test/support/fake_device.h), before and after a runtime of it is loaded.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>

#include "intercept/process/device_memory.hpp"

namespace hcoll::test {
namespace {

template <typename Function>
Function function_of(const char* file, const char* name) {
    const std::filesystem::path path = std::filesystem::path(HCOLL_TEST_RUNTIMES) / file;
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Function>(handle == nullptr ? nullptr : dlsym(handle, name));
}

// One after another in one process, as a runtime that is loaded stays.
TEST(DeviceMemory, IsAskedForFromWhenARuntimeIsLoaded) {
    std::array<std::byte, 64> host{};
    DeviceMemory::open(GpuUse::off);
    EXPECT_FALSE(DeviceMemory::has_devices());
    EXPECT_FALSE(DeviceMemory::may_be_any());
    EXPECT_FALSE(DeviceMemory::holds(host.data()));

    // A machine with a device, and a program that does not use it.
    DeviceMemory::open(GpuUse::on);
    EXPECT_TRUE(DeviceMemory::has_devices());
    EXPECT_FALSE(DeviceMemory::may_be_any());
    EXPECT_FALSE(DeviceMemory::holds(host.data()));

    const auto allocate_hip = function_of<int (*)(void**, std::size_t)>("libamdhip64.so.6", "hipMalloc");
    ASSERT_NE(allocate_hip, nullptr);
    void* of_hip = nullptr;
    ASSERT_EQ(allocate_hip(&of_hip, host.size()), 0);
    EXPECT_TRUE(DeviceMemory::may_be_any());
    EXPECT_TRUE(DeviceMemory::holds(of_hip));
    EXPECT_FALSE(DeviceMemory::holds(host.data()));
    EXPECT_FALSE(DeviceMemory::holds(static_cast<const void*>(nullptr)));
    EXPECT_TRUE(DeviceMemory::holds(host.data(), of_hip));

    // And one of another device, where one is known.
    const auto allocate_cuda = function_of<int (*)(unsigned long long*, std::size_t)>("libcuda.so.1", "cuMemAlloc_v2");
    ASSERT_NE(allocate_cuda, nullptr);
    unsigned long long of_cuda = 0;
    ASSERT_EQ(allocate_cuda(&of_cuda, host.size()), 0);
    EXPECT_TRUE(DeviceMemory::holds(reinterpret_cast<void*>(of_cuda)));
    EXPECT_TRUE(DeviceMemory::holds(of_hip));

    host.fill(std::byte{7});
    EXPECT_TRUE(DeviceMemory::copy(of_hip, host.data(), host.size()));
    host.fill(std::byte{0});
    EXPECT_TRUE(DeviceMemory::copy(host.data(), of_hip, host.size()));
    EXPECT_EQ(host.back(), std::byte{7});

    DeviceMemory::open(GpuUse::off);
    EXPECT_FALSE(DeviceMemory::holds(of_hip));
}

}  // namespace
}  // namespace hcoll::test
