// SPDX-License-Identifier: BSD-3-Clause
// The wrappers of MPI's sessions (MPI 4.0, section 11.3). A session says in an info which thread level it asks for, and in another
// one which it was given; like MPI_Init, it is asked for what a setting wants, and its maker is told what it asked for.
#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "intercept/calls/onward.hpp"
#include "intercept/calls/wrappers.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/communicator/process_group.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/process.hpp"
#include "intercept/types/type_layout.hpp"

namespace hcoll {

namespace {

constexpr const char* level_key = "thread_level";
constexpr int unknown_level = -1;

struct NamedLevel {
    std::string_view name;
    int level;
};
constexpr NamedLevel named_levels[] = {{"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
                                       {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
                                       {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
                                       {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}};

// A value that does not fit would be an error.
int level_in(MPI_Info info) {
    std::array<char, 32> name{};
    int length = 0;
    int is_there = 0;
    if (info == MPI_INFO_NULL || mpi.Info_get_valuelen(info, level_key, &length, &is_there) != MPI_SUCCESS ||
        is_there == 0 || length >= static_cast<int>(name.size()) ||
        mpi.Info_get(info, level_key, static_cast<int>(name.size()) - 1, name.data(), &is_there) != MPI_SUCCESS)
        return unknown_level;
    for (const NamedLevel& each : named_levels)
        if (each.name == name.data()) return each.level;
    return unknown_level;
}

bool set_level(MPI_Info info, int level) {
    for (const NamedLevel& each : named_levels)
        if (each.level == level) return mpi.Info_set(info, level_key, each.name.data()) == MPI_SUCCESS;
    return false;
}

// `info` with another level; MPI_INFO_NULL where there can be none.
MPI_Info with_level(MPI_Info info, int level) {
    MPI_Info changed = MPI_INFO_NULL;
    const int status = info == MPI_INFO_NULL ? mpi.Info_create(&changed) : mpi.Info_dup(info, &changed);
    if (status != MPI_SUCCESS) return MPI_INFO_NULL;
    if (!set_level(changed, level)) mpi.Info_free(&changed);
    return changed;
}

// What the process was given. MPICH 4.0 tells every session MPI_THREAD_MULTIPLE, also beside an MPI_Init that set another level.
int level_given_to(Session session) {
    MPI_Info info = MPI_INFO_NULL;
    if (mpi.Session_get_info == nullptr || mpi.Session_get_info(session, &info) != MPI_SUCCESS)
        return MPI_THREAD_SINGLE;
    int level = std::max<int>(level_in(info), MPI_THREAD_SINGLE);
    mpi.Info_free(&info);
    int is_initialized = 0;
    int of_world = MPI_THREAD_SINGLE;
    if (mpi.Initialized(&is_initialized) == MPI_SUCCESS && is_initialized != 0)
        level = mpi.Query_thread(&of_world) == MPI_SUCCESS ? std::min(level, of_world) : MPI_THREAD_SINGLE;
    return level;
}

// The sessions for which more was asked than their makers did. A handle that was finalized is forgotten when it comes again.
struct RaisedSessions {
    struct Entry {
        Session session;
        int asked;
    };
    std::mutex mutex;
    std::vector<Entry> entries;

    void note(Session session, int asked, bool is_raised) {
        const std::lock_guard lock(mutex);
        std::erase_if(entries, [&](const Entry& entry) { return entry.session == session; });
        if (is_raised) entries.push_back({session, asked});
    }
    int asked_by(Session session) {
        const std::lock_guard lock(mutex);
        for (const Entry& entry : entries)
            if (entry.session == session) return entry.asked;
        return unknown_level;
    }
};

RaisedSessions& raised_sessions() {
    static auto* const sessions = new RaisedSessions;  // for threads that outlive main
    return *sessions;
}

}  // namespace

int wrap_Session_init(MPI_Info info, MPI_Errhandler handler, Session* session) {
    Background& background = Background::get();
    // A handle that is no info is for the vendor to judge, and so is everything where nothing here could change.
    const bool may_raise = background.level_to_ask(unknown_level) != unknown_level;
    const int asked = may_raise ? level_in(info) : unknown_level;
    const int level = background.level_to_ask(asked);
    Process::get().note_session();
    background.enter();
    MPI_Info changed = level != asked ? with_level(info, level) : MPI_INFO_NULL;
    const bool is_changed = changed != MPI_INFO_NULL;
    const int status = onward.Session_init(is_changed ? changed : info, handler, session);
    if (is_changed) mpi.Info_free(&changed);
    if (status != MPI_SUCCESS) {
        background.leave();
        return status;
    }
    try {
        Process::get().add_session(*session);
        raised_sessions().note(*session, asked, is_changed && asked != unknown_level);
        Process::get().add_warning(background.start(level_given_to(*session)));
    } catch (const std::bad_alloc&) {
        return MPI_SUCCESS;  // the session is there; non-blocking collectives stay with the vendor
    }
    return MPI_SUCCESS;
}

int wrap_Session_finalize(Session* session) {
#if defined(HCOLL_FLAVOUR_OPENMPI)
    // Of Open MPI 5 and newer, whichever mpi.h this was compiled with.
    const bool is_one = session != nullptr && *session != openmpi_objects.ompi_mpi_instance_null;
#elif MPI_VERSION >= 4
    const bool is_one = session != nullptr && *session != MPI_SESSION_NULL;
#else
    const bool is_one = session != nullptr;
#endif
    Background& background = Background::get();
    if (is_one) {
        background.leave();
        // Also where others go on: one that another thread is making does not keep MPI going yet.
        Communicator::forget_key();
        ProcessGroups::get().free_unknown();
        Process::get().remove_session(*session);
        if (!Process::get().keeps_mpi()) forget_type_layouts();
        Process::get().finish_last_session();
    }
    const int status = onward.Session_finalize(session);
    if (is_one && status != MPI_SUCCESS) {
        background.enter();
        Process::get().add_session(*session);
    }
    return status;
}

int wrap_Session_get_info(Session session, MPI_Info* info) {
    const int status = onward.Session_get_info(session, info);
    if (status != MPI_SUCCESS) return status;
    if (const int asked = raised_sessions().asked_by(session); asked != unknown_level) set_level(*info, asked);
    return MPI_SUCCESS;
}

}  // namespace hcoll
