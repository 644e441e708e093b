// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/background.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "intercept/process/log.hpp"
#include "intercept/process/process.hpp"
#include "progress/engine/simulation.hpp"
#include "topology/place.hpp"

namespace hcoll {

Background* Background::instance_ = nullptr;
thread_local PerProcess<bool> Background::is_finalizing_;

namespace {

// Open MPI calls it from every call that waits; what it has moved.
int move_in_vendor_s_calls() {
    InFlight& in_flight = Background::get().in_flight();
    return in_flight.any() && in_flight.drive() ? 1 : 0;
}

// Does every call of the vendor that waits move what is in flight?
bool is_called_by_vendor() { return vendor_is_openmpi() && mpi.opal_progress_register != nullptr; }

// Of this node, as far as is known: MPI_COMM_WORLD's, and a communicator's that may not be part of it.
int ranks_here(int ranks_of_node) { return std::max({Process::get().placements().ranks_here(), ranks_of_node, 1}); }

const HostCores& cores_here() { return Process::get().placements().cores_here(); }

}  // namespace

void Background::open(const Settings& local) {
    if (instance_ == nullptr) instance_ = new Background(local);
}

Background::Background(const Settings& local)
    : asked_mode_(local.enable && !is_simulated ? local.progress : ProgressMode::off), cores_(local.progress_cores) {
    if (asked_mode_ == ProgressMode::calls)
        mode_ = ProgressMode::calls;  // also where MPI is used through sessions alone
}

int Background::level_to_ask(int asked) const {
    return asked_mode_ == ProgressMode::thread ? MPI_THREAD_MULTIPLE : asked;
}

int Background::level_to_tell(int asked, int given) {
    if (asked_mode_ != ProgressMode::thread || asked >= given) return given;
    told_level_ = asked;
    return asked;
}

void Background::enter() {
    const std::lock_guard lock(starting_);
    ++users_;
}

void Background::leave() {
    {
        const std::lock_guard lock(starting_);
        users_ = std::max(users_ - 1, 0);  // whoever entered unseen
        if (users_ != 0) return;
    }
    finish();
}

std::string Background::start(int given) {
    const std::lock_guard lock(starting_);
    if (given == MPI_THREAD_MULTIPLE) has_threads_ = true;
    if (mode_ != ProgressMode::off || asked_mode_ == ProgressMode::off) return {};
    takes_calls_apart_ = false;
    if (Process::get().finished()) return {};
    if (asked_mode_ == ProgressMode::calls) {
        mode_ = ProgressMode::calls;
        return {};
    }
    const bool may_have_thread = given == MPI_THREAD_MULTIPLE;
    const ProgressMode without = is_called_by_vendor() ? ProgressMode::calls : ProgressMode::off;
    mode_ = may_have_thread ? ProgressMode::thread : without;
    if (may_have_thread || asked_mode_ != ProgressMode::thread || std::exchange(has_warned_, true)) return {};
    return fmt::format("LIBHCOLL_PROGRESS=thread needs MPI_THREAD_MULTIPLE, which this MPI library does not give; {}",
                       without == ProgressMode::calls ? "non-blocking collectives move in MPI calls"
                                                      : "non-blocking collectives stay with it");
}

void Background::agree(ProgressMode of_world) {
    takes_collectives_apart_ = of_world == ProgressMode::calls && !is_called_by_vendor();
}

bool Background::is_possible_on(bool within_world) const {
    if (mode_ == ProgressMode::calls && !is_called_by_vendor()) return takes_collectives_apart_ && within_world;
    return is_possible();
}

bool Background::is_ready(int ranks_of_node, bool speaks) {
    const std::lock_guard lock(starting_);
    const ProgressMode mode = mode_;
    if (mode == ProgressMode::off) return false;
    if (mode == started_mode_) return true;
    if (mode == ProgressMode::thread && thread_ == nullptr && !start_thread(ranks_of_node, speaks)) return false;
    if (mode == ProgressMode::calls) {
        takes_calls_apart_ = true;
        if (is_called_by_vendor() && mpi.opal_progress_register(&move_in_vendor_s_calls) == 0)
            takes_calls_apart_ = false;
    }
    started_mode_ = mode;
    return true;
}

bool Background::start_thread(int ranks_of_node, bool speaks) {
    // Where every rank of the node has a core for itself and another one, nobody waits for the thread's.
    const bool has_spare_cores = cores_here().of_threads >= 2 * ranks_here(ranks_of_node);
    std::vector<int> cores = cores_;
    if (cores.empty() && has_spare_cores) cores = cores_here().units;
    try {
        thread_ = std::make_unique<ProgressThread>(in_flight_, cores, has_spare_cores || !cores_.empty());
    } catch (const std::system_error& error) {
        log_line(LogLevel::warn, "there can be no progress thread ({})", error.code().message());
        return false;
    }
    if (!thread_->is_bound() && !cores_.empty() && speaks)
        log_line(LogLevel::warn,
                 "LIBHCOLL_PROGRESS_CORES names no core that this process may use; the progress thread runs "
                 "where the process does");
    return true;
}

int Background::progress_cores(int ranks_of_node) const {
    if (!cores_.empty()) return static_cast<int>(cores_.size());
    return std::max(cores_here().of_threads - ranks_here(ranks_of_node), 1);
}

void Background::help() {
    if (!in_flight_.drive()) sched_yield();
}

void Background::finish() {
    mode_ = ProgressMode::off;
    while (in_flight_.any()) help();
    const std::lock_guard lock(starting_);
    thread_.reset();
    if (started_mode_ == ProgressMode::calls && !takes_calls_apart_ && mpi.opal_progress_unregister != nullptr)
        mpi.opal_progress_unregister(&move_in_vendor_s_calls);
    started_mode_ = ProgressMode::off;
    takes_collectives_apart_ = false;
    // A persistent collective may be started all the same, by a function that MPI_Finalize calls: it moves in the calls that wait for it.
    takes_calls_apart_ = asked_mode_ != ProgressMode::off;
    has_threads_ = false;
}

void Background::finish_at_exit() {
    if (thread_ != nullptr) thread_->abandon();
}

}  // namespace hcoll
