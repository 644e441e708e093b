// SPDX-License-Identifier: BSD-3-Clause
// Do all ranks of a communicator make the same call, and run the same (LIBHCOLL_CHECK)?
//
// Before a call each rank tells all others of it, in an Allgather of the MPI library on the very communicator of the application: a duplicate would have to be
// made first, and a rank in a collective that is not interposed on would be waited for in both cases. A blocking call waits for that; for a
// non-blocking or persistent one it goes on in the background, and in the calls that wait.
//
// Where calls differ, rank 0 of the communicator says how, in one sentence. Then it aborts the job, and in a blocking call the others wait for that; or,
// with LIBHCOLL_CHECK=warn, all go on.
#pragma once

#include <string>

#include "intercept/communicator/communicator.hpp"
#include "watch/call_description.hpp"

namespace hcoll {

// What its communicator is called when people are told of it: by its name, or by what it has in common with MPI_COMM_WORLD.
std::string communicator_text(MPI_Comm comm);

// Before call `number` on the communicator. Returns an MPI error code, of the MPI library's own calls. May throw std::bad_alloc.
int compare_calls(Communicator& communicator, const CallDescription& call, std::uint64_t number);
// Of the same call, which is to run `what`.
int compare_decisions(Communicator& communicator, const CallDescription& call, std::uint64_t number, std::string what);

}  // namespace hcoll
