// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace hcoll {

std::atomic<bool> DeviceMemory::has_devices_{false};

namespace {

template <typename Function>
bool load(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
}

// The CUDA driver API (docs.nvidia.com/cuda/cuda-driver-api, unified addressing and memory management).
struct Cuda {
    using Pointer = unsigned long long;  // CUdeviceptr
    static constexpr int context_attribute = 1;
    static constexpr int memory_type_attribute = 2;
    static constexpr int is_managed_attribute = 8;
    static constexpr unsigned int host_memory = 1;

    // Until they are found, all fail.
    int (*get_attribute)(void*, int, Pointer) = [](void*, int, Pointer) { return 1; };
    int (*memcpy)(Pointer, Pointer, std::size_t) = [](Pointer, Pointer, std::size_t) { return 1; };
    int (*push_context)(void*) = [](void*) { return 1; };
    int (*pop_context)(void**) = [](void**) { return 1; };
    int (*synchronize)(void*) = [](void*) { return 1; };

    bool load_from(void* handle) {
        return load(handle, "cuPointerGetAttribute", get_attribute) && load(handle, "cuMemcpy", memcpy) &&
               load(handle, "cuCtxPushCurrent_v2", push_context) && load(handle, "cuCtxPopCurrent_v2", pop_context) &&
               load(handle, "cuStreamSynchronize", synchronize);
    }
    // Managed memory moves: another process may not read it. What the driver does not know is the host's.
    bool holds(const void* address) const {
        unsigned int type = host_memory;
        const auto pointer = reinterpret_cast<Pointer>(address);
        if (get_attribute(&type, memory_type_attribute, pointer) != 0) return false;
        if (type != host_memory) return true;
        unsigned int is_managed = 0;
        return get_attribute(&is_managed, is_managed_attribute, pointer) == 0 && is_managed != 0;
    }
    // In the context of the memory, since this thread may have none. What comes from pageable memory may be on its way when the
    // copy returns.
    bool copy(void* to, const void* from, std::size_t bytes) const {
        const auto target = reinterpret_cast<Pointer>(to);
        const auto source = reinterpret_cast<Pointer>(from);
        void* context = nullptr;
        if (get_attribute(&context, context_attribute, holds(to) ? target : source) != 0) context = nullptr;
        if (context != nullptr && push_context(context) != 0) return false;
        const bool is_copied = memcpy(target, source, bytes) == 0 && synchronize(nullptr) == 0;
        if (context != nullptr) pop_context(&context);
        return is_copied;
    }
};

// The HIP runtime API (rocm.docs.amd.com).
struct Hip {
    static constexpr int default_kind = 4;  // hipMemcpyDefault
    // The first fields are the same in all versions; the numbers of types are not: 0 is the host's or unknown, and 1 is a device's in
    // version 5 and the host's in version 6, where it has an address for the host.
    struct Attributes {
        int type;
        int device;
        void* device_pointer;
        void* host_pointer;
        int is_managed;
        std::array<unsigned int, 24> rest;
    };

    int (*get_attributes)(Attributes*, const void*) = [](Attributes*, const void*) { return 1; };
    int (*memcpy)(void*, const void*, std::size_t, int) = [](void*, const void*, std::size_t, int) { return 1; };
    int (*get_last_error)() = [] { return 0; };

    bool load_from(void* handle) {
        return load(handle, "hipPointerGetAttributes", get_attributes) && load(handle, "hipMemcpy", memcpy) &&
               load(handle, "hipGetLastError", get_last_error);
    }
    bool holds(const void* address) const {
        Attributes attributes{};
        if (get_attributes(&attributes, address) != 0) {
            get_last_error();  // which the application would find otherwise
            return false;
        }
        if (attributes.is_managed != 0) return true;
        return attributes.type > 1 || (attributes.type == 1 && attributes.host_pointer == nullptr);
    }
    bool copy(void* to, const void* from, std::size_t bytes) const {
        return memcpy(to, from, bytes, default_kind) == 0;
    }
};

// Those that were found, for good: a runtime that was loaded stays, since its functions are called.
class Runtimes {
public:
    void open(const GpuDevices& devices) { devices_ = devices; }

