// SPDX-License-Identifier: BSD-3-Clause
// The report's split of blocking collectives into waiting for late ranks and algorithm (LIBHCOLL_REPORT; trace/late_ranks.hpp).
//
// Each rank notes when it comes to its calls and goes. In MPI_Finalize rank 0 tells which calls it has noted, and all ranks put together, with reductions over those, when the root and the last rank
// had come, how long all of them waited, and for whom: O(calls noted) bytes, whatever the number of ranks. So it is about communicators that rank 0 of
// MPI_COMM_WORLD is in.
#pragma once

#include "trace/arrivals.hpp"

namespace hcoll {

// In MPI_Init, on all ranks: false on all where one has no memory for it.
bool start_late_report();
// nullptr where nobody wants them.
Arrivals* arrivals();
// In MPI_Finalize, on all ranks where start_late_report() has said true: the process's report learns of it.
void finish_late_report();

}  // namespace hcoll
