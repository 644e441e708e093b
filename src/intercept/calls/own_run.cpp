#include "intercept/calls/own_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "intercept/calls/element_operations.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/process/background.hpp"
#include "intercept/process/scratch_memory.hpp"
#include "intercept/types/datatype.hpp"
#include "intercept/types/reduction_kernel.hpp"
#include "progress/engine/cancellation.hpp"
#include "progress/engine/in_order.hpp"
#include "progress/engine/simulation.hpp"

namespace hcoll {

namespace {

// Elements with gaps, as messages through shared memory carry them.
class ElementPacking : public Packing {
public:
    ElementPacking(MPI_Datatype type, MPI_Comm communicator) : type_(type), communicator_(communicator) {}
    Status pack(const std::byte* elements, std::uint64_t count, std::byte* bytes) override {
        return hcoll::pack(elements, count, type_, bytes, communicator_);
    }
    Status unpack(const std::byte* bytes, std::byte* elements, std::uint64_t count) override {
        return hcoll::unpack(bytes, elements, count, type_, communicator_);
    }

private:
    MPI_Datatype type_;
    MPI_Comm communicator_;
};

#if defined(MPIX_ERR_PROC_FAILED)
constexpr int error_process_failed = MPIX_ERR_PROC_FAILED;
#else
constexpr int error_process_failed = MPI_ERR_OTHER;
#endif
#if defined(MPIX_ERR_REVOKED)
constexpr int error_revoked = MPIX_ERR_REVOKED;
#else
constexpr int error_revoked = MPI_ERR_OTHER;
#endif

// In the words of MPI.
int error_of(const NodeFailure& failure) {
    switch (failure.why) {
        case NodeBreak::lengths: return MPI_ERR_TRUNCATE;
        case NodeBreak::process: return error_process_failed;
        case NodeBreak::revoked: return error_revoked;
        default: return failure.status != MPI_SUCCESS ? failure.status : MPI_ERR_OTHER;
    }
}

int error_of(const OwnAlgorithms& own, Status status) {
    if (status == status_truncated) return MPI_ERR_TRUNCATE;
    if (status == status_broken) return error_of(NodeFailure{own.peers->why_broken(), MPI_SUCCESS});
    return status;
}

// What runs over shared memory: a rank that is gone becomes an error.
template <typename Call>
int guarded_on_node(Communicator& communicator, Call&& call) {
    return guarded(communicator, [&]() -> int {
        try {
            return call();
        } catch (const NodeFailure& failure) {
            communicator.own().is_broken = true;
            return error_of(failure);
        }
    });
}

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

Status run_by_engine(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers, LocalOperations& operations) {
    Status status = own.engine.start(plan, buffers, own.transport, operations);
    while (status == MPI_SUCCESS && !own.engine.done()) {
        if constexpr (is_simulated) own.network.may_wait(!own.engine.has_work());
        status = own.engine.advance();
        if (Background::calls_must_move()) [[unlikely]]
            Background::get().in_flight().drive();
        CancellationAtPoints::here();
    }
    return status;
}

// What is in flight beside it moves only by an engine's looks. In a simulation instructions cost nothing.
bool may_run_in_order(const Plan& plan, std::uint64_t unit_bytes) {
    return !is_simulated && !plan.sequence.empty() && plan.steps_to_last_receive <= most_steps_in_order &&
           plan.longest_message * unit_bytes <= longest_in_order && !Background::calls_must_move();
}

enum class Addresses : std::uint8_t { real, imaginary };

// How one run is carried out: `carry_out` moves its messages, and returns how that went.
template <typename CarryOut>
[[gnu::always_inline]] inline int begin_and_carry_out(OwnAlgorithms& own, ScratchLease& scratch, MPI_Datatype type,
                                                      const Elements& elements, MPI_Op op, CarryOut&& carry_out) {
    const CancellationAtPoints cancellation;
    UnfinishedRun run(own, scratch);
    own.network.begin(type, elements.bytes, op);
    if (own.transport.has_node()) own.transport.begin(elements);
    Status status = carry_out();
    run.end(status);
    if (status == MPI_SUCCESS) status = own.transport.has_node() ? own.transport.outcome() : own.network.outcome();
    return status == MPI_SUCCESS ? status : error_of(own, status);
}

// A plan that may run in order.
[[gnu::always_inline]] inline int run_plan_in_order(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers,
                                                    ScratchLease& scratch, MPI_Datatype type, const Elements& elements,
                                                    MPI_Op op, ElementOperations& operations) {
    return begin_and_carry_out(own, scratch, type, elements, op, [&] {
        return own.transport.has_node() ? run_in_order(plan, buffers, own.transport, operations)
                                        : run_in_order(plan, buffers, own.network, operations);
    });
}

int run_plan(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers, ScratchLease& scratch, MPI_Datatype type,
             const Elements& elements, MPI_Op op, ElementOperations& operations,
             Addresses addresses = Addresses::real) {
    if (addresses == Addresses::real && may_run_in_order(plan, elements.bytes))
        return run_plan_in_order(own, plan, buffers, scratch, type, elements, op, operations);
    return begin_and_carry_out(own, scratch, type, elements, op,
                               [&] { return run_by_engine(own, plan, buffers, operations); });
}

// A plan that could run in order before.
[[gnu::always_inline]] inline int run_plan_again(OwnAlgorithms& own, const Plan& plan, const RunBuffers& buffers,
                                                 ScratchLease& scratch, MPI_Datatype type, const Elements& elements,
                                                 MPI_Op op, ElementOperations& operations) {
    if (Background::calls_must_move()) [[unlikely]]
        return run_plan(own, plan, buffers, scratch, type, elements, op, operations);
    return run_plan_in_order(own, plan, buffers, scratch, type, elements, op, operations);
}

// The bytes of signatures, of which messages inside a node are packed and unpacked as they are carried.
class SignaturePacking : public Packing {
public:
    explicit SignaturePacking(const SignatureBytes& signature) : signature_(signature) {}
    Status pack(const std::byte* elements, std::uint64_t count, std::byte* bytes) override {
        signature_.read(elements, count, bytes);
        return MPI_SUCCESS;
    }
    Status unpack(const std::byte* bytes, std::byte* elements, std::uint64_t count) override {
        signature_.write(bytes, count, elements);
        return MPI_SUCCESS;
    }

private:
    const SignatureBytes& signature_;
};

// A plan whose units are bytes, some of them at the imaginary addresses of `signature`.
int run_plan_of_bytes(OwnAlgorithms& own, const Plan& plan, RunBuffers buffers, ScratchLease& scratch,
                      const SignatureBytes& signature) {
    ElementOperations operations(MPI_BYTE, MPI_OP_NULL, own.duplicate, own.rank, 1, &signature);
    if (signature.is_empty()) return run_plan(own, plan, buffers, scratch, MPI_BYTE, {}, MPI_OP_NULL, operations);
    SignaturePacking packing(signature);
    own.packing.begin(signature);
    const int status = run_plan(own, plan, buffers, scratch, MPI_BYTE, {.packing = &packing}, MPI_OP_NULL, operations,
                                Addresses::imaginary);
    own.packing.end();
    return status;
}

bool has_no_gaps(OwnAlgorithms& own, MPI_Datatype type) {
    if (type == own.contiguous_type) return true;
    if (!is_contiguous(type)) return false;
    if (is_predefined_type(type)) own.contiguous_type = type;
    return true;
}

std::optional<std::byte*> find_signature(OwnAlgorithms& own, const void* elements, std::uint64_t count,
                                         MPI_Datatype type, SignatureBytes::Side side, SignatureBytes& signature) {
    if (has_no_gaps(own, type)) return static_cast<std::byte*>(const_cast<void*>(elements));
    return hcoll::find_signature(elements, count, type, side, signature);
}

// The library's own kernel on elements that lie side by side.
class CombineByKernel : public Combine {
public:
    using Combine::Combine;
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        kernel(left, right, result, elements);
    }
};

// The operation of the vendor on elements that lie side by side.
class CombineByVendor : public Combine {
public:
    CombineByVendor(std::size_t bytes, MPI_Op op, MPI_Datatype type) : Combine(bytes), op_(op), type_(type) {}
    void operator()(const std::byte* left, const std::byte* right, std::byte* result,
                    std::size_t elements) const override {
        // The vendor's result takes the place of the right operand.
        alignas(64) std::array<std::byte, 1024> piece;
        const std::size_t step = piece.size() / element_bytes;
        for (std::size_t first = 0; first < elements; first += step) {
            const std::size_t count = std::min(step, elements - first);
            const std::size_t offset = first * element_bytes;
            std::memcpy(piece.data(), right + offset, count * element_bytes);
            const int status = call_application(
                [&] { return mpi.Reduce_local(left + offset, piece.data(), static_cast<int>(count), type_, op_); });
            if (status != MPI_SUCCESS) status_ = status;
            std::memcpy(result + offset, piece.data(), count * element_bytes);
        }
    }
    int status() const { return status_; }

private:
    MPI_Op op_;
    MPI_Datatype type_;
    mutable int status_ = MPI_SUCCESS;
};

std::size_t single_copy_of(const Decision& decision) {
    return decision.single_copy == 0 ? NodeCollectives::never : decision.single_copy;
}

// Where unit 0 of scratch is: memory for `units` elements, wherever in them the type's data lie.
std::byte* scratch_for(ScratchLease& scratch, std::uint64_t units, const Extent& extent) {
    if (units == 0) return nullptr;
    const std::uint64_t between = (units - 1) * static_cast<std::uint64_t>(extent.extent);
    return scratch.get(between + static_cast<std::uint64_t>(extent.true_extent)) - extent.true_lower_bound;
}

}  // namespace

