// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/communicator/own_algorithms.hpp"

#include <algorithm>

#include "intercept/process/abort_job.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/log.hpp"
#include "intercept/process/process.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

bool leaves_all_to_vendor(const DecisionTable& table) {
    for (const SizeRange& range : table)
        if (range.decision.is_own()) return false;
    return true;
}

CallDecisions::CallDecisions(DecisionTables of_blocking, NonblockingTables of_nonblocking, TrialTables of_trials,
                             const Placement& placement)
    : blocking(std::move(of_blocking)), nonblocking(std::move(of_nonblocking)), trials(std::move(of_trials)) {
    for (DecisionTable& table : blocking)
        for (SizeRange& range : table) range.decision.note_order(placement);
    for (TrialTable& table : trials)
        for (TrialRange& range : table)
            for (Decision& decision : range.others) decision.note_order(placement);
    const auto why_vendor = [](const DecisionTable& table) {
        return leaves_all_to_vendor(table) ? table.front().decision.why.c_str() : nullptr;
    };
    std::transform(blocking.begin(), blocking.end(), vendor_only.begin(), why_vendor);
    std::transform(nonblocking.begin(), nonblocking.end(), nonblocking_vendor_only.begin(), why_vendor);
    // Where anything is tried, ranks agree in calls that wait for all, whoever runs those.
    const bool is_any_tried = std::any_of(trials.begin(), trials.end(), [](const auto& each) { return !each.empty(); });
    for (std::size_t i = 0; i < collective_count; ++i)
        if (!trials[i].empty() || (is_any_tried && waits_for_all(static_cast<Collective>(i)))) vendor_only[i] = nullptr;
}

void ServedCommunicator::begin(MPI_Comm communicator) {
    const std::lock_guard lock(mutex_);
    communicator_ = communicator;
    was_fatal_ = false;
}

void ServedCommunicator::end(bool has_more) {
    const std::lock_guard lock(mutex_);
    was_fatal_ = has_more && is_fatal();
    communicator_ = MPI_COMM_NULL;
}

bool ServedCommunicator::is_fatal() {
    MPI_Errhandler handler{};
    if (communicator_ == MPI_COMM_NULL || mpi.Comm_get_errhandler(communicator_, &handler) != MPI_SUCCESS) return false;
    bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
#if defined(HCOLL_FLAVOUR_OPENMPI)
    // Of Open MPI 5 and newer, whichever mpi.h this was compiled with.
    if (void* abort = openmpi_objects.ompi_mpi_errors_abort; abort != nullptr)
        is_fatal = is_fatal || handler == static_cast<MPI_Errhandler>(abort);
#elif defined(MPI_ERRORS_ABORT)
    is_fatal = is_fatal || handler == MPI_ERRORS_ABORT;
#endif
    mpi.Errhandler_free(&handler);
    return is_fatal;
}

void ServedCommunicator::fail(int status) {
    const std::lock_guard lock(mutex_);
    if (was_fatal_) {
        log_line(LogLevel::error,
                 "a collective on a communicator that is freed has failed (MPI error {}), and errors are fatal there",
                 status);
        abort_job(status);
    }
    if (is_fatal()) mpi.Comm_call_errhandler(communicator_, status);
}

void OwnAlgorithms::revoke() {
    is_broken = true;
    if (peers != nullptr) peers->give_up(NodeBreak::revoked);
    if (shared_duplicate != nullptr) shared_duplicate->close();
    for (MPI_Comm each : {leaders, duplicate})
        if (each != MPI_COMM_NULL && mpi.Comm_revoke != nullptr)
            if (const int status = mpi.Comm_revoke(each); status != MPI_SUCCESS)
                log_line(LogLevel::warn, "a duplicate cannot be revoked (MPI error {})", status);
}

void OwnAlgorithms::prepare_to_learn(const Settings& settings) {
    const auto is_empty = [](const TrialTable& table) { return table.empty(); };
    if (std::all_of(decisions->trials.begin(), decisions->trials.end(), is_empty)) return;
    learning = Learning(&decisions->blocking, &decisions->trials, settings.tune, settings.bits);
}

void OwnAlgorithms::learn_no_more() {
    learning = Learning();
    for (std::size_t i = 0; i < collective_count; ++i) forget_repeated(static_cast<Collective>(i));
}

void OwnAlgorithms::forget_repeated(Collective collective) {
    repeated_reductions[static_cast<std::size_t>(collective)] = {};
    repeated_blocks[static_cast<std::size_t>(collective)] = {};
    if (collective == Collective::bcast) {
        repeated_bcast = {};
        repeated_line = {};
    }
    if (collective == Collective::barrier) repeated_barrier = {};
}

void OwnAlgorithms::decide_by(std::shared_ptr<const CallDecisions> others) {
    // What a communicator was asked to run is tried against nothing.
    learning = Learning();
    plans.clear();
    nonblocking.plans.clear();
    repeated_reductions = {};
    repeated_blocks = {};
    repeated_bcast = {};
    repeated_line = {};
    repeated_barrier = {};
    decisions = std::move(others);
}

void OwnAlgorithms::free_communicators() {
    if (neighbors.is_complete()) {
        neighbors.free();
        duplicate = MPI_COMM_NULL;
    }
    const bool others_use_it = shared_duplicate != nullptr && !shared_duplicate->remove_user();
    if (shared_duplicate != nullptr && !others_use_it) {
        shared_duplicate->close();
        if (log_enabled(LogLevel::debug))
            log_line(LogLevel::debug, "rank {} of MPI_COMM_WORLD frees duplicate {}", Process::get().world_rank(),
                     shared_duplicate->number());
    }
    // In a simulation it is the application's own.
    if (others_use_it || is_simulated) duplicate = MPI_COMM_NULL;
    for (MPI_Comm* each : {&leaders, &duplicate})
        if (*each != MPI_COMM_NULL)
            if (const int status = mpi.Comm_free(each); status != MPI_SUCCESS)
                log_line(LogLevel::warn, "a duplicate cannot be freed (MPI error {})", status);
}

// It probes for what nobody sends: where a probe finds something, the MPI libraries move nothing else.
Status OwnAlgorithms::drive_vendor(void* own) {
    const auto* self = static_cast<OwnAlgorithms*>(own);
    int found = 0;
    const int status = mpi.Iprobe(self->rank, self->largest_tag, self->duplicate, &found, MPI_STATUS_IGNORE);
    if (Background::calls_must_move()) Background::get().in_flight().drive();
    return status;
}

void NonblockingCollectives::end(std::uint64_t number) {
    ended_[number % ended_.size()] = true;
    while (ended_[oldest_ % ended_.size()]) ended_[oldest_++ % ended_.size()] = false;
    under_way_.fetch_sub(1, std::memory_order_release);
}

}  // namespace hcoll
