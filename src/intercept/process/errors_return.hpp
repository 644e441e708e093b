// SPDX-License-Identifier: BSD-3-Clause
// Calls that libhcoll makes for itself on a communicator of the application.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

#include "progress/engine/simulation.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// Of ErrorsReturn: an error handler of the application's that is taken away, for so many at a time.
struct TakenErrorHandler {
    MPI_Comm communicator{};
    MPI_Errhandler handler{};
    int holders = 0;
};

// While it exists, errors on the communicator come back to libhcoll, and the application's handler sees none of them. Of several at a time, in threads of the application's, the first
// takes that handler away and the last gives it back: what one of them found in between is not the application's.
class ErrorsReturn {
public:
    explicit ErrorsReturn(MPI_Comm communicator) {
        // Simulated ranks share one MPI_COMM_WORLD, with one handler, and a simulation ends at an error anyway.
        if (is_simulated) return;
        const std::lock_guard lock(mutex_);
        TakenErrorHandler* free = nullptr;
        for (std::size_t i = 0; i < used_; ++i) {
            if (taken_[i].holders == 0)
                free = &taken_[i];
            else if (taken_[i].communicator == communicator)
                of_ = &taken_[i];
        }
        if (free == nullptr && used_ < most) free = &taken_[used_++];
        if (of_ == nullptr && free != nullptr && take(communicator, *free)) of_ = free;
        if (of_ != nullptr) ++of_->holders;
    }
    ~ErrorsReturn() {
        if (of_ == nullptr) return;
        const std::lock_guard lock(mutex_);
        if (--of_->holders == 0) give_back_handler(of_->communicator, of_->handler);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

    // Unless the application has set one meanwhile.
    static void give_back_handler(MPI_Comm communicator, MPI_Errhandler handler) {
        MPI_Errhandler now{};
        const bool is_known = mpi.Comm_get_errhandler(communicator, &now) == MPI_SUCCESS;
        if (!is_known || now == MPI_ERRORS_RETURN) mpi.Comm_set_errhandler(communicator, handler);
        if (is_known) mpi.Errhandler_free(&now);
        mpi.Errhandler_free(&handler);
    }

private:
    static bool take(MPI_Comm communicator, TakenErrorHandler& taken) {
        taken.communicator = communicator;
        if (mpi.Comm_get_errhandler(communicator, &taken.handler) != MPI_SUCCESS) return false;
        if (mpi.Comm_set_errhandler(communicator, MPI_ERRORS_RETURN) == MPI_SUCCESS) return true;
        mpi.Errhandler_free(&taken.handler);
        return false;
    }

    // More communicators at a time than threads may be in such a place at once; who finds no room leaves its handler alone.
    static constexpr std::size_t most = 64;
    static inline std::mutex mutex_;
    static inline std::array<TakenErrorHandler, most> taken_;
    static inline std::size_t used_ = 0;

    TakenErrorHandler* of_ = nullptr;
};

// Of HeldHandler.
struct HeldErrorHandler {
    MPI_Comm communicator{};
    MPI_Errhandler handler{};
    bool is_held = false;
};

// While it exists, an error handler of the application's own on that communicator, of one that may throw or jump elsewhere, hears nothing: what is to be
// done whatever becomes of the call is done first, and then tell() tells it. Not where other threads of the application may make calls on the communicator, whose errors
// would be kept from it, and not for the predefined handlers, which come back or do not.
class HeldHandler {
public:
    // In a process with MPI_COMM_WORLD. `is_known`: the handle is that of a communicator for certain.
    HeldHandler(MPI_Comm communicator, bool has_threads, bool is_known)
        : communicator_(communicator), is_known_(is_known || communicator == MPI_COMM_WORLD) {
        give_back();
        if (is_simulated || communicator == MPI_COMM_NULL) return;
        must_ask_ = has_threads;
        if (must_ask_) return;
        std::optional<ErrorsReturn> of_no_communicator;  // are told to MPI_COMM_WORLD's handler
        if (!is_known_) of_no_communicator.emplace(MPI_COMM_WORLD);
        MPI_Errhandler handler{};
        if (mpi.Comm_get_errhandler(communicator, &handler) != MPI_SUCCESS) return;
        is_predefined_ = is_predefined(handler);
        if (!is_predefined_ && mpi.Comm_set_errhandler(communicator, MPI_ERRORS_RETURN) == MPI_SUCCESS)
            held_ = {.communicator = communicator, .handler = handler, .is_held = true};
        else
            mpi.Errhandler_free(&handler);
    }
    ~HeldHandler() { give_back(); }
    HeldHandler(const HeldHandler&) = delete;
    HeldHandler& operator=(const HeldHandler&) = delete;

    // Is what is thrown now no error handler's? Where MPI_COMM_WORLD's throws nothing, the handle has been good for a call that has thrown.
    bool throws_nothing() const {
        if (!must_ask_) return is_predefined_ || held_.is_held;
        return (is_known_ || has_predefined(MPI_COMM_WORLD)) && has_predefined(communicator_);
    }
    // Ends it; returns `status`, if the handler does.
    static int tell(int status) {
        const HeldErrorHandler held = held_;
        give_back();
        if (held.is_held && status != MPI_SUCCESS) mpi.Comm_call_errhandler(held.communicator, status);
        return status;
    }
    // What this thread has held, also where an operation of the application's has jumped out of the call: before the next one, and before a communicator is freed.
    static void give_back() {
        if (!held_.is_held) [[likely]]
            return;
        const HeldErrorHandler held = std::exchange(held_, HeldErrorHandler());
        ErrorsReturn::give_back_handler(held.communicator, held.handler);
    }

private:
    static bool is_predefined(MPI_Errhandler handler) {
        return handler == MPI_ERRORS_ARE_FATAL || handler == MPI_ERRORS_RETURN;
    }

    static bool has_predefined(MPI_Comm communicator) {
        MPI_Errhandler handler{};
        if (mpi.Comm_get_errhandler(communicator, &handler) != MPI_SUCCESS) return false;
        const bool is_one = is_predefined(handler);
        mpi.Errhandler_free(&handler);
        return is_one;
    }

    static inline thread_local HeldErrorHandler held_;
    MPI_Comm communicator_;
    bool is_known_;
    bool must_ask_ = false;  // later, since nothing is held
    bool is_predefined_ = false;
};

}  // namespace hcoll