std::shared_ptr<const Plan> find_plan(PlanCache& plans, Communicator& communicator, const Decision& decision,
                                      const PlanKey& key) {
    return plans.get(key, [&] {
        return decision.algorithm->build({.ranks = communicator.size(),
                                          .rank = communicator.rank(),
                                          .root = key.root,
                                          .units = key.units,
                                          .unit_bytes = key.unit_bytes,
                                          .in_place = key.in_place,
                                          .ordered = key.ordered,
                                          .placement = communicator.own().placement.get()},
                                         decision.parameters);
    });
}

OwnAlgorithms::KnownReduction* find_known_reduction(OwnAlgorithms& own, MPI_Op op, MPI_Datatype type) {
    auto& known = own.known_reductions;
    const auto is_it = [&](const OwnAlgorithms::KnownReduction& each) { return each.op == op && each.type == type; };
    if (!known.empty() && is_it(known.front())) return &known.front();
    if (const auto found = std::find_if(known.begin(), known.end(), is_it); found != known.end()) {
        std::swap(*found, known.front());
        return &known.front();
    }
    if (!is_predefined_op(op) || !is_predefined_type(type)) return nullptr;
    const Kernel kernel = find_kernel(op, type);
    if (known.size() == OwnAlgorithms::most_known_reductions) known.pop_back();
    known.push_back({.op = op,
                     .type = type,
                     .element_bytes = is_contiguous(type) ? static_cast<std::size_t>(type_size(type)) : 0,
                     .kernel = kernel,
                     .is_proven = kernel != nullptr});
    std::swap(known.back(), known.front());
    return &known.front();
}

