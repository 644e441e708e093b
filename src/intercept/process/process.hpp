// SPDX-License-Identifier: BSD-3-Clause
// What belongs to the process: settings as agreed, the mode, the report, start and end.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "intercept/process/learned_places.hpp"
#include "intercept/process/placement_finder.hpp"
#include "intercept/process/report.hpp"
#include "progress/engine/per_process.hpp"
#include "progress/network/vendor.hpp"
#include "tuning/selection.hpp"

namespace hcoll {

// Settings that ranks have agreed upon, with what they agreed by: the build of the library that they are for, and the settings.
struct AgreedSettings {
    Settings settings;
    std::string text;
    std::uint64_t hash = 0;
    const char* why_disabled = "LIBHCOLL_ENABLE=0";  // where the settings have it off
};

class Process {
public:
    // What the process is told by those that are above it.
    struct Opening {
        const char* version_text;  // of MPI_Get_library_version
        void (*stand_aside)();     // makes every interposed function jump straight to the MPI library; may be nullptr
        // Has collectives be observed (observed_call.hpp) from now on, and, where the settings watch, calls that wait; on all ranks of MPI_COMM_WORLD.
        // May be nullptr.
        void (*observe_calls)(const Settings& settings) = nullptr;
        // At finalize, on all ranks of MPI_COMM_WORLD, while MPI still works, or (`is_in_world` false) without the others.
        void (*finish_observing)(bool is_in_world) = nullptr;
        void (*release_communicators)() = nullptr;  // at finalize, while MPI still works
        std::string_view build{};                   // of this library: what all ranks have to have alike
    };

    // The one instance; made when the backend is opened, never destroyed.
    static Process& get() { return *instance_.get(); }
    static void open(const Opening& opening);
    static bool is_open() { return instance_.get() != nullptr; }

    // SimGrid's keeps to MPICH's rules about arguments.
    static VendorKind vendor_kind() { return vendor_is_openmpi() ? VendorKind::openmpi : VendorKind::mpich; }
    const std::shared_ptr<const AgreedSettings>& agreed() const { return *agreed_.load(std::memory_order_acquire); }
    // The same, by the rank whose settings hold for others: with the table that it reads, unless MPI_COMM_WORLD has agreed already.
    std::shared_ptr<const AgreedSettings> agreed_with_table();

    // Did this process agree on its settings with all of MPI_COMM_WORLD?
    bool has_world() const { return has_world_.load(std::memory_order_acquire); }
    // This process's rank there.
    int world_rank() const { return world_rank_; }
    // Will finish() be called in MPI_Finalize?
    bool sees_finalize() const { return sees_finalize_; }
    // The MPI library, as it names itself.
    const std::string& library_line() const { return library_line_; }
    // Had any of its processes a session before? Then some communicator may have been used before all ranks had agreed.
    bool has_earlier_sessions() const { return has_earlier_sessions_; }
    // There will be a session. Waits while MPI_COMM_WORLD agrees.
    void note_session();
    // It is there, or is about to go.
    void add_session(Session session);
    void remove_session(Session session);
    // What a session calls mpi://WORLD, for the caller to free; false where there is no session that tells.
    bool find_started(MPI_Group& group);
    // Before this process may meet others that were not started with it, and whether it may have.
    void note_joining() { may_have_joined_.store(true, std::memory_order_relaxed); }
    bool may_have_joined() const { return may_have_joined_.load(std::memory_order_relaxed); }

    // MPI_Pcontrol's switch: may own algorithms run?
    bool own_mode() const { return own_mode_.load(std::memory_order_relaxed); }
    void set_own_mode(bool own) { own_mode_.store(own, std::memory_order_relaxed); }

    // nullptr where no report was asked for.
    Report* report() const { return report_.get(); }

    // Are calls to be noted: for a report, or for who observes them?
    bool notes_calls() const { return notes_calls_; }
    // Where calls are observed: may buffers of any rank of MPI_COMM_WORLD be in a GPU's memory?
    bool has_devices_anywhere() const { return has_devices_anywhere_; }

    // Where ranks are.
    PlacementFinder& placements() { return placements_; }
    // What was learned, of communicators that are gone.
    LearnedPlaces& learned() { return learned_; }

