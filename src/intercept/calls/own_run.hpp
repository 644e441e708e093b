// SPDX-License-Identifier: BSD-3-Clause
// Runs one collective on the library's own plans.
#pragma once

#include "intercept/communicator/communicator.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll {

// A reduction's arguments as the application gave them; `root` is meaningless for Allreduce.
struct Reduction {
    const void* send_buffer;
    void* receive_buffer;
    std::uint64_t count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
};

// The arguments of Gather, Scatter or Allgather as the application gave them; `root` is meaningless for Allgather.
struct BlockArguments {
    const void* send;
    std::uint64_t send_count;
    MPI_Datatype send_type;
    void* receive;
    std::uint64_t receive_count;
    MPI_Datatype receive_type;
    int root;
};

// The plan of a call, kept in `plans` for the next one like it.
std::shared_ptr<const Plan> find_plan(PlanCache& plans, Communicator& communicator, const Decision& decision,
                                      const PlanKey& key);

// What is known of a predefined operation on a predefined type; nullptr for others.
OwnAlgorithms::KnownReduction* find_known_reduction(Communicator& communicator, MPI_Op op, MPI_Datatype type);

// Each returns an MPI error code, after the application's error handler was told of it. The arguments are valid, there
// is something to move (but for a barrier), and every rank runs the same algorithm with the same parameters.
// `length` is that of the root's message, or where nobody has announced it, of this rank's own.
int run_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
              MPI_Datatype type, int root, std::uint64_t length);
int run_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                  const Reduction& reduction);
int run_barrier(Communicator& communicator, const Decision& decision);
// The same calls once more, on other buffers, in order (OwnAlgorithms::RepeatedBcast, RepeatedReduction with a plan, RepeatedBarrier).
int repeat_bcast(Communicator& communicator, const OwnAlgorithms::RepeatedBcast& last, void* buffer);
int repeat_reduction(Communicator& communicator, const OwnAlgorithms::RepeatedReduction& last,
                     const Reduction& reduction);
int repeat_barrier(Communicator& communicator, const OwnAlgorithms::RepeatedBarrier& last);
// At most 2 GiB - 1 of all blocks together.
int run_blocks(Communicator& communicator, const Decision& decision, Collective collective,
               const BlockArguments& blocks);

// A Bcast of ranks that are all on one node has the length that its root announces; the others wait for that before they
// decide. Runs it over shared memory where that is what is decided. Otherwise it is left to the caller, with a `decision`.
struct BcastOfNode {
    // What is to stand for the buffer, once it is known that the call runs here.
    class Staging {
    public:
        // Puts it in the place of `buffer`, for a message of so many bytes; false where there is no memory for it.
        virtual bool begin(void*& buffer, std::uint64_t length) = 0;

    protected:
        ~Staging() = default;
    };
    Staging* staging = nullptr;  // nullptr where the buffer may do
    std::uint64_t length = 0;
    bool is_announced = false;  // so long: it was waited for, and the call was counted
    const Decision* decision = nullptr;
    bool goes_by = false;  // it is like the one before, unless its length is another
    Learning::Turn turn;   // where something is learned
    bool is_over = false;
};
int run_bcast_of_node(Communicator& communicator, void* buffer, std::uint64_t count, MPI_Datatype type, int root,
                      BcastOfNode& call);
// The same as the one before (OwnAlgorithms::RepeatedLine). Where the root's is of another length, the call is not over, and goes on by run_bcast_of_node.
int repeat_bcast_line(Communicator& communicator, void* buffer, int root, BcastOfNode& call);
// Tells the application's handler why its communicator no longer works; returns an MPI error code.
int report_failure(Communicator& communicator, const NodeFailure& failure);

// The same over shared memory; a reduction that is known and whose elements have no gaps.
int run_shared_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                         const Reduction& reduction, const OwnAlgorithms::KnownReduction& known);
int run_shared_blocks(Communicator& communicator, const Decision& decision, Collective collective,
                      const BlockArguments& blocks);
// The same once more, on other buffers.
int repeat_shared_blocks(Communicator& communicator, Collective collective, const OwnAlgorithms::RepeatedBlocks& last,
                         const void* send, void* receive);
int run_shared_barrier(Communicator& communicator);

}  // namespace hcoll
