// SPDX-License-Identifier: BSD-3-Clause
// How non-blocking collectives go on while the application does something else (LIBHCOLL_PROGRESS).
//
//   thread  a thread of this library moves them, whatever the application does. It calls MPI while the application does, so
//           MPI must have been initialized with MPI_THREAD_MULTIPLE
//   calls   they are moved in the application's own MPI calls. Open MPI has every call that waits call this library
//           (opal_progress_register, as its own non-blocking collectives do). Elsewhere the calls that wait for requests and
//           messages are taken apart (progress_calls.cpp), and so are, on all ranks alike, the collectives that this library
//           interposes on: others that block do not move them
//   off     non-blocking collectives are the vendor's
//
// auto is the thread where the process has MPI_THREAD_MULTIPLE anyway, because the application asked for it (or, in MPICH's sessions,
// has it unasked); else calls with Open MPI, where no call is left out; else off: nothing would keep the promise of rule 5
// (docs/architecture.md) without raising the thread level.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "progress/background/in_flight.hpp"
#include "progress/background/progress_thread.hpp"
#include "progress/engine/per_process.hpp"
#include "progress/network/vendor.hpp"
#include "tuning/settings.hpp"

namespace hcoll {

class Background {
public:
    // The one instance, from the opening of the backend on; never destroyed.
    static Background& get() { return *instance_; }
    static void open(const Settings& local);

    InFlight& in_flight() { return in_flight_; }
    // Is anything in flight, or can something be before a call is over that waits, which another thread begins?
    static bool may_be_in_flight() {
        return instance_->in_flight_.any() || (instance_->takes_calls_apart_.load(std::memory_order_relaxed) &&
                                               instance_->has_threads_.load(std::memory_order_relaxed));
    }
    // And have the calls that wait to move it?
    static bool calls_must_move() {
        return may_be_in_flight() && (instance_->takes_calls_apart_.load(std::memory_order_relaxed) ||
                                      instance_->in_flight_.any_with_callers_part());
    }
    // Have all ranks of MPI_COMM_WORLD to take the vendor's blocking collectives apart? A blocking one on one rank and a
    // non-blocking one on another do not match, so this is nothing that a rank decides by what it has in flight.
    static bool takes_collectives_apart() {
        return instance_->takes_collectives_apart_.load(std::memory_order_relaxed);
    }
    void agree(ProgressMode of_world);
    // MPI_Comm_idup is called. Several of them on a communicator, of which one has begun its messages on some ranks and not on others when the
    // next one is called, never end in Open MPI 4.1: it tells them apart by the order in which they move (comm_cid.c). So calls
    // that only begin something move nothing from then on, as the vendor's own do.
    void note_idup() { has_idups_.store(true, std::memory_order_relaxed); }
    bool leaves_idups_alone() const { return has_idups_.load(std::memory_order_relaxed); }

    // Around the vendor's MPI_Init, MPI_Init_thread and MPI_Session_init: the level to ask for instead of the application's, and what the
    // application is told of the one that was given.
    int level_to_ask(int asked) const;
    int level_to_tell(int asked, int given);
    // The level that the application was told, where that is not the vendor's; -1 otherwise.
    int told_level() const { return told_level_.load(std::memory_order_relaxed); }
    // May several threads of the application be in MPI at the same time?
    bool application_has_threads() const {
        const int told = told_level();
        return has_threads_.load(std::memory_order_relaxed) && (told < 0 || told == MPI_THREAD_MULTIPLE);
    }
    // Before a session is made, and after MPI_Init: one more that keeps MPI going.
    void enter();
    // Before MPI_Finalize and MPI_Session_finalize: one less. Before the last, what is in flight is completed and the thread ends,
    // since nothing may be begun any more.
    void leave();
    // Is there one that has not left? A session that is yet to be made counts, too.
    bool is_entered() {
        const std::lock_guard lock(starting_);
        return users_ != 0;
    }
    // After it was entered, with the level that the process was given: decides who moves what is begun from now on, unless that is
    // decided: ranks have agreed on communicators by it. Returns a sentence, once, where what was set cannot be had.
    std::string start(int given);

    // Around the vendor's MPI_Finalize, in which functions of the application may be called. Nothing begins there any more, also on ranks that have a
    // session, and so something that moves it: others have none.
    class Finalizing {
    public:
        Finalizing() { is_finalizing_.get() = true; }
        ~Finalizing() { is_finalizing_.get() = false; }
        Finalizing(const Finalizing&) = delete;
        Finalizing& operator=(const Finalizing&) = delete;
    };

    // Can this process move what it begins, as far as is known without trying?
    bool is_possible() const { return mode_ != ProgressMode::off; }
    // And may this thread begin anything?
    bool is_possible_now() const { return is_possible() && !is_finalizing_.get(); }
    // The same on a communicator whose processes have, or have not, all agreed in MPI_Init: where calls have to be taken apart,
    // all of them have to do it with collectives.
    bool is_possible_on(bool within_world) const;
    // Can it? Starts what does it, when it is asked first. `speaks`: about settings, as one rank of all does.
    // `ranks_of_node`: of the communicator that asks, on this process's node.
    bool is_ready(int ranks_of_node, bool speaks);
    // The cores of this node that make progress while all its ranks compute, as far as is known; at least one.
    int progress_cores(int ranks_of_node) const;
    // Moves what can be moved, or lets others run where nothing can.
    void help();

    // Completes what is in flight, and ends the thread.
    void finish();
    // At the end of a process that did not finalize.
    void finish_at_exit();

private:
    explicit Background(const Settings& local);
    bool start_thread(int ranks_of_node, bool speaks);

    static Background* instance_;
    static thread_local PerProcess<bool> is_finalizing_;
    const ProgressMode asked_mode_;
    const std::vector<int> cores_;
    std::atomic<ProgressMode> mode_{ProgressMode::off};  // automatic no more
    std::mutex starting_;  // threads set communicators up, and make sessions, at the same time
    int users_ = 0;        // the world, and sessions
    bool has_warned_ = false;
    ProgressMode started_mode_ = ProgressMode::off;  // what is there to move anything
    // Read by whatever threads make MPI calls, while another one sets a communicator up.
    std::atomic<bool> takes_calls_apart_{false};
    std::atomic<bool> takes_collectives_apart_{false};
    std::atomic<bool> has_threads_{false};  // several of the application may be in MPI at the same time
    std::atomic<int> told_level_{-1};
    std::atomic<bool> has_idups_{false};
    InFlight in_flight_;
    std::unique_ptr<ProgressThread> thread_;
};

}  // namespace hcoll