int report_failure(Communicator& communicator, const NodeFailure& failure) {
    return guarded(communicator, [&] { return error_of(failure); });
}

namespace {

int run_shared_bcast(OwnAlgorithms& own, const Decision& decision, void* buffer, std::uint64_t count, MPI_Datatype type,
                     int root, std::uint64_t length, std::uint64_t room) {
    const std::size_t single_copy_from = single_copy_of(decision);
    const bool is_root = own.rank == root;
    const auto move = [&](std::byte* message, const ScatteredBytes* scattered) {
        if (is_root)
            own.node->bcast(root, message, length, single_copy_from, scattered);
        else
            own.node->take_bcast(root, length, {message, room, scattered}, single_copy_from);
    };
    const int fits = length <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
    if (type == own.contiguous_type) [[likely]] {
        move(static_cast<std::byte*>(buffer), nullptr);
        return fits;
    }
    SignatureBytes signature;
    ScratchLease scratch;
    std::optional<std::byte*> found;
    std::byte* packed = nullptr;
    try {
        found = find_signature(own, buffer, count, type, SignatureBytes::Side::output, signature);
        if (!found.has_value()) packed = scratch.get(room);
    } catch (const std::bad_alloc&) {
        // The others are in the collective, whatever happens here.
        move(nullptr, nullptr);
        return MPI_ERR_NO_MEM;
    }
    if (found.has_value()) {
        move(*found, signature.is_empty() ? nullptr : &signature);
        return fits;
    }
    int status = is_root ? pack(buffer, count, type, packed, own.duplicate) : MPI_SUCCESS;
    move(packed, nullptr);
    const std::uint64_t type_bytes = type_size(type);
    if (!is_root && type_bytes != 0)
        status = unpack(packed, buffer, std::min(length, room) / type_bytes, type, own.duplicate);
    return status == MPI_SUCCESS ? fits : status;
}

}  // namespace

