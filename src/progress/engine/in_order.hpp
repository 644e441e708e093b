// SPDX-License-Identifier: BSD-3-Clause
// Runs a short plan without an engine: its steps one after another, each to its end (Plan::sequence).
//
// A message of a few bytes takes as long as the instructions around it, and an engine's are more than those of the whole call in an
// MPI library. Where there is one segment, nothing can overlap but the latencies of messages, and those of sends do: a send is only
// begun as long as something is to be received later, and the memory of one that is under way is written by no step before it is over.
// Where all ranks send and receive at the same time (PlanBuilder::exchange), the two are one call.
//
// No rank waits here for one that waits for it, as long as the transport takes messages that are as short as these whether their receivers have come or not. MPI libraries
// do; where flow control wants to know that a receiver has come, that is waited for when all is over (progress/network/point_to_point.hpp). A test runs all algorithms so, with random
// parameters; those with the catalog's defaults also with sends that end only when their receivers have come to them (test/plans/test_in_order.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "progress/engine/engine.hpp"

namespace hcoll {

// Longer messages, of so many bytes in all, gain by an engine, or may have to wait for each other.
inline constexpr std::uint64_t longest_in_order = 1024;
// More of them, up to the last receive, could fill what a transport has for messages that nobody has come to yet.
inline constexpr std::uint32_t most_steps_in_order = 32;

// What a run in order tells those who look at it.
class InOrderObserver {
public:
    bool is_any() const { return note_ != nullptr || trace_ != nullptr; }

    // A step begins; `receive`: of an exchange. `sends`: so many were begun before it.
    [[gnu::noinline]] void begin(const InOrderStep& step, const InOrderStep* receive, Token sends) {
        const InOrderStep& waits = receive != nullptr ? *receive : step;
        if (note_ != nullptr) note(waits);
        if (trace_ == nullptr) return;
        step_ = begin(step);
        receive_ = receive != nullptr ? begin(*receive) : StepTrace::none;
        is_begun_only_ = step.kind == StepKind::send && receive == nullptr && step.is_before_receive;
        if (step.kind == StepKind::send && sends < sends_.size())
            sends_[sends] = is_begun_only_ ? step_ : StepTrace::none;
    }
    // It has returned. A send that was only begun is over later.
    [[gnu::noinline]] void end() {
        if (trace_ == nullptr) return;
        // The next step begins then.
        if (!is_begun_only_) last_end_ = trace_->end(step_);
        if (receive_ != StepTrace::none) trace_->end(receive_);
    }
    // Sends from `first` on are over, up to `end`.
    [[gnu::noinline]] void end_sends(Token first, Token end) {
        if (trace_ == nullptr) return;
        for (Token send = first; send < end && send < sends_.size(); ++send)
            if (sends_[send] != StepTrace::none) trace_->end(sends_[send]);
    }

private:
    StepTrace::Id begin(const InOrderStep& step) {
        return trace_->begin({.kind = step.kind,
                              .peer = step.peer,
                              .tag = step.tag,
                              .step = step.number,
                              .segment = 0,
                              .units = step.units},
                             std::exchange(last_end_, StepTrace::now));
    }
    void note(const InOrderStep& step) {
        if (step.kind == StepKind::recv)
            note_->set({.what = WaitNote::What::receive, .rank = step.peer, .step = static_cast<int>(step.number)});
        else if (step.kind == StepKind::send)
            note_->set({.what = WaitNote::What::send, .rank = step.peer, .step = static_cast<int>(step.number)});
        else
            note_->clear();
    }

    WaitNote* note_ = WaitNote::current();
    StepTrace* trace_ = StepTrace::current();
    StepTrace::Id step_ = StepTrace::none;
    StepTrace::Id receive_ = StepTrace::none;
    bool is_begun_only_ = false;
    StepTrace::Time last_end_ = StepTrace::now;
    std::array<StepTrace::Id, most_steps_in_order> sends_;  // those that were begun; not set where nobody traces
};

// The plan has a sequence. Returns when this rank's part is over, or with what went wrong. `Carrier` is a Transport and `Operations`
// are LocalOperations: of the types that they are, so that a message costs no call that could be a part of this.
template <typename Carrier, typename Operations>
inline Status run_in_order(const Plan& plan, const RunBuffers& buffers, Carrier& transport, Operations& operations) {
    Token begun = 0;  // sends, of which some are over at once
    Token over = 0;   // of those, from the first on
    Status status = 0;
    InOrderObserver observer;
    const bool is_observed = observer.is_any();
    const InOrderStep* end = plan.sequence.data() + plan.sequence.size();
    for (const InOrderStep* next = plan.sequence.data(); next != end;) {
        const InOrderStep& step = *next++;
        const bool is_exchange = step.is_exchange && transport.exchanges_with(step.peer, next->peer);
        const Token wanted = is_exchange ? std::max(step.sends_over, next->sends_over) : step.sends_over;
        if (wanted > over) [[unlikely]] {
            if (status = transport.finish_sends(wanted); status != 0) return status;
            if (is_observed) observer.end_sends(over, wanted);
            over = wanted;
        }
        if (is_observed) [[unlikely]]
            observer.begin(step, is_exchange ? next : nullptr, begun);
        switch (step.kind) {
            case StepKind::send: {
                const std::byte* source = buffers.address(step.source_buffer, step.source);
                const Token number = begun++;
                if (is_exchange) {
                    const InOrderStep& receive = *next++;
                    status = transport.exchange_now(
                        {step.peer, step.tag, source, step.units},
                        {receive.peer, receive.tag, buffers.writable(receive.target_buffer, receive.target),
                         receive.units});
                } else if (step.is_before_receive) {
                    status = transport.begin_send(step.peer, step.tag, source, step.units, number);
                } else {
                    status = transport.send_now(step.peer, step.tag, source, step.units);
                }
                break;
            }
            case StepKind::recv:
                status = transport.recv_now(step.peer, step.tag, buffers.writable(step.target_buffer, step.target),
                                            step.units);
                break;
            case StepKind::reduce:
                status = operations.reduce(buffers.address(step.source_buffer, step.source),
                                           buffers.writable(step.target_buffer, step.target), step.units);
                break;
            case StepKind::copy:
                status = operations.copy(buffers.address(step.source_buffer, step.source),
                                         buffers.writable(step.target_buffer, step.target), step.units);
                break;
            case StepKind::collective: break;  // no sequence has one
        }
        if (status != 0) [[unlikely]]
            return status;
        if (is_observed) [[unlikely]]
            observer.end();
    }
    if (over == begun) return 0;
    status = transport.finish_sends(begun);
    if (is_observed) [[unlikely]]
        observer.end_sends(over, begun);
    return status;
}

}  // namespace hcoll
