// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan to its end, for a call that waits: in order where it is short (progress/engine/in_order.hpp), by the engine otherwise.
//
// A part of its callers: a short plan takes no longer than the calls that lie between them and its messages.
#pragma once

#include "intercept/calls/element_operations.hpp"
#include "intercept/calls/run_errors.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/scratch_memory.hpp"
#include "intercept/types/datatype.hpp"
#include "progress/engine/cancellation.hpp"
#include "progress/engine/in_order.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

// Forgets a run that ended before its time, by an error or by an exception of the application's; the ranks that share memory
// with this one learn of the latter.
class UnfinishedRun {
public:
    // `scratch` is what the plan's is taken from, and what else of the library's its messages come from and go to.
    UnfinishedRun(OwnAlgorithms& own, ScratchLease& scratch) : own_(own), scratch_(scratch) {
        scratch_.begin_messages();
    }
    ~UnfinishedRun() {
        if (is_over_) {
            scratch_.end_messages();
            return;
        }
        own_.is_broken = true;
        if (!is_known_ && own_.peers != nullptr && own_.transport.has_node()) own_.peers->give_up(NodeBreak::unwound);
        own_.network.abandon();
        own_.packing.abandon();
        own_.transport.abandon();
        own_.engine.abandon();
    }
    UnfinishedRun(const UnfinishedRun&) = delete;
    UnfinishedRun& operator=(const UnfinishedRun&) = delete;
    void end(Status status) { (status == MPI_SUCCESS ? is_over_ : is_known_) = true; }

private:
    OwnAlgorithms& own_;
    ScratchLease& scratch_;
    bool is_over_ = false;
    bool is_known_ = false;
};

// When what an engine waits for is worth looking up: it looks at all that is under way.
class Idleness {
public:
    // In each look. A look may take a microsecond, or a slice of another program's.
    bool is_worth_a_note(std::uint64_t events) {
        constexpr unsigned int looks_in_vain = 32;
        if (events != events_) looks_ = 0;
        events_ = events;
        return ++looks_ == looks_in_vain;
    }

private:
    std::uint64_t events_ = 0;
    unsigned int looks_ = 0;
};

inline Status run_by_engine(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers,
                            LocalOperations& operations) {
    Status status = own.engine.start(plan, buffers, own.transport, operations);
    WaitNote* note = WaitNote::current();
    Idleness idleness;
    while (status == MPI_SUCCESS && !own.engine.done()) {
        if constexpr (is_simulated) own.network.may_wait(!own.engine.has_work());
        status = own.engine.advance();
        if (Background::calls_must_move()) [[unlikely]]
            Background::get().in_flight().drive();
        CancellationAtPoints::here();
        if (note != nullptr && idleness.is_worth_a_note(own.engine.events())) [[unlikely]]
            note->set(own.engine.waits_for());
    }
    return status;
}

// This rank's part is over, but for messages whose receivers are to come to them.
[[gnu::noinline]] inline Status finish_copies(OwnAlgorithms& own, bool needs_points) {
    if (WaitNote* note = WaitNote::current(); note != nullptr) note->clear();
    if (!needs_points && !Background::calls_must_move()) return own.network.finish_copies();
    Status status = MPI_SUCCESS;
    for (bool are_over = false; status == MPI_SUCCESS && !are_over;) {
        status = own.network.ask_for_copies(are_over);
        if (!are_over) Background::get().help();
        CancellationAtPoints::here();
    }
    return status;
}

// What is in flight beside it moves only by an engine's looks. In a simulation instructions cost nothing.
inline bool may_run_in_order(const Plan& plan, std::uint64_t unit_bytes) {
    return !is_simulated && !plan.sequence.empty() && plan.steps_to_last_receive <= most_steps_in_order &&
           plan.longest_message * unit_bytes <= longest_in_order && !Background::calls_must_move();
}

enum class Addresses : std::uint8_t { real, imaginary };

// How one run is carried out: `carry_out` moves its messages, and returns how that went. It is told whether the thread would let itself be
// cancelled anywhere: then it has to come to points at which it is.
template <typename CarryOut>
[[gnu::always_inline]] inline int begin_and_carry_out(OwnAlgorithms& own, ScratchLease& scratch, MPI_Datatype type,
                                                      const Elements& elements, MPI_Op op, CarryOut&& carry_out) {
    const CancellationAtPoints cancellation;
    UnfinishedRun run(own, scratch);
    own.network.begin(type, elements.bytes, op);
    if (own.transport.has_node()) own.transport.begin(elements);
    Status status = carry_out(cancellation.was_anywhere());
    if (status == MPI_SUCCESS && own.network.has_copies()) [[unlikely]]
        status = finish_copies(own, cancellation.was_anywhere());
    run.end(status);
    if (status == MPI_SUCCESS) status = own.transport.has_node() ? own.transport.outcome() : own.network.outcome();
    return status == MPI_SUCCESS ? status : error_of(own, status);
}

// A plan that may run in order.
[[gnu::always_inline]] inline int run_plan_in_order(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers,
                                                    ScratchLease& scratch, MPI_Datatype type, const Elements& elements,
                                                    MPI_Op op, ElementOperations& operations) {
    return begin_and_carry_out(own, scratch, type, elements, op, [&](bool needs_points) {
        // The MPI library's calls that wait have none.
        if (needs_points) [[unlikely]]
            return run_by_engine(own, plan, buffers, operations);
        return own.transport.has_node() ? run_in_order(plan, buffers, own.transport, operations)
                                        : run_in_order(plan, buffers, own.network, operations);
    });
}

inline int run_plan(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers, ScratchLease& scratch,
                    MPI_Datatype type, const Elements& elements, MPI_Op op, ElementOperations& operations,
                    Addresses addresses = Addresses::real) {
    if (addresses == Addresses::real && may_run_in_order(plan, elements.bytes))
        return run_plan_in_order(own, plan, buffers, scratch, type, elements, op, operations);
    return begin_and_carry_out(own, scratch, type, elements, op,
                               [&](bool) { return run_by_engine(own, plan, buffers, operations); });
}

// A plan that could run in order before.
[[gnu::always_inline]] inline int run_plan_again(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers,
                                                 ScratchLease& scratch, MPI_Datatype type, const Elements& elements,
                                                 MPI_Op op, ElementOperations& operations) {
    if (Background::calls_must_move()) [[unlikely]]
        return run_plan(own, plan, buffers, scratch, type, elements, op, operations);
    return run_plan_in_order(own, plan, buffers, scratch, type, elements, op, operations);
}

// Where unit 0 of scratch is: memory for `units` elements, wherever in them the type's data lie.
inline std::byte* scratch_for(ScratchLease& scratch, std::uint64_t units, const Extent& extent) {
    if (units == 0) return nullptr;
    const std::uint64_t between = (units - 1) * static_cast<std::uint64_t>(extent.extent);
    std::byte* first = scratch.get(between + static_cast<std::uint64_t>(extent.true_extent));
    // Of absolute addresses it wraps around.
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(first) -
                                        static_cast<std::uintptr_t>(extent.true_lower_bound));
}

// The byte that is sent where nothing has come in yet, and those that come in after it.
inline RunBuffers barrier_buffers(std::byte* memory) {
    *memory = std::byte{0};
    return {.input = nullptr, .output = memory, .scratch = memory + 1, .stride = 1};
}

}  // namespace hcoll
