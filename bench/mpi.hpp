// SPDX-License-Identifier: BSD-3-Clause
// The MPI header, and the two conventions of this program.
//
// Errors of MPI are fatal inside MPI (MPI_ERRORS_ARE_FATAL, the default), so a return code has nothing left to say; it
// goes through check() nevertheless, so that no code is ignored silently.
//
// Only the calls under test are made by their MPI_ names. Bookkeeping (barriers, maxima, ping-pongs) uses the PMPI_
// names: no interposed library sees it, it is neither measured nor does it count as a call of the application.
#pragma once

#include <mpi.h>

namespace hcoll::bench {

inline void check(int code) {
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, code);
}

struct World {
    int rank = 0;
    int ranks = 1;
};

inline World world() {
    World world;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank));
    check(MPI_Comm_size(MPI_COMM_WORLD, &world.ranks));
    return world;
}

// The highest of the ranks' values, on all ranks: how they agree on an exit status.
inline int agree(int value) {
    int highest = value;
    check(PMPI_Allreduce(&value, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    return highest;
}

}  // namespace hcoll::bench
