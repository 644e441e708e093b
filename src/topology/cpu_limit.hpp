// SPDX-License-Identifier: BSD-3-Clause
// How much of the CPUs the system lets a process use, whatever it is bound to: the bandwidth limit of its control group.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace hcoll {

struct CpuLimit {
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    std::uint64_t group = 0;           // whose processes share it; equal for them on one host
    std::uint64_t thousandths = none;  // of a CPU
};

// Of the calling process: the lowest one on the way up from its group (version 2's cpu.max, version 1's cpu.cfs_quota_us). Files
// are looked for below `root`.
CpuLimit cpu_limit(const std::string& root = "");

// How many of `cores`, at least one, processes with these limits have together.
int limited_cores(int cores, std::span<const CpuLimit> limits);

}  // namespace hcoll
