// SPDX-License-Identifier: BSD-3-Clause
// Lines on standard error, at the level that LIBHCOLL_LOG allows.
#pragma once

#include <fmt/format.h>

#include <new>
#include <string_view>
#include <utility>

#include "tuning/settings.hpp"

namespace hcoll {

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view line);

// The same of a line that is made only where it is printed. Where there is no memory for it, it is lost, and nothing else.
template <typename First, typename... Rest>
void log_line(LogLevel level, fmt::format_string<First, Rest...> format, First&& first, Rest&&... rest) {
    if (!log_enabled(level)) return;
    try {
        log_line(level, std::string_view(fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...)));
    } catch (const std::bad_alloc&) {
        // Nobody depends on it.
    }
}

}  // namespace hcoll
