// SPDX-License-Identifier: BSD-3-Clause
// The same call as the one before, in order: its plan and all that it was found by are known.
#include "intercept/calls/blocking_plan.hpp"
#include "intercept/calls/guarded.hpp"
#include "intercept/calls/own_run.hpp"

namespace hcoll {

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
