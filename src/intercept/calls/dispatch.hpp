// SPDX-License-Identifier: BSD-3-Clause
// Which call runs here, which is passed on, untouched, and why: what all wrappers of collectives have in common.
//
// Every decision is a function of what MPI makes equal on all ranks: the collective, the bytes of the type signature,
// root, operation, the communicator and how many calls it has seen. What a rank alone may see of its arguments decides only
// whether its call is an error (arguments.hpp).
#pragma once

#include <cxxabi.h>

#include <chrono>
#include <new>
#include <optional>

#include "intercept/calls/arguments.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/calls/learned_call.hpp"
#include "intercept/communicator/communicator.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/call_observer.hpp"
#include "intercept/process/errors_return.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// The bytes of a call, as far as its arguments have any.
template <typename Count>
inline std::uint64_t bytes_of(Count count, MPI_Datatype type) {
    return count > 0 && type != MPI_DATATYPE_NULL ? static_cast<std::uint64_t>(count) * type_size(type) : 0;
}

// Errors that come of what one rank was given, and that the other ranks' calls may not have had.
inline bool is_error_of_arguments(int status) {
    int error_class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) mpi.Error_class(status, &error_class);
    for (const int known :
         {MPI_ERR_COMM, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_ROOT, MPI_ERR_OP, MPI_ERR_BUFFER, MPI_ERR_ARG})
        if (error_class == known) return true;
    return false;
}

// Without memory it does not tell of the call, which was made all the same.
inline void add_to_report(Report& report, std::string_view name, std::uint64_t bytes, std::string_view what,
                          std::string_view why, double seconds) {
    try {
        const int row = report.add(name, bytes, what, why, seconds);
        if (CallObserver* observer = CallObserver::current(); observer != nullptr) observer->note_reported(row);
    } catch (const std::bad_alloc&) {
    }
}

// Runs `call`, which answers a collective; who observes it is told what it is, and a report, where one was asked for, what it took.
template <typename Count, typename Call>
inline int noted(std::string_view name, Count count, MPI_Datatype type, std::string_view what, std::string_view why,
                 Call&& call) {
    if (!Process::get().notes_calls()) [[likely]]
        return call();
    if (CallObserver* observer = CallObserver::current(); observer != nullptr)
        if (const int status = observer->decide(what, why); status != MPI_SUCCESS) return status;
    Report* report = Process::get().report();
    if (report == nullptr) return call();
    const auto begin = std::chrono::steady_clock::now();
    const int status = call();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // The type may be none, which asking for its size would tell another communicator's handler.
    const std::uint64_t bytes = is_error_of_arguments(status) ? 0 : bytes_of(count, type);
    add_to_report(*report, name, bytes, what, why, seconds);
    return status;
}

// A call that is counted (`count`) is passed on. The others count it whatever becomes of it here: this rank, too, before an error handler of the application's throws
// or jumps elsewhere, and where an operation of the application's throws. Not where its thread is cancelled, for which nobody is to wait.
template <typename PassOn, typename Count>
inline int passed_on_and_counted(MPI_Comm comm, bool is_known, PassOn&& pass_on, Count&& count) {
    std::optional<HeldHandler> handler;
    if (Process::get().has_world()) handler.emplace(comm, Background::get().application_has_threads(), is_known);
    int status = MPI_SUCCESS;
    try {
        status = pass_on();
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (...) {
        if (handler && handler->throws_nothing()) (void)count();
        throw;
    }
    if (comm == MPI_COMM_NULL || is_error_of_arguments(status)) return HeldHandler::tell(status);
    const int counted = count();
    if (status != MPI_SUCCESS || counted == MPI_SUCCESS) return HeldHandler::tell(status);
    HeldHandler::give_back();
    return guarded(comm, [&] { return counted; });
}

// One collective call, of which `root` is meaningless where it has none: `pass_on` gives it to the vendor, `screen(communicator)` looks at its arguments,
// `may_be_shared(communicator)` says whether it can run over shared memory (by operation and type, which are those of all ranks),
// `may_be_tried(communicator)` whether candidates may be tried on it (by the same), `commutes` whether its operation does, and `run` runs it here.
// `keep(communicator, decision)` is told before a call that is the vendor's because all calls like it are.
//
// While calls on the communicator are counted, it is the vendor who judges, and a call that it rejects for its arguments
// does not count: one rank may make it alone and go on.
template <Collective collective, typename Count, typename PassOn, typename Screen, typename MayBeShared,
          typename MayBeTried, typename Commutes, typename Run, typename Keep>
inline int dispatch(MPI_Comm comm, int root, Count given_count, MPI_Datatype type, PassOn&& pass_on, Screen&& screen,
                    MayBeShared&& may_be_shared, MayBeTried&& may_be_tried, Commutes&& commutes, Run&& run,
                    Keep&& keep) {
    // On an inter-communicator a rank may have nothing to do with the message, and a type that is none.
    const Count count = root < 0 ? 0 : given_count;
    const std::string_view name = name_of(collective);
    Communicator* communicator = Communicator::find(comm);
    if (communicator == nullptr || communicator->is_counting()) [[unlikely]] {
        const char* why = communicator == nullptr ? reason::first_calls : communicator->why_counting();
        const auto pass_this_on = [&] { return noted(name, count, type, "vendor", why, pass_on); };
        return passed_on_and_counted(comm, communicator != nullptr, pass_this_on,
                                     [&] { return Communicator::count_call(comm, collective, bytes_of(count, type)); });
    }
    const Decision* decision = nullptr;
    Learning::Turn turn;
    std::uint64_t bytes = 0;
    const char* why = communicator->why_vendor(collective);
    if (why == nullptr) {
        const Screening screening = screen(*communicator);
        if (screening.error_class != MPI_SUCCESS) [[unlikely]]
            return noted(name, count, type, "vendor", reason::arguments,
                         [&] { return reject(*communicator, screening, pass_on); });
        why = screening.why_vendor;
    }
    if (why == nullptr) {
        bytes = static_cast<std::uint64_t>(count) * type_size(type);
        decision = &decide(communicator->own().decisions->blocking[static_cast<std::size_t>(collective)], bytes);
        if (communicator->own().learning.is_on())
            turn = learned_turn(*communicator, collective, bytes, may_be_tried, decision);
        // A rank that alone has no block would have the others wait for it: over shared memory they see that.
        if (bytes == 0 && has_message(collective) && !(decision->shared && has_blocks(collective)))
            why = reason::no_bytes;
        else if (!decision->is_own())
            why = decision->why.c_str();
        else if (decision->shared && !may_be_shared(*communicator))
            why = reason::no_kernel;
        else if (!decision->keeps_order && !commutes()) [[unlikely]]
            why = reason::order;
        // Told by the operation, which is the same on all ranks.
        if ((why == reason::no_kernel || why == reason::order) && decision->next_best != nullptr) [[unlikely]] {
            decision = decision->next_best.get();
            why = nullptr;
        }
    }
    const bool is_vendors = why != nullptr;
    const std::string_view what = is_vendors ? std::string_view("vendor") : decision->what;
    const auto make = [&] {
        if (!is_vendors) return run(*communicator, *decision);
        if (decision != nullptr && why == decision->why.c_str()) keep(*communicator, *decision);
        return pass_on();
    };
    const char* because = is_vendors ? why : decision->why.c_str();
    if (turn.decision == nullptr) [[likely]]
        return noted(name, count, type, what, because, make);
    if (turn.why != nullptr) because = turn.why;
    return noted(name, count, type, what, because,
                 [&] { return timed(communicator->own(), collective, root, turn, bytes, make); });
}

}  // namespace hcoll
