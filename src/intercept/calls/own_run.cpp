// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/own_run.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "intercept/calls/block_buffers.hpp"
#include "intercept/calls/blocking_plan.hpp"
#include "intercept/calls/call_signature.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/process/errors_return.hpp"

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

// Which pairs MPI does not define, and which of those that it defines without there being a kernel, is the vendor's business. It is asked with no elements, and by itself: no other rank has a
// part in it, so it does not matter when each of them asks.
bool vendor_takes(const Communicator& communicator, MPI_Op op, MPI_Datatype type) {
    // An error of no communicator is told to one of these, in MPI 3 and in MPI 4. A process that has only sessions has neither.
    if (communicator.reach() != Reach::world) return false;
    const ErrorsReturn of_world(MPI_COMM_WORLD);
    const ErrorsReturn of_self(MPI_COMM_SELF);
    std::array<std::byte, 64> left{};
    std::array<std::byte, 64> right{};
    return mpi.Reduce_local(left.data(), right.data(), 0, type, op) == MPI_SUCCESS;
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

OwnAlgorithms::KnownReduction* find_known_reduction(Communicator& communicator, MPI_Op op, MPI_Datatype type) {
    OwnAlgorithms& own = communicator.own();
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
                     .is_taken = (kernel != nullptr && is_defined(op, type)) || vendor_takes(communicator, op, type),
                     .is_exact = is_exact(op, type, own.placement->ranks())});
    std::swap(known.back(), known.front());
    return &known.front();
}

int run_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
              MPI_Datatype type, int root, std::uint64_t length) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const std::uint64_t type_bytes = type_size(type);
        const std::uint64_t room = count * type_bytes;
        const PlanKey key{.collective = Collective::bcast, .root = root, .units = length, .decision = &decision};
        const auto plan = find_plan(own.plans, communicator, decision, key);
        // Ranks may describe the same bytes by different types: what travels are the bytes of the signature. Where this rank
        // has no room for all of them, the plan runs elsewhere, and it gets what fits.
        ScratchLease scratch;
        SignatureBytes signature;
        std::optional<std::byte*> found;
        if (room >= length) found = find_signature(own, buffer, count, type, SignatureBytes::Side::output, signature);
        // Where all ranks are on one node the root's length is announced to them, by whatever type each of them has.
        if (own.node == nullptr && room == length && is_predefined_type(type) && signature.is_empty() &&
            found.has_value() && may_run_in_order(*plan, 1))
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
                          .units = reduction.count,
                          .decision = &decision};
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
        const OwnAlgorithms::KnownReduction* known = find_known_reduction(communicator, reduction.op, reduction.type);
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

int run_blocks(Communicator& communicator, const Decision& decision, Collective collective,
               const BlockArguments& blocks) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const BlockSides sides(blocks, collective, communicator.rank(), communicator.size());
        const PlanKey key{.collective = collective,
                          .in_place = sides.in_place,
                          .root = blocks.root,
                          .units = sides.block,
                          .decision = &decision};
        const auto plan = own.plans.get(key, [&] {
            return decision.algorithm->build({.ranks = communicator.size(),
                                              .rank = communicator.rank(),
                                              .root = key.root,
                                              .units = sides.block,
                                              .in_place = sides.in_place,
                                              .placement = own.placement.get()},
                                             decision.parameters);
        });
        BlockBuffers buffers(own, blocks, sides);
        int status = buffers.take(plan->scratch_units());
        if (status == MPI_SUCCESS)
            status = run_plan_of_bytes(
                own, *plan, {.input = buffers.input(), .output = buffers.output(), .scratch = buffers.scratch()},
                buffers.lease(), buffers.signature());
        return status == MPI_SUCCESS ? buffers.give(sides.block) : status;
    });
}

int run_barrier(Communicator& communicator, const Decision& decision) {
    return guarded(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const auto plan = own.plans.get({.collective = Collective::barrier, .units = 1, .decision = &decision}, [&] {
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

}  // namespace hcoll
