// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/calls/run_errors.hpp"

namespace hcoll {

namespace {

#if defined(MPIX_ERR_PROC_FAILED)
constexpr int error_process_failed = MPIX_ERR_PROC_FAILED;
#else
constexpr int error_process_failed = MPI_ERR_OTHER;
#endif
#if defined(MPIX_ERR_REVOKED)
constexpr int error_revoked = MPIX_ERR_REVOKED;
#else
constexpr int error_revoked = MPI_ERR_OTHER;
#endif

}  // namespace

int error_of(const NodeFailure& failure) {
    switch (failure.why) {
        case NodeBreak::lengths: return MPI_ERR_TRUNCATE;
        case NodeBreak::process: return error_process_failed;
        case NodeBreak::revoked: return error_revoked;
        default: return failure.status != MPI_SUCCESS ? failure.status : MPI_ERR_OTHER;
    }
}

int error_of(const OwnAlgorithms& own, Status status) {
    if (status == status_truncated) return MPI_ERR_TRUNCATE;
    if (status == status_broken) return error_of(NodeFailure{own.peers->why_broken(), MPI_SUCCESS});
    return status;
}

}  // namespace hcoll
