// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking collectives on the library's own plans. The request is the vendor's own, a generalized one, which completes when
// the plan has run (MPI 4.0, section 13.2): so every call that takes requests takes it.
//
// Any number of them may be under way on a communicator, in the background (background.hpp) and beside a blocking one. Each has
// an engine, memory and messages of its own: tags tell them apart.
#pragma once

#include "intercept/calls/own_run.hpp"
#include "intercept/communicator/communicator.hpp"

namespace hcoll {

// Each begins it, and returns an MPI error code, after the application's error handler was told of it. The arguments are valid,
// there is something to move, and every rank runs the same algorithm with the same parameters.
int begin_bcast(Communicator& communicator, const Decision& decision, void* buffer, std::uint64_t count,
                MPI_Datatype type, int root, MPI_Request* request);
// A predefined operation on a predefined type without gaps: the application's own functions would be called by any thread.
int begin_reduction(Communicator& communicator, const Decision& decision, Collective collective,
                    const Reduction& reduction, MPI_Request* request);

}  // namespace hcoll
