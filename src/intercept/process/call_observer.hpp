// SPDX-License-Identifier: BSD-3-Clause
// Who wants to know what a collective call is decided to run, while it is under way: observed/observed_call.hpp, where a setting has calls be observed.
#pragma once

#include <memory>
#include <string_view>

namespace hcoll {

// What has to be over before a request of the application completes, besides its collective.
class AfterResult {
public:
    AfterResult() = default;
    virtual ~AfterResult() = default;
    AfterResult(const AfterResult&) = delete;
    AfterResult& operator=(const AfterResult&) = delete;

    // Once for each run of the collective, before it, on all ranks alike. An MPI error code.
    virtual int begin() = 0;
    // Asked again and again when the collective has ended with `status`, which it may change; waits for nothing. By who moves the collective.
    virtual bool is_over(int& status) noexcept = 0;
};

class TracedRun;  // trace/traced_run.hpp

class CallObserver {
public:
    // The one of the call that this thread is in; nullptr where nobody observes, which costs a load where nobody ever does.
    static CallObserver* current() { return may_be_any_ ? current_ : nullptr; }
    // Before the first, and before other threads may be in MPI.
    static void expect() { may_be_any_ = true; }

    CallObserver(const CallObserver&) = delete;
    CallObserver& operator=(const CallObserver&) = delete;

    // The call is to run `what` on this rank, and on all that do not refuse its arguments, which `why` says. Before it runs; an MPI error code, of which the
    // application's handler was told: then it does not run.
    virtual int decide(std::string_view what, std::string_view why) = 0;
    // The same of a call of which the other ranks have told this one with their message.
    virtual void note_decision(std::string_view what) = 0;
    // It was counted in that row of the report.
    virtual void note_reported(int row) = 0;
    // Of a call that makes a request and runs here; nullptr: nothing. May throw std::bad_alloc.
    virtual std::unique_ptr<AfterResult> after_result() = 0;
    // Of a call whose steps go on behind it; nullptr: nobody traces. May throw std::bad_alloc.
    virtual std::unique_ptr<TracedRun> trace_of_run() = 0;

protected:
    // Observes calls of this thread until it is destroyed, and then who observed before does.
    CallObserver() : outer_(current_) { current_ = this; }
    ~CallObserver() { current_ = outer_; }

private:
    static inline bool may_be_any_ = false;
    static inline thread_local CallObserver* current_ = nullptr;
    CallObserver* outer_;
};

}  // namespace hcoll
