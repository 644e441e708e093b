// SPDX-License-Identifier: BSD-3-Clause
// The one symbol that a backend exports.
#include "intercept/entry/backend.h"
#include "hcoll/build.h"
#include "intercept/communicator/communicator.hpp"

#include <fmt/format.h>
#include <unwind.h>
#include <array>
#include <cstdio>
#include <exception>

#include "intercept/calls/onward.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/observed/common_time.hpp"
#include "intercept/observed/late_report.hpp"
#include "intercept/observed/observed_wrappers.hpp"
#include "intercept/observed/traced_call.hpp"
#include "intercept/observed/watched_call.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/process.hpp"

namespace hcoll {

namespace {

void find_onward(const hcoll_vendor& library) {
    onward = mpi;
#define HCOLL_FUNCTION(name) \
    if (void* tool = library.tools_below[HCOLL_FUNCTION_##name]) ToolBelow<&Vendor::name>::lies_below(tool);
#define HCOLL_LEVEL_FUNCTION(name)  // of which the library takes its own levels only
#define HCOLL_EXTENSION_FUNCTION(name) \
    if (void* tool = library.tools_below[HCOLL_EXTENSION_FUNCTION_##name]) ToolBelow<&Vendor::name>::lies_below(tool);
#include "intercept/entry/functions.def"
#undef HCOLL_EXTENSION_FUNCTION
#undef HCOLL_FUNCTION
#undef HCOLL_LEVEL_FUNCTION
}

void (*set_wrapper)(int, void*) = nullptr;

bool is_traced = false;  // on all ranks alike

// On all ranks alike: what of it there is memory for.
bool start_times(const Settings& settings) {
    const bool is_wanted = settings.traces() || settings.reports();
    if (!is_wanted) return false;
    const int rank = Process::get().world_rank();
    if (CommonTime::start(settings) == nullptr) {
        if (rank == 0 && settings.traces())
            log_line(LogLevel::warn, "LIBHCOLL_TRACE: nothing is traced, since a rank has no memory for it");
        return false;
    }
    is_traced = settings.traces() && start_trace(settings);
    const bool reports = settings.reports() && start_late_report();
    return is_traced || reports;
}

// Calls of collectives come by those that observe them from now on.
void observe_calls(const Settings& settings) {
#define HCOLL_OBSERVED_FUNCTION(name) set_wrapper(HCOLL_FUNCTION_##name, reinterpret_cast<void*>(observed_##name));
#define HCOLL_OBSERVED_EXTENSION_FUNCTION(name) \
    set_wrapper(HCOLL_EXTENSION_FUNCTION_##name, reinterpret_cast<void*>(observed_##name));
#include "intercept/observed/observed_functions.def"
#undef HCOLL_OBSERVED_FUNCTION
#undef HCOLL_OBSERVED_EXTENSION_FUNCTION
    if (settings.sparse || (!settings.watches() && !settings.traces() && !settings.reports())) return;
    if (!start_record(settings)) {
        if (Process::get().world_rank() == 0)
            log_line(LogLevel::warn, "nothing is watched or traced, since a rank has no memory for it");
        return;
    }
    const bool has_times = start_times(settings);
    if (settings.watches() && start_watch(settings)) {
#define HCOLL_WATCHED_FUNCTION(name) set_wrapper(HCOLL_FUNCTION_##name, reinterpret_cast<void*>(watched_##name));
#include "intercept/observed/watched_functions.def"
    } else if (has_times) {
        // What all ranks come to, and what makes communicators.
#define HCOLL_WATCHED(name) set_wrapper(HCOLL_FUNCTION_##name, reinterpret_cast<void*>(watched_##name));
#define HCOLL_WATCHED_FUNCTION(name)
#define HCOLL_WATCHED_REQUESTS(name)
#define HCOLL_WATCHED_COLLECTIVE(name) HCOLL_WATCHED(name)
#define HCOLL_WATCHED_BIRTH(name) HCOLL_WATCHED(name)
#define HCOLL_WATCHED_GROUP_BIRTH(name) HCOLL_WATCHED(name)
#include "intercept/observed/watched_functions.def"
#undef HCOLL_WATCHED
    }
}

void finish_observing(bool is_in_world) {
    CommonTime* time = CommonTime::get();
    if (time == nullptr) return;
    if (is_in_world) {
        // Without it times are those of the first comparison.
        (void)time->compare();
        finish_late_report();
    }
    if (is_traced) finish_trace(is_in_world);
    if (is_in_world) time->end();
}

// A program that has an unwinder of its own (-static-libgcc) unwinds through frames of the library by that, and what such a frame does then is libgcc_s's,
// which knows no registers before it has unwound anything itself: it would end the program.
void prepare_unwinder() {
    _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

}  // namespace

}  // namespace hcoll

extern "C" __attribute__((visibility("default"))) const char hcoll_backend_build[] = HCOLL_BUILD;

extern "C" __attribute__((visibility("default"))) const hcoll_backend* hcoll_backend_open(const hcoll_vendor* library) {
    using namespace hcoll;
    static const hcoll_backend backend = {
        .wrappers =
            {
#define HCOLL_FUNCTION(name) reinterpret_cast<void*>(&wrap_##name),
#define HCOLL_LEVEL_FUNCTION(name) reinterpret_cast<void*>(&wrap_##name),
#define HCOLL_EXTENSION_FUNCTION(name) HCOLL_FUNCTION(name)
#include "intercept/entry/functions.def"
#undef HCOLL_EXTENSION_FUNCTION
#undef HCOLL_FUNCTION
#undef HCOLL_LEVEL_FUNCTION
            },
        .describe_job = &describe_job,
    };
    const auto refuse = [library](const char* why) noexcept {
        std::array<char, 1024> line{};
        std::snprintf(line.data(), line.size(), "collectives stay with the MPI library: %s", why);
        if (library->say_of_node != nullptr)
            library->say_of_node(line.data());
        else
            log_line(LogLevel::warn, line.data());
    };
    try {
        const std::string missing = load_vendor(library->handle);
        if (!missing.empty()) {
            refuse(fmt::format("{} has no {}", library->path, missing).c_str());
            return nullptr;
        }
        prepare_unwinder();
        find_onward(*library);
        Communicator::prepare();
        set_wrapper = library->set_wrapper;
        if (!Process::is_open())
            Process::open({.version_text = library->version_text,
                           .stand_aside = library->stand_aside,
                           .observe_calls = observe_calls,
                           .finish_observing = finish_observing,
                           .release_communicators = Communicator::release_all,
                           .build = HCOLL_BUILD});
        return &backend;
    } catch (const std::exception& error) {
        refuse(error.what());
    } catch (...) {
        refuse("it cannot begin");
    }
    return nullptr;
}
