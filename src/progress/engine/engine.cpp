// SPDX-License-Identifier: BSD-3-Clause
#include "progress/engine/engine.hpp"

#include "base/check.hpp"

namespace hcoll {

// Of the one message that was begun.
Status Transport::finish_one() {
    std::vector<Token> completed;
    Status status = 0;
    while (completed.empty() && status == 0) status = progress(completed);
    return status;
}

Status Transport::send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units) {
    const Status status = send(peer, tag, data, units, 0);
    return status == 0 ? finish_one() : status;
}

Status Transport::recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units) {
    const Status status = recv(peer, tag, data, units, 0);
    return status == 0 ? finish_one() : status;
}

Status Transport::exchange_now(const Sent&, const Received&) {
    check(false, "only what exchanges with a peer is asked to");
    return status_broken;
}

Status Engine::start(const Plan& plan, const RunBuffers& buffers, Transport& transport, LocalOperations& operations,
                     Part part) {
    check(done(), "an engine runs one plan at a time");
    part_ = part;
    plan_ = &plan;
    buffers_ = buffers;
    transport_ = &transport;
    operations_ = &operations;
    next_phase_ = 0;
    trace_ = StepTrace::current();
    return run();
}

Status Engine::advance(Part part) {
    begin_part(part);
    trace_ = StepTrace::current();
    completed_.clear();
    if (const Status status = transport_->progress(completed_); status != 0) return status;
    for (const Token token : completed_) complete(token);
    return run();
}

void Engine::begin_part(Part part) {
    if (part == part_) return;
    part_ = part;
    for (const Token token : other_part_s_) release(token);
    other_part_s_.clear();
}

WaitNote::Wait Engine::waits_for() const {
    WaitNote::Wait found;
    if (done()) return found;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].unfinished == 0) continue;
        for (std::uint32_t index = 0; index < step_count_; ++index) {
            const Token token = slot * step_count_ + index;
            const Step& each = step(index);
            if (finished_[token] != 0 || waiting_[token] != 0 || !each.is_communication()) continue;
            const auto number = static_cast<int>(phase_->first_step + index);
            if (each.kind == StepKind::recv) return {WaitNote::What::receive, each.peer, number};
            if (each.kind == StepKind::send) found = {WaitNote::What::send, each.peer, number};
            if (each.kind == StepKind::collective) found = {WaitNote::What::leaders, -1, number};
        }
    }
    return found;
}

void Engine::abandon() { *this = Engine(); }

// Does what can be done, beginning phases as they come.
Status Engine::run() {
    while (true) {
        if (const Status status = drain(); status != 0) return status;
        if (open_ != 0 || next_phase_ == plan_->phases.size()) return 0;
        begin_phase();
    }
}

void Engine::begin_phase() {
    phase_ = &plan_->phases[next_phase_++];
    step_count_ = phase_->steps;
    segments_ = phase_->segments();
    next_segment_ = 0;
    const std::size_t tokens = std::size_t{phase_->window} * step_count_;
    slots_.assign(phase_->window, Slot{});
    if (waiting_.size() < tokens) {
        waiting_.resize(tokens);
        finished_.resize(tokens);
    }
    if (trace_ != nullptr) [[unlikely]]
        traced_ids_.assign(tokens, StepTrace::none);
    open_segments();
}

Status Engine::drain() {
    bool may_compute = true;
    while (true) {
        Token token = 0;
        if (next_communication_ < communications_.size()) {
            token = communications_[next_communication_++];
        } else if (may_compute && has_work()) {
            token = computations_[next_computation_++];
            may_compute = !is_in_part(step(step_of(token)));
        } else {
            break;
        }
        if (!is_in_part(step(step_of(token)))) [[unlikely]] {
            other_part_s_.push_back(token);
            continue;
        }
        if (const Status status = execute(token); status != 0) return status;
    }
    communications_.clear();
    next_communication_ = 0;
    if (!has_work()) {
        computations_.clear();
        next_computation_ = 0;
    }
    return 0;
}