int run_bcast_of_node(Communicator& communicator, void* buffer, std::uint64_t count, MPI_Datatype type, int root,
                      BcastOfNode& call) {
    return guarded_on_node(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        NodeCollectives& node = *own.node;
        const std::uint64_t room = count * type_size(type);
        const bool is_root = own.rank == root;
        call.length = is_root ? room : node.await_bcast(root);
        call.decision = &decide(own.decisions->blocking[static_cast<std::size_t>(Collective::bcast)], call.length);
        call.is_over = call.decision->shared && call.length != 0;
        if (call.is_over) [[likely]]
            return run_shared_bcast(own, *call.decision, buffer, count, type, root, call.length, room);
        if (is_root)
            node.announce_bcast(call.length);
        else
            node.leave_bcast(root, call.length);
        return MPI_SUCCESS;
    });
}

int run_shared_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                         const Reduction& reduction, const OwnAlgorithms::KnownReduction& known) {
    return guarded_on_node(communicator, [&]() -> int {
        ++communicator.own().uses;
        NodeCollectives& node = *communicator.own().node;
        auto* output = static_cast<std::byte*>(reduction.receive_buffer);
        const auto* input =
            reduction.send_buffer == MPI_IN_PLACE ? output : static_cast<const std::byte*>(reduction.send_buffer);
        const auto run = [&](const Combine& combine) {
            if (collective == Collective::allreduce)
                node.allreduce(input, output, reduction.count, combine, single_copy_of(decision));
            else
                node.reduce(reduction.root, input, output, reduction.count, combine, single_copy_of(decision));
        };
        if (known.kernel != nullptr) {
            run(CombineByKernel(known.element_bytes, known.kernel));
            return MPI_SUCCESS;
        }
        const CombineByVendor combine(known.element_bytes, reduction.op, reduction.type);
        run(combine);
        return combine.status();
    });
}

int run_shared_barrier(Communicator& communicator) {
    return guarded_on_node(communicator, [&]() -> int {
        ++communicator.own().uses;
        communicator.own().node->barrier();
        return MPI_SUCCESS;
    });
}

int run_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
              MPI_Datatype type, int root, std::uint64_t length) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const std::uint64_t type_bytes = type_size(type);
        const std::uint64_t room = count * type_bytes;
        const PlanKey key{.collective = Collective::bcast, .root = root, .units = length};
        const auto plan = find_plan(own.plans, communicator, decision, key);
        // Ranks may describe the same bytes by different types: what travels are the bytes of the signature. Where this rank
        // has no room for all of them, the plan runs elsewhere, and it gets what fits.
        ScratchLease scratch;
        SignatureBytes signature;
        std::optional<std::byte*> found;
        if (room >= length) found = find_signature(own, buffer, count, type, SignatureBytes::Side::output, signature);
        if (room == length && is_predefined_type(type) && signature.is_empty() && found.has_value() &&
            may_run_in_order(*plan, 1))
            own.repeated_bcast = {.count = count, .type = type, .root = root, .decision = &decision, .plan = plan};
        const bool is_root = communicator.rank() == root;
        std::byte* message = found.has_value() ? *found : scratch.get(length);
        int status = MPI_SUCCESS;
        if (!found.has_value() && is_root) status = pack(buffer, count, type, message, own.duplicate);
        if (status == MPI_SUCCESS) status = run_plan_of_bytes(own, *plan, {.output = message}, scratch, signature);
        const std::uint64_t received = std::min(length, room);
        if (status == MPI_SUCCESS && !found.has_value() && !is_root && received != 0)
            status = unpack(message, buffer, received / type_bytes, type, own.duplicate);
        return status == MPI_SUCCESS && room < length ? MPI_ERR_TRUNCATE : status;
    });
}

