// SPDX-License-Identifier: BSD-3-Clause
// hcoll-bench --verify: is everything that the library can run right on this machine?
//
//   for every part of the allocation   1, 2, 4, ... nodes with 1, 2, 4, ... ranks of each
//   every call                         Bcast to Allgather, non-blocking ones too
//   every length                       short, not a power of two, pieces of several segments
//   every algorithm of the catalog     with the parameters that a tuner would try there, and shared memory
//   several calls                      first and last root, in place, types with gaps, an operation in the order of ranks
//
// Each result is compared, element by element on all ranks, with what it must be: operands are chosen so that it is exact whatever the order is
// (payload.hpp). The MPI library's own result is not asked for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hcoll::bench {

struct AcceptanceOptions {
    std::vector<std::string> calls;  // as bcast, ibcast, gather; empty: all
    std::vector<std::size_t> sizes;  // empty: of its own
};

// By all ranks. Writes what is wrong as it is found, and one line at the end. The exit status: 0 all right, 1 not, 2 it cannot be run.
int run_acceptance(const AcceptanceOptions& options);

}  // namespace hcoll::bench