Status Engine::execute(Token token) {
    const Step& step = this->step(step_of(token));
    const Segment& segment = slots_[slot_of(token)].segment;
    Status status = 0;
    if ((step.positions & segment.position) != 0) {
        const auto length = [&](const Region& region) { return Phase::region_length(region, segment); };
        const auto tag = [&] { return message_tag(step.channel, phase_->message_number(step, segment.number)); };
        if (trace_ != nullptr) [[unlikely]]
            trace(step, segment, token);
        switch (step.kind) {
            case StepKind::send:
                return transport_->send(step.peer, tag(), address(step.source, segment), length(step.source), token);
            case StepKind::recv:
                return transport_->recv(step.peer, tag(), writable(step.target, segment), length(step.target), token);
            case StepKind::collective:
                return transport_->collective(step.collective, step.peer, segment.number, address(step.source, segment),
                                              writable(step.target, segment),
                                              length(step.has_source() ? step.source : step.target), token);
            case StepKind::reduce:
                status = operations_->reduce(address(step.source, segment), writable(step.target, segment),
                                             length(step.target));
                break;
            case StepKind::copy:
                status = operations_->copy(address(step.source, segment), writable(step.target, segment),
                                           length(step.target));
                break;
        }
    }
    if (status == 0) complete(token);
    return status;
}

// In order, so that tags can be used again (message_tag), and each only when the segment before it in its slot is done.
void Engine::open_segments() {
    while (next_segment_ < segments_) {
        Slot& slot = slots_[next_segment_ % phase_->window];
        if (slot.unfinished != 0) return;
        slot = {phase_->segment(next_segment_), step_count_};
        const Token first = token_of(0, next_segment_);
        ++open_;
        const std::uint64_t segment = next_segment_++;
        for (std::uint32_t index = 0; index < step_count_; ++index) {
            const std::uint32_t limit = plan_->in_flight_limit(step(index));
            const bool held_back = limit != 0 && segment >= limit && !is_complete(index, segment - limit);
            finished_[first + index] = 0;
            waiting_[first + index] = step(index).dependencies + (held_back ? 1 : 0);
            if (waiting_[first + index] == 0) release(first + index);
        }
    }
}

// Of a segment that is open or was.
bool Engine::is_complete(std::uint32_t step, std::uint64_t segment) const {
    return slots_[segment % phase_->window].segment.number != segment || finished_[token_of(step, segment)] != 0;
}

void Engine::release(Token token) {
    const bool is_communication = step(step_of(token)).is_communication();
    (is_communication ? communications_ : computations_).push_back(token);
}

void Engine::trace(const Step& step, const Segment& segment, Token token) {
    if (token >= traced_ids_.size()) return;
    const Region& region = step.has_source() ? step.source : step.target;
    traced_ids_[token] = trace_->begin(
        {.kind = step.kind,
         .peer = step.is_communication() ? step.peer : -1,
         .tag = step.is_message() ? message_tag(step.channel, phase_->message_number(step, segment.number)) : 0,
         .step = phase_->first_step + step_of(token),
         .segment = static_cast<std::uint32_t>(segment.number),
         .units = Phase::region_length(region, segment)},
        StepTrace::now);
}

void Engine::complete(Token token) {
    const Step& step = this->step(step_of(token));
    Slot& slot = slots_[slot_of(token)];
    const Token first = token - step_of(token);
    finished_[token] = 1;
    ++events_[step.by_caller ? 1 : 0];
    if (trace_ != nullptr && token < traced_ids_.size()) [[unlikely]] {
        trace_->end(traced_ids_[token]);
        traced_ids_[token] = StepTrace::none;
    }
    for (std::uint32_t i = 0; i < step.successors; ++i) {
        const Token successor = first + plan_->successors[step.first_successor + i];
        if (--waiting_[successor] == 0) release(successor);
    }
    if (const std::uint32_t limit = plan_->in_flight_limit(step); limit != 0) {
        const std::uint64_t later = slot.segment.number + limit;
        if (later < next_segment_) {
            const Token held_back = token_of(step_of(token), later);
            if (--waiting_[held_back] == 0) release(held_back);
        }
    }
    if (--slot.unfinished == 0) {
        --open_;
        open_segments();
    }
}

}  // namespace hcoll
