// Non-blocking and persistent collectives on the library's own plans. The request is the vendor's own, a generalized one, which completes when
// the plan has run (MPI 4.0, section 13.2): so every call that takes requests takes it.
//
// Any number of them may be under way on a communicator, in the background (background.hpp) and beside a blocking one. Each has
// an engine, memory and messages of its own: tags tell them apart.
#pragma once

#include <atomic>
#include <deque>

#include "intercept/communicator.hpp"
#include "intercept/own_run.hpp"

namespace hcoll {

// Each begins it, and returns an MPI error code, after the application's error handler was told of it. The arguments are valid,
// there is something to move, and every rank runs the same algorithm with the same parameters.
int begin_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
                MPI_Datatype type, int root, MPI_Request* request);
// A predefined operation on a predefined type without gaps: the application's own functions would be called by any thread.
int begin_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                    const Reduction& reduction, MPI_Request* request);

// Persistent ones: the same, for the collective of that number among those of the communicator
// (NonblockingCollectives::begin_persistent). The request can be started again and again; the plan is built once.
int init_bcast(Communicator& communicator, const Decision& decision, int number, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, MPI_Request* request);
int init_reduction(Communicator& communicator, const Decision& decision, int number, Collective collective,
                   const Reduction& reduction, MPI_Request* request);
// Are there any? Then MPI_Start and MPI_Request_free of any request go through these.
bool any_persistent();
int start_persistent(MPI_Request* request);
int free_persistent(MPI_Request* request);

}  // namespace hcoll
