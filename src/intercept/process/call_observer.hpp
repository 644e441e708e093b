// Who wants to know what a collective call is decided to run, while it is under way: observed/observed_call.hpp, where a setting has calls be observed.
#pragma once

#include <string_view>

namespace hcoll {

class CallObserver {
public:
    // The one of the call that this thread is in; nullptr where nobody observes.
    static CallObserver* current() { return current_; }

    CallObserver(const CallObserver&) = delete;
    CallObserver& operator=(const CallObserver&) = delete;

    // The call is to run `what` on this rank, and on all that do not refuse its arguments, which `why` says. Before it runs; an MPI error code, of which the
    // application's handler was told: then it does not run.
    virtual int decide(std::string_view what, std::string_view why) = 0;
    // The same of a call of which the other ranks have told this one with their message.
    virtual void note_decision(std::string_view what) = 0;

protected:
    // Observes calls of this thread until it is destroyed, and then who observed before does.
    CallObserver() : outer_(current_) { current_ = this; }
    ~CallObserver() { current_ = outer_; }

private:
    static inline thread_local CallObserver* current_ = nullptr;
    CallObserver* outer_;
};

}  // namespace hcoll
