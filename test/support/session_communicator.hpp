// SPDX-License-Identifier: BSD-3-Clause
// A communicator of a session; only where MPI has sessions (mpi_features.hpp).
#pragma once

#include "communicator_set.hpp"
#include "mpi_library.hpp"

namespace hcoll::test {

// MPICH 4.0 crashes in MPI_Session_init when an earlier session was the last one.
inline bool mpi_breaks_when_started_again() { return is_mpich_of("4.0"); }

// Of the processes of `set`, a process set of the session. Messages of the test tell the caller by its rank there.
inline NamedCommunicator communicator_of(MPI_Session session, const char* set) {
    MPI_Group group = MPI_GROUP_NULL;
    NamedCommunicator made{"a communicator of a session", MPI_COMM_NULL, 0, 0};
    check(MPI_Group_from_session_pset(session, set, &group));
    check(MPI_Comm_create_from_group(group, "hcoll-test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made.comm));
    check(MPI_Group_free(&group));
    check(MPI_Comm_rank(made.comm, &made.rank));
    check(MPI_Comm_size(made.comm, &made.size));
    failure_context().rank = made.rank;
    return made;
}

}  // namespace hcoll::test