int run_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                  const Reduction& reduction) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const std::uint64_t size = type_size(reduction.type);
        int commutes = 0;
        Extent extent;
        int status = mpi.Op_commutative(reduction.op, &commutes);
        if (status == MPI_SUCCESS) status = get_extent(reduction.type, extent);
        if (status != MPI_SUCCESS) return status;

        const bool in_place = reduction.send_buffer == MPI_IN_PLACE;
        const PlanKey key{.collective = collective,
                          .in_place = in_place,
                          .ordered = commutes == 0,
                          .root = reduction.root,
                          .unit_bytes = size,
                          .units = reduction.count};
        const auto plan = find_plan(own.plans, communicator, decision, key);
        const std::size_t contiguous_bytes = has_no_gaps(own, reduction.type) ? size : 0;
        ElementOperations operations(reduction.type, reduction.op, own.duplicate, own.rank, contiguous_bytes);
        ScratchLease scratch;
        const RunBuffers buffers{.input = in_place ? nullptr : static_cast<const std::byte*>(reduction.send_buffer),
                                 .output = static_cast<std::byte*>(reduction.receive_buffer),
                                 .scratch = scratch_for(scratch, plan->scratch_units(), extent),
                                 .stride = extent.extent};
        // Open MPI 4.1's MPI_Ireduce frees a wrong address where a type's data lie before its origin. Only user operations
        // take such types, and all ranks have the same operation.
        if (own.leaders != MPI_COMM_NULL)
            own.network.avoid_ireduce(Process::vendor_kind() == VendorKind::openmpi && !is_predefined_op(reduction.op));
        ElementPacking packing(reduction.type, own.duplicate);
        const Elements elements{
            .bytes = size, .stride = extent.extent, .packing = contiguous_bytes != 0 ? nullptr : &packing};
        const OwnAlgorithms::KnownReduction* known = find_known_reduction(own, reduction.op, reduction.type);
        if (known != nullptr && known->kernel != nullptr && known->element_bytes != 0 && may_run_in_order(*plan, size))
            own.repeated_reductions[static_cast<std::size_t>(collective)] = {.count = reduction.count,
                                                                             .decision = &decision,
                                                                             .known = *known,
                                                                             .plan = plan,
                                                                             .root = reduction.root,
                                                                             .in_place = in_place};
        return run_plan(own, *plan, buffers, scratch, reduction.type, elements, reduction.op, operations);
    });
}

int repeat_bcast(Communicator& communicator, const OwnAlgorithms::RepeatedBcast& last, void* buffer) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        ScratchLease scratch;
        ElementOperations operations(MPI_BYTE, MPI_OP_NULL, own.duplicate, own.rank, 1);
        return run_plan_again(own, *last.plan, {.output = static_cast<std::byte*>(buffer)}, scratch, MPI_BYTE, {},
                              MPI_OP_NULL, operations);
    });
}

int repeat_reduction(Communicator& communicator, const OwnAlgorithms::RepeatedReduction& last,
                     const Reduction& reduction) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const auto stride = static_cast<MPI_Aint>(last.known.element_bytes);
        ElementOperations operations(own, last.known);
        ScratchLease scratch;
        const Extent extent{.extent = stride, .true_lower_bound = 0, .true_extent = stride};
        const RunBuffers buffers{
            .input = last.in_place ? nullptr : static_cast<const std::byte*>(reduction.send_buffer),
            .output = static_cast<std::byte*>(reduction.receive_buffer),
            .scratch = scratch_for(scratch, last.plan->scratch_units(), extent),
            .stride = stride};
        return run_plan_again(own, *last.plan, buffers, scratch, last.known.type,
                              {.bytes = last.known.element_bytes, .stride = stride}, last.known.op, operations);
    });
}