    // Looks for what was loaded since the last tick.
    void refresh_at_tick() {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
        const std::int64_t tick = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
        if (tick == tick_seen_.load(std::memory_order_relaxed)) return;
        refresh();
        tick_seen_.store(tick, std::memory_order_relaxed);
    }
    // Since the last time.
    void refresh() {
        std::uint64_t loads = 0;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* count) {
                *static_cast<std::uint64_t*>(count) = info->dlpi_adds;
                return 1;  // it is the same for all
            },
            &loads);
        if (loads == loads_seen_.load(std::memory_order_acquire)) return;
        const std::lock_guard lock(mutex_);
        std::vector<std::string> paths;
        dl_iterate_phdr(
            [](dl_phdr_info* info, std::size_t, void* found) {
                if (info->dlpi_name != nullptr && gpu_runtime_of(info->dlpi_name) != GpuRuntime::none)
                    static_cast<std::vector<std::string>*>(found)->emplace_back(info->dlpi_name);
                return 0;
            },
            &paths);
        for (const std::string& path : paths) use(path);
        loads_seen_.store(loads, std::memory_order_release);
    }

    const Cuda* cuda() const { return has_cuda_.load(std::memory_order_acquire) ? &cuda_ : nullptr; }
    const Hip* hip() const { return has_hip_.load(std::memory_order_acquire) ? &hip_ : nullptr; }
    bool has_any_that_tells() const { return cuda() != nullptr || hip() != nullptr; }
    bool has_level_zero() const { return has_level_zero_.load(std::memory_order_acquire); }

private:
    void use(const std::string& path) {
        const GpuRuntime runtime = gpu_runtime_of(path);
        const bool is_known = (runtime == GpuRuntime::cuda && has_cuda_) || (runtime == GpuRuntime::hip && has_hip_) ||
                              (runtime == GpuRuntime::level_zero && has_level_zero_);
        if (is_known) return;
        if (runtime == GpuRuntime::level_zero) {
            has_level_zero_ = devices_.level_zero;
            return;
        }
        const bool is_cuda = runtime == GpuRuntime::cuda;
        if (!(is_cuda ? devices_.cuda : devices_.hip)) return;
        void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr) return;
        if (is_cuda)
            has_cuda_ = cuda_.load_from(handle);
        else
            has_hip_ = hip_.load_from(handle);
    }

    GpuDevices devices_;
    std::atomic<std::int64_t> tick_seen_{-1};
    std::atomic<std::uint64_t> loads_seen_{0};
    std::mutex mutex_;
    Cuda cuda_;
    Hip hip_;
    std::atomic<bool> has_cuda_{false};
    std::atomic<bool> has_hip_{false};
    std::atomic<bool> has_level_zero_{false};
};

Runtimes& runtimes() {
    static auto* instance = new Runtimes;
    return *instance;
}

}  // namespace

void DeviceMemory::open(GpuUse use) {
    const GpuDevices devices = use == GpuUse::off  ? GpuDevices{}
                               : use == GpuUse::on ? GpuDevices{.cuda = true, .hip = true, .level_zero = true}
                                                   : find_gpu_devices("");
    runtimes().open(devices);
    has_devices_.store(devices.any(), std::memory_order_relaxed);
}

bool DeviceMemory::is_runtime_loaded() {
    Runtimes& known = runtimes();
    if (!known.has_any_that_tells()) known.refresh_at_tick();
    return known.has_any_that_tells();
}

bool DeviceMemory::do_runtimes_hold(const void* address) {
    if (address == nullptr) return false;
    Runtimes& known = runtimes();
    known.refresh_at_tick();
    if (const Cuda* cuda = known.cuda(); cuda != nullptr && cuda->holds(address)) return true;
    const Hip* hip = known.hip();
    return hip != nullptr && hip->holds(address);
}

bool DeviceMemory::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return true;
    const Runtimes& known = runtimes();
    if (const Cuda* cuda = known.cuda(); cuda != nullptr && (cuda->holds(to) || cuda->holds(from)))
        return cuda->copy(to, from, bytes);
    if (const Hip* hip = known.hip(); hip != nullptr) return hip->copy(to, from, bytes);
    std::memcpy(to, from, bytes);
    return true;
}

bool DeviceMemory::is_any_unknown() {
    if (!has_devices()) return false;
    runtimes().refresh();
    return runtimes().has_level_zero();
}

}  // namespace hcoll
