// SPDX-License-Identifier: BSD-3-Clause
// How much memory this process has, as the system counts it.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace hcoll::test {

inline std::int64_t kilobytes_of_process(std::string_view field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(field)) return std::stoll(line.substr(field.size()));
    fail("/proc/self/status has no " + std::string(field));
}

inline std::int64_t resident_kilobytes() { return kilobytes_of_process("VmRSS:"); }
inline std::int64_t most_resident_kilobytes() { return kilobytes_of_process("VmHWM:"); }

}  // namespace hcoll::test
