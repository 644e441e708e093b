// SPDX-License-Identifier: BSD-3-Clause
// A call of the application as the process's Tracer has it (LIBHCOLL_TRACE), and how tracing begins and ends.
#pragma once

#include <memory>
#include <string_view>

#include "intercept/communicator/communicator.hpp"
#include "trace/traced_run.hpp"
#include "watch/call_description.hpp"

namespace hcoll {

// In MPI_Init, on all ranks of MPI_COMM_WORLD, which have a CommonTime: each opens a file. The same answer on all: false where nobody
// traces, which rank 0 says. Who cannot write traces nothing, and one rank says how many these are.
bool start_trace(const Settings& settings);
// On all ranks in MPI_Finalize, or (`is_in_mpi` false) at the end of the process: the file becomes a text.
void finish_trace(bool is_in_mpi);

// While it exists, this thread is in that collective. Only where a process traces.
class TracedCall {
public:
    // `unit_bytes`: of an element of a reduction, else 1.
    TracedCall(Communicator& communicator, const CallDescription& call, std::uint64_t number, std::uint64_t unit_bytes);
    ~TracedCall();
    TracedCall(const TracedCall&) = delete;
    TracedCall& operator=(const TracedCall&) = delete;

    void decide(std::string_view what);
    // It was an error of this rank alone.
    void make_void();
    // Of what it has begun, and goes on behind it. May throw std::bad_alloc.
    std::unique_ptr<TracedRun> run() const { return std::make_unique<TracedRun>(record_, unit_bytes_); }

private:
    TraceRecord record_;
    std::uint64_t unit_bytes_;
    Tracer::Id id_;
    TracedRun run_;  // what it runs itself
    StepTrace::Scope scope_;
};

// The same of a function that all ranks come to; its name is there for ever.
class TracedFunction {
public:
    explicit TracedFunction(const char* function);
    ~TracedFunction() { Tracer::get()->end(id_, record_); }
    TracedFunction(const TracedFunction&) = delete;
    TracedFunction& operator=(const TracedFunction&) = delete;

private:
    TraceRecord record_;
    Tracer::Id id_;
};

}  // namespace hcoll
