// SPDX-License-Identifier: BSD-3-Clause
// Runs any plan over any transport: completions are events, and an event releases the steps that waited for it. Nothing
// waits for anything else (ADAPT; Luo 2020, chapter 3).
//
// An Engine is the state of one run at a time and keeps its memory for the next. It is not thread-safe: one thread at a
// time drives it. It knows neither MPI nor the clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/plan.hpp"
#include "base/wait_note.hpp"
#include "progress/engine/step_trace.hpp"

namespace hcoll {

// Names one instance of a step (of a plan's step in an open segment) between the engine and the transport.
using Token = std::uint32_t;

// What has gone wrong below, in the words of the transport (an MPI error code); 0 is success.
using Status = int;
// What this library's own transports say, which know no MPI.
inline constexpr Status status_truncated = -1;  // a message was longer than the memory that it was received into
inline constexpr Status status_broken = -2;     // a rank that this one waits for will not come

// Moves messages. Send and recv return at once; the memory they name belongs to the transport until the token has come
// back from progress(). Messages between two ranks with equal tags arrive in the order in which they were sent.
class Transport {
public:
    struct Sent {
        int peer;
        std::uint32_t tag;
        const std::byte* data;
        std::uint64_t units;
    };
    struct Received {
        int peer;
        std::uint32_t tag;
        std::byte* data;
        std::uint64_t units;
    };

    virtual ~Transport() = default;
    virtual Status send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token token) = 0;
    virtual Status recv(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units, Token token) = 0;
    // Begins the MPI library's own collective among the node leaders; source and target are not the same memory. All leaders
    // begin a plan's collectives in the order of `order` (0, 1, ...), whatever the order of the calls here.
    virtual Status collective(Collective which, int root, std::uint64_t order, const std::byte* source,
                              std::byte* target, std::uint64_t units, Token token) = 0;
    // Appends what has completed since the last call. May return with nothing; must not block for ever.
    virtual Status progress(std::vector<Token>& completed) = 0;
    // The same in short plans that are run in order (in_order.hpp). The first two return when the memory may be used again, or has
    // what was sent. Sends that are only begun have numbers, from 0 on; those below `first_left` are over after finish_sends().
    virtual Status send_now(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units);
    virtual Status recv_now(int peer, std::uint32_t tag, std::byte* data, std::uint64_t units);
    virtual Status begin_send(int peer, std::uint32_t tag, const std::byte* data, std::uint64_t units, Token) {
        return send_now(peer, tag, data, units);
    }
    virtual Status finish_sends([[maybe_unused]] Token first_left) { return 0; }
    // A send and a receive at once, over when both are; where the transport has that for such peers.
    virtual bool exchanges_with([[maybe_unused]] int to, [[maybe_unused]] int from) const { return false; }
    virtual Status exchange_now(const Sent& sent, const Received& received);
    // What went wrong in this run and did not stop it, so that others get what this rank forwards: status_truncated. Forgotten
    // when the next run begins.
    virtual Status outcome() const { return 0; }

private:
    Status finish_one();
};

// Works on units in memory.
class LocalOperations {
public:
    virtual ~LocalOperations() = default;
    virtual Status reduce(const std::byte* left, std::byte* right, std::uint64_t units) = 0;  // right = left op right
    virtual Status copy(const std::byte* source, std::byte* target, std::uint64_t units) = 0;
};

// The memory of a run: where each buffer's unit 0 is, and how many bytes lie from one unit to the next (an extent, which
// may be more, or less, than the unit's bytes). Input may be null where the plan does not read it.
struct RunBuffers {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;  // plan.scratch_units() units
    std::ptrdiff_t stride = 1;

    // Where a region is in that segment. Where there is no region, nothing will be looked at.
    const std::byte* address(const Phase& phase, const Region& region, const Segment& segment) const {
        return region.length == 0 ? nullptr : address(region.buffer, phase.region_offset(region, segment));
    }
    std::byte* writable(const Phase& phase, const Region& region, const Segment& segment) const {
        return region.length == 0 ? nullptr : writable(region.buffer, phase.region_offset(region, segment));
    }
    const std::byte* address(Buffer buffer, std::uint64_t unit) const {
        if (buffer == Buffer::input) return input + static_cast<std::ptrdiff_t>(unit) * stride;
        return writable(buffer, unit);
    }
    std::byte* writable(Buffer buffer, std::uint64_t unit) const {
        return (buffer == Buffer::output ? output : scratch) + static_cast<std::ptrdiff_t>(unit) * stride;
    }
};