    // After MPI_Init, on all ranks of MPI_COMM_WORLD: agrees on settings, finds out where ranks are, sets the finalize hook.
    // `warning`: one more of this process; may be empty.
    void start_world(std::string warning);
    // One more that is to be printed with those about settings; none if empty.
    void add_warning(std::string warning);
    // Tells the settings of the communicator's rank 0 to all its ranks, by collectives on the communicator itself. Fails on all ranks, where
    // one of them has no memory for it. Where one has another build, all leave everything to the MPI library.
    int broadcast_settings(MPI_Comm communicator, int rank, std::shared_ptr<const AgreedSettings>& agreed) const;
    // Prints what is wrong with the settings, once, where this rank `speaks`; another forgets it.
    void print_warnings(bool speaks);
    // Once, by a process that is rank 0 of a communicator of sessions: which settings do nothing there.
    void tell_what_awaits_world();
    // A communicator is used: makes sure of the finalize hook, and of who prints where there is no MPI_COMM_WORLD.
    void note_communicator(int rank, int size);

    // In MPI_Finalize: where no session is left, duplicates are freed, the report is written, and calls go straight to the vendor from now on.
    void finish();
    // A session that was left by MPI_Finalize is about to go: where it is the last one, what finish() left to do.
    void finish_last_session();
    // At the end of the process; calls no MPI.
    void finish_at_exit();
    bool finished() const { return finished_.load(std::memory_order_relaxed); }
    // Has it a session that it has not left? One that is yet to be made keeps MPI going no more than none.
    bool has_session();
    // The same, or MPI_COMM_WORLD?
    bool keeps_mpi() { return has_session() || (has_world() && !has_left_world_.load()); }

private:
    explicit Process(const Opening& opening);
    // `is_all_of_it`: nor are results and arguments looked at.
    void tell_who_does_not_observe(const Settings& settings, bool is_all_of_it, std::string_view why) const;
    // What is found out while MPI_COMM_WORLD agrees on its settings, of one rank, and then of all.
    struct Found {
        bool has_sessions = false;
        int other_build = -1;  // a rank whose build is not that of rank 0

        int number() const { return 2 * (other_build + 1) + (has_sessions ? 1 : 0); }
        void add(int number) {
            has_sessions = has_sessions || number % 2 != 0;
            other_build = std::max(other_build, number / 2 - 1);
        }
    };
    bool spread_settings(int rank, int size, std::shared_ptr<const AgreedSettings>& agreed, Found& found) const;
    std::shared_ptr<const AgreedSettings> make_agreed(const Settings& settings) const;
    // Rank 0's settings, as text, in place of this rank's. False where they are of another build, by which they may mean something else.
    bool adopt(std::string_view text, std::shared_ptr<const AgreedSettings>& agreed) const;
    void make_absolute(std::string& path);
    void publish(std::shared_ptr<const AgreedSettings> agreed);
    void read_table();
    void set_finalize_hook();
    void write_report();
    void keep_learned();
    void end(bool is_in_world);

    static PerProcess<Process*> instance_;
    std::string library_line_;
    void (*stand_aside_)();
    void (*observe_calls_)(const Settings&);
    void (*finish_observing_)(bool);
    void (*release_communicators_)();
    std::string build_;
    pid_t process_id_;
    std::vector<std::string> warnings_;  // about the settings of this process; not yet printed
    Settings local_;
    std::string learn_path_;  // of LIBHCOLL_LEARN
    std::string started_in_;  // the working directory then; empty where it was gone
    // All that were ever in force: other threads may set communicators of sessions up while MPI_COMM_WORLD agrees.
    std::deque<std::shared_ptr<const AgreedSettings>> every_agreed_;
    std::atomic<const std::shared_ptr<const AgreedSettings>*> agreed_{nullptr};
    std::unique_ptr<Report> report_;
    bool notes_calls_ = false;  // not changed once MPI is initialized, nor is this:
    bool has_devices_anywhere_ = true;
    PlacementFinder placements_;
    LearnedPlaces learned_;
    std::mutex reading_table_;
    bool has_looked_for_table_ = false;
    // Of what sessions and MPI_COMM_WORLD have to know of each other; MPI_Init holds it while it waits for other ranks.
    std::mutex agreeing_;
    bool has_sessions_ = false;
    std::atomic<bool> has_told_what_awaits_world_{false};
    std::mutex listing_sessions_;        // of the next one; no rank waits with it
    std::vector<Session> sessions_;      // that live
    bool has_earlier_sessions_ = false;  // of all ranks; not changed once there is a world
    std::atomic<bool> has_world_{false};
    int world_rank_ = 0;
    std::atomic<bool> may_have_joined_{false};
    std::atomic<bool> own_mode_{true};
    std::atomic<bool> has_left_world_{false};
    std::atomic<bool> finished_{false};
    std::atomic<bool> has_finalize_hook_{false};
    std::atomic<bool> sees_finalize_{false};
    std::mutex
        mutex_;  // of what follows, of warnings_ and every_agreed_: threads set communicators up at the same time
    // Who prints: the rank in the largest communicator seen, MPI_COMM_WORLD if there is one.
    int rank_ = -1;
    int size_ = 0;
};

}  // namespace hcoll
