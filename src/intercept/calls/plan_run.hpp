// SPDX-License-Identifier: BSD-3-Clause
// A plan in the background, with all that it runs on: once for a non-blocking collective, again and again for a persistent one.
#pragma once

#include <chrono>
#include <memory>
#include <new>
#include <optional>

#include "base/arithmetic_rules.hpp"
#include "intercept/calls/element_operations.hpp"
#include "intercept/calls/own_run.hpp"
#include "intercept/calls/staged_buffer.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/call_observer.hpp"
#include "intercept/process/scratch_memory.hpp"
#include "intercept/types/datatype.hpp"
#include "intercept/types/packing_transport.hpp"
#include "progress/background/callers_part.hpp"
#include "trace/traced_run.hpp"

namespace hcoll {

// A Bcast whose elements have to be packed whole: the message, and the type until it is unpacked. The application may free its own
// meanwhile.
class PackedMessage {
public:
    PackedMessage() = default;
    PackedMessage(const PackedMessage&) = delete;
    PackedMessage& operator=(const PackedMessage&) = delete;
    ~PackedMessage() {
        if (type_ != MPI_DATATYPE_NULL) mpi.Type_free(&type_);
    }

    int hold(void* elements, std::uint64_t count, MPI_Datatype type) {
        elements_ = elements;
        count_ = count;
        bytes_ = memory_.get(count * type_size(type));
        const int status = mpi.Type_contiguous(1, type, &type_);
        return status != MPI_SUCCESS ? status : mpi.Type_commit(&type_);
    }
    int pack(MPI_Comm communicator) { return hcoll::pack(elements_, count_, type_, bytes_, communicator); }
    int unpack(MPI_Comm communicator) { return hcoll::unpack(bytes_, elements_, count_, type_, communicator); }
    std::byte* bytes() const { return bytes_; }
    void abandon() { memory_.abandon(); }

private:
    void* elements_ = nullptr;
    std::uint64_t count_ = 0;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    std::byte* bytes_ = nullptr;
    ScratchMemory memory_;
};

// A plan with what it runs on, again and again where it is to.
class PlanRun {
public:
    PlanRun(OwnAlgorithms& own, std::shared_ptr<const Plan> plan, MPI_Datatype type, std::size_t unit_bytes, MPI_Op op)
        : own_(own),
          plan_(std::move(plan)),
          network_(own.carriers, own.nonblocking.flow, own.tags, MPI_COMM_NULL),
          packing_(network_),
          operations_(type, op, own.duplicate, own.rank, unit_bytes, &signature_),
          type_(type),
          unit_bytes_(unit_bytes),
          op_(op) {
        buffers_.stride = static_cast<std::ptrdiff_t>(unit_bytes);
        if (plan_->scratch_units() != 0) buffers_.scratch = scratch_.get(plan_->scratch_units() * unit_bytes);
        if (CallObserver* observer = CallObserver::current(); observer != nullptr) trace_ = observer->trace_of_run();
    }

    OwnAlgorithms& own() { return own_; }
    RunBuffers& buffers() { return buffers_; }
    // What imaginary addresses mean; not changed while it runs.
    SignatureBytes& signature() { return signature_; }
    // Of a Bcast whose elements have to be packed whole: by the root before a run, and unpacked by the others after it.
    int hold_elements(void* elements, std::uint64_t count, MPI_Datatype type, bool is_root) {
        packs_ = is_root;
        unpacks_ = !is_root;
        const int status = message_.hold(elements, count, type);
        buffers_.output = message_.bytes();
        return status;
    }
    // What stands for buffers of a device, taken before the buffers are told.
    StagedBuffers& staged() { return staged_; }
    // Before each run, by who begins it.
    int prepare() {
        rules_ = ArithmeticRules::of_this_thread();
        if (has_callers_part()) callers_turn_.begin(*plan_, engine_);
        const int status = staged_.copy_in();
        return status == MPI_SUCCESS && packs_ ? message_.pack(own_.duplicate) : status;
    }
    bool has_callers_part() const { return plan_->callers_part != CallersPart::none; }
    bool is_callers_turn() const noexcept { return callers_turn_.is_on(*plan_, engine_); }
    std::chrono::nanoseconds patience() const { return callers_patience(*plan_, unit_bytes_); }
    // Moves that part of it; `begin(network, type, unit_bytes, op)` says which collective it is. True when it is complete, as
    // `status` says.
    template <typename Begin>
    bool advance(Begin&& begin, Part part, bool& has_moved, int& status) noexcept {
        if (!StepTrace::may_be_any()) [[likely]]
            return move(begin, part, has_moved, status);
        // Whatever call this thread is in, these are no steps of that one.
        const StepTrace::Scope scope(trace_.get());
        if (trace_ != nullptr && !is_started_) trace_->begin_run();
        const bool is_over = move(begin, part, has_moved, status);
        if (trace_ != nullptr && is_over) trace_->end_run();
        return is_over;
    }

private:
    template <typename Begin>
    bool move(Begin&& begin, Part part, bool& has_moved, int& status) noexcept {
        std::optional<UnderRules> under;
        if (op_ != MPI_OP_NULL) under.emplace(rules_);
        const std::uint64_t events = engine_.events();
        try {
            if (is_started_) {
                status = engine_.advance(part);
            } else {
                is_started_ = true;
                packing_.begin(signature_);
                begin(network_, type_, unit_bytes_, op_);
                status = engine_.start(*plan_, buffers_, packing_, operations_, part);
            }
            if (engine_.events() != events) has_moved = true;
            if (status == MPI_SUCCESS && !engine_.done()) return false;
            if (status == MPI_SUCCESS) status = network_.outcome();
            if (status == MPI_SUCCESS && unpacks_) status = message_.unpack(own_.duplicate);
            if (status == MPI_SUCCESS) status = staged_.copy_out();
        } catch (const std::bad_alloc&) {
            status = MPI_ERR_NO_MEM;
        } catch (...) {
            status = MPI_ERR_INTERN;
        }
        if (status != MPI_SUCCESS)
            abandon();
        else
            packing_.end();
        is_started_ = false;
        return true;
    }
    // Messages may still be written to its memory.
    void abandon() {
        if (!engine_.done()) own_.is_broken = true;
        network_.abandon();
        packing_.abandon();
        engine_.abandon();
        scratch_.abandon();
        message_.abandon();
    }

    OwnAlgorithms& own_;
    std::shared_ptr<const Plan> plan_;
    Engine engine_;
    CallersTurn callers_turn_;
    PointToPoint network_;
    SignatureBytes signature_;
    PackingTransport packing_;
    ElementOperations operations_;
    MPI_Datatype type_;
    std::uint64_t unit_bytes_;
    MPI_Op op_;
    ArithmeticRules rules_;  // of who began it
    RunBuffers buffers_;
    ScratchMemory scratch_;
    PackedMessage message_;
    StagedBuffers staged_;
    bool packs_ = false;
    bool unpacks_ = false;
    bool is_started_ = false;
    std::unique_ptr<TracedRun> trace_;  // nullptr: nobody traces
};

// The run of a collective whose arguments are valid; each returns an MPI error code, and may throw std::bad_alloc.
int make_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, std::unique_ptr<PlanRun>& run);
int make_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                   const Reduction& reduction, std::unique_ptr<PlanRun>& run);

// Somebody waits for a request that cannot be completed: `status` of the call that should have says why.
void note_completion(int status);

// Adds it to what is in flight; runs the callers' part of it, where that comes first, and otherwise moves it once.
void send_on_its_way(std::unique_ptr<BackgroundOperation> operation, std::chrono::nanoseconds patience);

}  // namespace hcoll