int run_blocks(Communicator& communicator, const Decision& decision, Collective collective,
               const BlockArguments& blocks) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const int rank = communicator.rank();
        const auto ranks = static_cast<std::uint64_t>(communicator.size());
        const bool is_scatter = collective == Collective::scatter;
        const bool has_all = collective == Collective::allgather || rank == blocks.root;
        const bool in_place = has_all && (is_scatter ? blocks.receive : blocks.send) == MPI_IN_PLACE;
        const bool sends = is_scatter ? has_all : !in_place;
        const bool receives = is_scatter ? !in_place : has_all;
        const std::uint64_t block = sends ? blocks.send_count * type_size(blocks.send_type)
                                          : blocks.receive_count * type_size(blocks.receive_type);
        const PlanKey key{.collective = collective, .in_place = in_place, .root = blocks.root, .units = block};
        const auto plan = own.plans.get(key, [&] {
            return decision.algorithm->build({.ranks = communicator.size(),
                                              .rank = rank,
                                              .root = key.root,
                                              .units = block,
                                              .in_place = in_place,
                                              .placement = own.placement.get()},
                                             decision.parameters);
        });
        // Ranks may describe the same bytes by different types: what travels are the bytes of the signature.
        SignatureBytes signature;
        const std::uint64_t sent = (is_scatter ? ranks : 1) * blocks.send_count;
        const std::uint64_t received = (is_scatter ? 1 : ranks) * blocks.receive_count;
        std::optional<std::byte*> input = nullptr;
        std::optional<std::byte*> output = nullptr;
        if (sends)
            input = find_signature(own, blocks.send, sent, blocks.send_type, SignatureBytes::Side::input, signature);
        if (receives)
            output = find_signature(own, blocks.receive, received, blocks.receive_type, SignatureBytes::Side::output,
                                    signature);
        const bool packs = !input.has_value();
        const bool unpacks = !output.has_value();
        const std::uint64_t packed_bytes = packs ? (is_scatter ? ranks : 1) * block : 0;
        const std::uint64_t unpacked_bytes = unpacks ? (is_scatter ? 1 : ranks) * block : 0;
        ScratchLease scratch;
        std::byte* memory = scratch.get(plan->scratch_units() + packed_bytes + unpacked_bytes);
        std::byte* packed = memory + plan->scratch_units();
        std::byte* unpacked = packed + packed_bytes;
        int status = packs ? pack(blocks.send, sent, blocks.send_type, packed, own.duplicate) : MPI_SUCCESS;
        if (unpacks && in_place && status == MPI_SUCCESS) {
            Extent extent;
            status = get_extent(blocks.receive_type, extent);
            const MPI_Aint own_place = static_cast<MPI_Aint>(blocks.receive_count) * extent.extent * rank;
            if (status == MPI_SUCCESS)
                status = pack(static_cast<const std::byte*>(blocks.receive) + own_place, blocks.receive_count,
                              blocks.receive_type, unpacked + static_cast<std::uint64_t>(rank) * block, own.duplicate);
        }
        if (status == MPI_SUCCESS)
            status = run_plan_of_bytes(
                own, *plan,
                {.input = packs ? packed : *input, .output = unpacks ? unpacked : *output, .scratch = memory}, scratch,
                signature);
        if (status == MPI_SUCCESS && unpacks)
            status = unpack(unpacked, blocks.receive, received, blocks.receive_type, own.duplicate);
        return status;
    });
}

namespace {

// The byte that is sent where nothing has come in yet, and those that come in after it.
RunBuffers barrier_buffers(std::byte* memory) {
    *memory = std::byte{0};
    return {.input = nullptr, .output = memory, .scratch = memory + 1, .stride = 1};
}

}  // namespace

int run_barrier(Communicator& communicator, const Decision& decision) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const auto plan = own.plans.get({.collective = Collective::barrier, .units = 1}, [&] {
            return decision.algorithm->build({.ranks = communicator.size(),
                                              .rank = communicator.rank(),
                                              .units = 1,
                                              .in_place = true,
                                              .placement = own.placement.get()},
                                             decision.parameters);
        });
        const std::uint64_t bytes = 1 + plan->scratch_units();
        if (may_run_in_order(*plan, 1))
            own.repeated_barrier = {
                .decision = &decision, .plan = plan, .memory = std::make_unique<std::byte[]>(bytes)};
        ScratchLease scratch;
        ElementOperations operations(MPI_BYTE, MPI_OP_NULL, own.duplicate, own.rank, 1);
        return run_plan(own, *plan, barrier_buffers(scratch.get(bytes)), scratch, MPI_BYTE, Elements{}, MPI_OP_NULL,
                        operations);
    });
}

int repeat_barrier(Communicator& communicator, const OwnAlgorithms::RepeatedBarrier& last) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        ScratchLease scratch;
        ElementOperations operations(MPI_BYTE, MPI_OP_NULL, own.duplicate, own.rank, 1);
        return run_plan_again(own, *last.plan, barrier_buffers(last.memory.get()), scratch, MPI_BYTE, Elements{},
                              MPI_OP_NULL, operations);
    });
}

}  // namespace hcoll
