// SPDX-License-Identifier: BSD-3-Clause
// A collective call of the application as it is observed: before it goes to its wrapper, when it is decided what it runs, and when it is over.
//
// What is observed are calls on intra-communicators of several ranks within MPI_COMM_WORLD whose arguments this rank has no reason to refuse. All else goes on
// unseen: ranks of other communicators may know nothing of each other, and a call that is wrong ends on the rank that makes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "intercept/communicator/communicator.hpp"
#include "intercept/observed/traced_call.hpp"
#include "intercept/observed/watched_call.hpp"
#include "intercept/process/call_observer.hpp"
#include "watch/call_description.hpp"

namespace hcoll {

// The arguments of a collective, as the application gave them. A Bcast's message is what is received; Barrier has none.
struct ObservedArguments {
    struct Side {
        const void* buffer = nullptr;
        std::int64_t count = 0;
        MPI_Datatype type = MPI_DATATYPE_NULL;
    };
    Collective collective;
    CallForm form;
    MPI_Comm comm;
    int root = CallDescription::no_root;
    MPI_Op op = MPI_OP_NULL;
    Side sent{};
    Side received{};
};

class VerifiedCall;  // verified_call.hpp

class ObservedCall : public CallObserver {
public:
    explicit ObservedCall(const ObservedArguments& arguments);
    ~ObservedCall();

    // Before it goes on to its wrapper; an MPI error code. May throw std::bad_alloc.
    int begin();
    // After its wrapper has returned `status`, with this request, if it makes one; what is returned to the application.
    int end(int status, const MPI_Request* request = nullptr);
    int decide(std::string_view what, std::string_view why) override;
    void note_decision(std::string_view what) override;
    void note_reported(int row) override { row_ = row; }
    std::unique_ptr<AfterResult> after_result() override;
    std::unique_ptr<TracedRun> trace_of_run() override;

private:
    Communicator* communicator_ = nullptr;  // nullptr where it is not observed
    CallDescription call_{};
    std::uint64_t number_ = 0;
    bool is_checked_ = false;
    bool is_to_be_verified_ = false;
    std::unique_ptr<VerifiedCall> verified_;  // where its result is compared
    std::string ran_;                         // where that is
    void note_arrival(std::uint64_t went) const;

    const ObservedArguments& arguments_;
    std::optional<WatchedCall> watched_;
    std::optional<TracedCall> traced_;
    std::uint64_t came_ = 0;  // when, where arrivals are noted
    int row_ = -1;            // of the report
};

}  // namespace hcoll
