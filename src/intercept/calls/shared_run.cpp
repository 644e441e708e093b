// SPDX-License-Identifier: BSD-3-Clause
// Collectives of ranks that are all on one node, over shared memory.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>

#include "intercept/calls/block_buffers.hpp"
#include "intercept/calls/call_signature.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/calls/own_run.hpp"
#include "intercept/calls/run_errors.hpp"
#include "intercept/process/scratch_memory.hpp"

namespace hcoll {

namespace {

static_assert(never_copied_once == NodeCollectives::short_bytes);

int broken_by(const NodeFailure& failure, Communicator& communicator) {
    communicator.own().is_broken = true;
    return error_of(failure);
}

// What runs over shared memory: a rank that is gone becomes an error.
template <typename Call>
int guarded_on_node(Communicator& communicator, Call&& call) {
    return guarded(communicator, [&]() -> int {
        try {
            return call();
        } catch (const NodeFailure& failure) {
            return broken_by(failure, communicator);
        }
    });
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

// Of a message of `length` bytes where there is room for so many.
int status_of(std::uint64_t length, std::uint64_t room) { return length <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE; }

int run_shared_bcast(OwnAlgorithms& own, const BcastOfNode& call, void* buffer, std::uint64_t count, MPI_Datatype type,
                     int root, std::uint64_t room) {
    const std::uint64_t length = call.length;
    const std::size_t single_copy_from = single_copy_of(*call.decision);
    const bool is_root = own.rank == root;
    const auto move = [&](std::byte* message, const ScatteredBytes* scattered) {
        if (is_root)
            own.node->bcast(root, message, length, single_copy_from, scattered);
        else
            own.node->take_bcast(root, length, {message, room, scattered}, single_copy_from);
    };
    const int fits = status_of(length, room);
    if (call.staging != nullptr && !call.staging->begin(buffer, length)) [[unlikely]] {
        // The others are in the collective, whatever happens here.
        move(nullptr, nullptr);
        return MPI_ERR_NO_MEM;
    }
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

// The bytes of a block: `bytes`, but for what the root of a scatter has.
std::uint64_t move_blocks(NodeCollectives& node, Collective collective, int root, const NodeBuffer& own,
                          const NodeBuffer& all, std::uint64_t bytes, std::size_t single_copy_from) {
    if (collective == Collective::scatter) return node.scatter(root, all, own, bytes, single_copy_from);
    if (collective == Collective::gather)
        node.gather(root, own, all, bytes, single_copy_from);
    else
        node.allgather(own, all, bytes, single_copy_from);
    return bytes;
}

}  // namespace

int report_failure(Communicator& communicator, const NodeFailure& failure) {
    return guarded(communicator, [&] { return broken_by(failure, communicator); });
}

int run_bcast_of_node(Communicator& communicator, void* buffer, std::uint64_t count, MPI_Datatype type, int root,
                      BcastOfNode& call) {
    return guarded_on_node(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        NodeCollectives& node = *own.node;
        const std::uint64_t room = count * type_size(type);
        const bool is_root = own.rank == root;
        if (!call.is_announced) {
            ++own.uses;
            call.length = is_root ? room : node.await_length(root);
        }
        call.decision = &decide(own.decisions->blocking[static_cast<std::size_t>(Collective::bcast)], call.length);
        if (call.goes_by && !own.learning.is_as_before(Collective::bcast, call.length, call.decision)) {
            own.learning.take_back(Collective::bcast);
            call.goes_by = false;
        }
        if (!call.goes_by && own.learning.is_on() && call.length != 0) {
            call.turn = own.learning.next(Collective::bcast, call.length, *call.decision);
            call.decision = call.turn.decision;
        }
        call.is_over = call.decision->shared && call.length != 0;
        if (call.is_over) [[likely]]
            return run_shared_bcast(own, call, buffer, count, type, root, room);
        if (is_root)
            node.announce_bcast(call.length);
        else
            node.leave_bcast(call.length);
        return MPI_SUCCESS;
    });
}

int repeat_bcast_line(Communicator& communicator, void* buffer, int root, BcastOfNode& call) {
    return guarded_on_node(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const std::size_t bytes = own.repeated_line.bytes;
        call.length = own.node->bcast_line(root, static_cast<std::byte*>(buffer), bytes);
        call.is_over = call.length == bytes;
        call.goes_by = call.is_announced = !call.is_over;
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

int run_shared_blocks(Communicator& communicator, const Decision& decision, Collective collective,
                      const BlockArguments& blocks) {
    return guarded_on_node(communicator, [&]() -> int {
        OwnAlgorithms& own = communicator.own();
        ++own.uses;
        const BlockSides sides(blocks, collective, own.rank, communicator.size());
        BlockBuffers buffers(own, blocks, sides);
        int status = MPI_ERR_NO_MEM;
        bool has_memory = false;
        // The others are in the collective, whatever happens here.
        try {
            status = buffers.take(0);
            has_memory = true;
        } catch (const std::bad_alloc&) {
        }
        const auto at = [&](std::byte* first, std::uint64_t bytes) {
            const bool is_scattered = SignatureBytes::is_imaginary(first);
            return NodeBuffer(has_memory ? first : nullptr, bytes, is_scattered ? &buffers.signature() : nullptr);
        };
        std::byte* all = sides.is_scatter ? buffers.input() : buffers.output();
        const NodeBuffer whole = sides.has_all ? at(all, sides.ranks * sides.block) : NodeBuffer(nullptr, 0);
        const NodeBuffer own_block = sides.in_place
                                         ? at(all + sides.rank * sides.block, sides.block)
                                         : at(sides.is_scatter ? buffers.output() : buffers.input(), sides.block);
        const std::uint64_t block =
            move_blocks(*own.node, collective, blocks.root, own_block, whole, sides.block, single_copy_of(decision));
        return status == MPI_SUCCESS ? buffers.give(block) : status;
    });
}

int repeat_shared_blocks(Communicator& communicator, Collective collective, const OwnAlgorithms::RepeatedBlocks& last,
                         const void* send, void* receive) {
    return guarded_on_node(communicator, [&]() -> int {
        ++communicator.own().uses;
        const auto at = [](const void* first, std::uint64_t bytes) {
            return NodeBuffer(static_cast<std::byte*>(const_cast<void*>(first)), bytes);
        };
        const bool is_scatter = collective == Collective::scatter;
        const auto ranks = static_cast<std::uint64_t>(communicator.size());
        const std::uint64_t block =
            move_blocks(*communicator.own().node, collective, last.root, at(is_scatter ? receive : send, last.bytes),
                        at(last.has_all ? (is_scatter ? send : receive) : nullptr, ranks * last.bytes), last.bytes,
                        single_copy_of(*last.decision));
        return status_of(block, last.bytes);
    });
}

int run_shared_barrier(Communicator& communicator) {
    return guarded_on_node(communicator, [&]() -> int {
        ++communicator.own().uses;
        communicator.own().node->barrier();
        return MPI_SUCCESS;
    });
}

}  // namespace hcoll
