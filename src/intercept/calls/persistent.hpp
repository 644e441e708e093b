// SPDX-License-Identifier: BSD-3-Clause
// Persistent collectives on the library's own plans: the plan is built once, and run whenever the request is started.
//
// The request is one of the vendor's that can be started: a message of no bytes that this rank receives from itself. It is sent
// when the plan has run, so that every call that waits or asks knows. Where the plan has failed, the message is too long.
#pragma once

#include "intercept/calls/own_run.hpp"
#include "intercept/communicator/communicator.hpp"

namespace hcoll {

// Each makes the collective of that number among the persistent ones of the communicator
// (NonblockingCollectives::begin_persistent), and returns an MPI error code, after the application's error handler was told of it.
// As for non-blocking ones, the arguments are valid, and every rank runs the same algorithm with the same parameters.
int init_bcast(Communicator& communicator, const Decision& decision, int number, void* buffer, std::uint64_t count,
               MPI_Datatype type, int root, MPI_Request* request);
int init_reduction(Communicator& communicator, const Decision& decision, int number, Collective collective,
                   const Reduction& reduction, MPI_Request* request);
// Are there any? Then MPI_Start, MPI_Request_free and MPI_Cancel of any request go through these.
bool any_persistent();
int start_persistent(MPI_Request* request);
int free_persistent(MPI_Request* request);
int cancel_persistent(MPI_Request* request);

}  // namespace hcoll
