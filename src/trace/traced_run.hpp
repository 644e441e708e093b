// SPDX-License-Identifier: BSD-3-Clause
// The steps that one collective runs, as records of the process's Tracer.
#pragma once

#include "progress/engine/step_trace.hpp"
#include "trace/tracer.hpp"

namespace hcoll {

class TracedRun final : public StepTrace {
public:
    // `call`: the record of the collective, whose communicator, number and the like are those of its steps. `unit_bytes`: of what its plan moves.
    TracedRun(const TraceRecord& call, std::uint64_t unit_bytes) : call_(call), unit_bytes_(unit_bytes) {}

    Id begin(const TracedStep& step, Time at) override {
        TraceRecord record = empty();
        record.begin = at;
        record.kind = kind_of(step.kind);
        record.peer = step.peer;
        record.tag = step.tag;
        record.step = step.step;
        record.segment = step.segment;
        record.bytes = step.units * unit_bytes_;
        return at == now ? Tracer::get()->begin(record) : Tracer::get()->add(record);
    }
    Id begin_wait(int rank) override {
        TraceRecord record = empty();
        record.kind = TraceKind::wait;
        record.peer = rank;
        return Tracer::get()->begin(record);
    }
    Time end(Id id) override { return id == none ? now : Tracer::get()->end(id); }

    // All of it, where it goes on in the background.
    void begin_run() {
        run_ = call_;
        run_.kind = TraceKind::run;
        run_.end = 0;
        id_ = Tracer::get()->begin(run_);
    }
    void end_run() { Tracer::get()->end(id_, run_); }

private:
    static TraceKind kind_of(StepKind kind) {
        switch (kind) {
            case StepKind::send: return TraceKind::send;
            case StepKind::recv: return TraceKind::recv;
            case StepKind::reduce: return TraceKind::reduce;
            case StepKind::copy: return TraceKind::copy;
            case StepKind::collective: break;
        }
        return TraceKind::leaders;
    }
    TraceRecord empty() const {
        TraceRecord record;
        record.number = call_.number;
        record.communicator = call_.communicator;
        record.collective = call_.collective;
        record.form = call_.form;
        return record;
    }

    TraceRecord call_;
    std::uint64_t unit_bytes_;
    TraceRecord run_{};
    Id id_ = none;
};

}  // namespace hcoll
