// SPDX-License-Identifier: BSD-3-Clause
// MPI in this program. Its errors are fatal (MPI_ERRORS_ARE_FATAL), so a return code has nothing left to say. What is measured is called by
// its MPI_ names, all else by PMPI_ names.
#pragma once

#include <mpi.h>

namespace hcoll {

inline void require_mpi(int code) {
    if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace hcoll
