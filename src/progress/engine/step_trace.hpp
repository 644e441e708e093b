// SPDX-License-Identifier: BSD-3-Clause
// The steps of a run, told to who traces them (LIBHCOLL_TRACE). Where nobody does, asking for it is a load.
#pragma once

#include <cstdint>

#include "algorithms/plan.hpp"

namespace hcoll {

class StepTrace {
public:
    // That of the run that this thread moves; nullptr where nobody traces.
    static StepTrace* current() { return may_be_any_ ? current_ : nullptr; }
    // Does anybody trace in this process?
    static bool may_be_any() { return may_be_any_; }
    // Before the first, and before other threads may be in MPI.
    static void expect() { may_be_any_ = true; }
    // What this thread moves from now on belongs to `trace`, until this is destroyed.
    class Scope {
    public:
        explicit Scope(StepTrace* trace) : outer_(current_) { current_ = trace; }
        ~Scope() { current_ = outer_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        StepTrace* outer_;
    };

    struct TracedStep {
        StepKind kind;
        int peer;  // in the communicator; -1: there is none
        std::uint32_t tag;
        std::uint32_t step;  // of the plan
        std::uint32_t segment;
        std::uint64_t units;
    };
    using Id = std::uint64_t;
    static constexpr Id none = 0;
    using Time = std::uint64_t;  // in nanoseconds
    static constexpr Time now = 0;

    // A step begins at that time, which a look at the clock costs where it is `now`; what it is called when it is over.
    virtual Id begin(const TracedStep& step, Time at) = 0;
    // A wait for a flag of that rank begins.
    virtual Id begin_wait(int rank) = 0;
    // It is over, in any thread, and when; `now` of `none`.
    virtual Time end(Id id) = 0;

    StepTrace(const StepTrace&) = delete;
    StepTrace& operator=(const StepTrace&) = delete;

protected:
    StepTrace() = default;
    ~StepTrace() = default;

private:
    static inline bool may_be_any_ = false;
    static inline thread_local StepTrace* current_ = nullptr;
};

}  // namespace hcoll