// What of a split plan is run now: the callers' part (Step::by_caller), the rest, or all. Receives are posted in any case.
enum class Part : std::uint8_t { all, callers, background };

class Engine {
public:
    // Posts what can be posted. Plan, transport and operations must outlive the run.
    Status start(const Plan& plan, const RunBuffers& buffers, Transport& transport, LocalOperations& operations,
                 Part part = Part::all);
    // Handles what has completed, and combines or copies one region at most, so that no message waits for a long row of
    // those; returns without waiting.
    Status advance(Part part = Part::all);
    bool done() const { return open_ == 0; }
    // Is there something to do even if nothing completes?
    bool has_work() const { return next_computation_ < computations_.size(); }
    // Is there a step that only the other part's run holds back?
    bool waits_for_other_part() const { return !other_part_s_.empty(); }
    // How many steps are complete, of all runs so far.
    std::uint64_t events() const { return events_[0] + events_[1]; }
    // The same of the callers' part of plans, or of the rest.
    std::uint64_t events(bool by_caller) const { return events_[by_caller ? 1 : 0]; }
    // A message or a collective that is under way, for people: a receive, where there is one. Looks at all of them.
    WaitNote::Wait waits_for() const;
    // Forgets the run, after an error.
    void abandon();

private:
    struct Slot {
        Segment segment;
        std::uint32_t unfinished = 0;  // steps of this segment that are not complete
    };

    Status run();
    Status drain();
    bool is_in_part(const Step& step) const {
        return part_ == Part::all || step.kind == StepKind::recv || step.by_caller == (part_ == Part::callers);
    }
    void begin_part(Part part);
    Status execute(Token token);
    void begin_phase();
    void open_segments();
    void release(Token token);
    void complete(Token token);
    void trace(const Step& step, const Segment& segment, Token token);
    bool is_complete(std::uint32_t step, std::uint64_t segment) const;

    std::uint32_t slot_of(Token token) const { return token / step_count_; }
    std::uint32_t step_of(Token token) const { return token % step_count_; }
    const Step& step(std::uint32_t index) const { return plan_->steps[phase_->first_step + index]; }
    Token token_of(std::uint32_t step, std::uint64_t segment) const {
        return static_cast<Token>(segment % phase_->window) * step_count_ + step;
    }
    const std::byte* address(const Region& region, const Segment& segment) const {
        return buffers_.address(*phase_, region, segment);
    }
    std::byte* writable(const Region& region, const Segment& segment) const {
        return buffers_.writable(*phase_, region, segment);
    }

    const Plan* plan_ = nullptr;
    const Phase* phase_ = nullptr;
    std::size_t next_phase_ = 0;
    RunBuffers buffers_;
    Transport* transport_ = nullptr;
    LocalOperations* operations_ = nullptr;

    std::uint32_t step_count_ = 0;
    std::uint64_t segments_ = 0;
    std::uint64_t next_segment_ = 0;  // the first that was never open
    std::uint32_t open_ = 0;          // segments that are open and not complete
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> waiting_;  // per token: for how many events this instance still waits
    std::vector<std::uint8_t> finished_;  // per token
    // Instances that nothing holds back any more: what others wait for goes first, in the order of the plan.
    std::vector<Token> communications_;
    std::size_t next_communication_ = 0;
    std::vector<Token> computations_;
    std::size_t next_computation_ = 0;
    Part part_ = Part::all;
    std::vector<Token> other_part_s_;  // nothing else holds them back
    std::vector<Token> completed_;
    StepTrace* trace_ = nullptr;             // of the thread that moves it
    std::vector<StepTrace::Id> traced_ids_;  // per token, where it is traced
    std::array<std::uint64_t, 2> events_{};  // of what is not by the caller, and of what is
};

}  // namespace hcoll
