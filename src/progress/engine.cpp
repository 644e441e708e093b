#include "progress/engine.hpp"

#include <cassert>

namespace hcoll {

Status Engine::start(const Plan& plan, const RunBuffers& buffers, Transport& transport, LocalOperations& operations) {
    assert(done() && "an engine runs one plan at a time");
    plan_ = &plan;
    buffers_ = buffers;
    transport_ = &transport;
    operations_ = &operations;
    step_count_ = static_cast<std::uint32_t>(plan.steps.size());
    segments_ = step_count_ == 0 ? 0 : plan.segments();
    next_segment_ = 0;
    const std::size_t tokens = std::size_t{plan.window} * step_count_;
    slots_.assign(plan.window, Slot{});
    if (waiting_.size() < tokens) {
        waiting_.resize(tokens);
        finished_.resize(tokens);
    }
    open_segments();
    return drain();
}

Status Engine::advance() {
    completed_.clear();
    if (const Status status = transport_->progress(completed_); status != 0) return status;
    for (const Token token : completed_) complete(token);
    return drain();
}

Status Engine::drain() {
    while (true) {
        Token token = 0;
        if (next_communication_ < communications_.size()) {
            token = communications_[next_communication_++];
        } else if (next_computation_ < computations_.size()) {
            token = computations_[next_computation_++];
        } else {
            break;
        }
        if (const Status status = execute(token); status != 0) return status;
    }
    communications_.clear();
    computations_.clear();
    next_communication_ = next_computation_ = 0;
    return 0;
}

Status Engine::execute(Token token) {
    const Step& step = plan_->steps[step_of(token)];
    const std::uint64_t segment = slots_[slot_of(token)].segment;
    Status status = 0;
    switch (step.kind) {
        case StepKind::send:
            return transport_->send(step.peer, message_tag(step.channel, segment), address(step.source, segment),
                                    plan_->region_length(step.source, segment), token);
        case StepKind::recv:
            return transport_->recv(step.peer, message_tag(step.channel, segment), writable(step.target, segment),
                                    plan_->region_length(step.target, segment), token);
        case StepKind::reduce:
            status = operations_->reduce(address(step.source, segment), writable(step.target, segment),
                                         plan_->region_length(step.target, segment));
            break;
        case StepKind::copy:
            status = operations_->copy(address(step.source, segment), writable(step.target, segment),
                                       plan_->region_length(step.target, segment));
            break;
    }
    if (status == 0) complete(token);
    return status;
}

// In order, so that tags can be used again (message_tag), and each only when the segment before it in its slot is done.
void Engine::open_segments() {
    while (next_segment_ < segments_) {
        Slot& slot = slots_[next_segment_ % plan_->window];
        if (slot.unfinished != 0) return;
        slot = {next_segment_, step_count_};
        const Token first = token_of(0, next_segment_);
        ++open_;
        const std::uint64_t segment = next_segment_++;
        for (std::uint32_t index = 0; index < step_count_; ++index) {
            const Step& step = plan_->steps[index];
            const std::uint32_t limit = plan_->in_flight_limit(step);
            const bool held_back = limit != 0 && segment >= limit && !is_complete(index, segment - limit);
            finished_[first + index] = 0;
            waiting_[first + index] = step.dependencies + (held_back ? 1 : 0);
            if (waiting_[first + index] == 0) release(first + index);
        }
    }
}

// Of a segment that is open or was.
bool Engine::is_complete(std::uint32_t step, std::uint64_t segment) const {
    return slots_[segment % plan_->window].segment != segment || finished_[token_of(step, segment)] != 0;
}

void Engine::release(Token token) {
    const bool is_communication = plan_->steps[step_of(token)].is_communication();
    (is_communication ? communications_ : computations_).push_back(token);
}

void Engine::complete(Token token) {
    const Step& step = plan_->steps[step_of(token)];
    Slot& slot = slots_[slot_of(token)];
    const Token first = token - step_of(token);
    finished_[token] = 1;
    for (std::uint32_t i = 0; i < step.successors; ++i) {
        const Token successor = first + plan_->successors[step.first_successor + i];
        if (--waiting_[successor] == 0) release(successor);
    }
    if (const std::uint32_t limit = plan_->in_flight_limit(step); limit != 0) {
        const std::uint64_t later = slot.segment + limit;
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

const std::byte* Engine::address(const Region& region, std::uint64_t segment) const {
    if (region.buffer == Buffer::input)
        return buffers_.input + static_cast<std::ptrdiff_t>(plan_->region_offset(region, segment)) * buffers_.stride;
    return writable(region, segment);
}

std::byte* Engine::writable(const Region& region, std::uint64_t segment) const {
    std::byte* base = region.buffer == Buffer::output ? buffers_.output : buffers_.scratch;
    return base + static_cast<std::ptrdiff_t>(plan_->region_offset(region, segment)) * buffers_.stride;
}

}  // namespace hcoll
