// Lines on standard error, at the level that LIBHCOLL_LOG allows.
#pragma once

#include <string_view>

#include "tuning/settings.hpp"

namespace hcoll {

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view line);

}  // namespace hcoll
