// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace hcoll {

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::off: return spdlog::level::off;
        case LogLevel::error: return spdlog::level::err;
        case LogLevel::warn: return spdlog::level::warn;
        case LogLevel::info: return spdlog::level::info;
        case LogLevel::debug: break;
    }
    return spdlog::level::debug;
}

// Never destroyed: MPI may still be finalized from an exit handler. Not registered with spdlog, whose registry may be
// shared with the application.
spdlog::logger& logger() {
    static auto* instance = [] {
        auto* made = new spdlog::logger("libhcoll", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("libhcoll: %l: %v");
        made->set_level(spdlog::level::warn);
        return made;
    }();
    return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

bool log_enabled(LogLevel level) { return logger().should_log(spdlog_level(level)); }

void log_line(LogLevel level, std::string_view line) { logger().log(spdlog_level(level), "{}", line); }

}  // namespace hcoll
