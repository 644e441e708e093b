// SPDX-License-Identifier: BSD-3-Clause
#include "intercept/process/same_host.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "base/hash.hpp"
#include "base/running_system.hpp"
#include "intercept/process/together.hpp"
#include "progress/node/shared_segment.hpp"

namespace hcoll {

namespace {

// The same for processes of one host and of no two; 0 where the system does not tell.
std::uint64_t host_of_process() {
    const std::string system = running_system({"ipc", "net", "pid", "user", "uts"});
    return system.empty() ? 0 : fnv1a(system);
}

int size_of(MPI_Comm communicator) {
    int size = 0;
    return mpi.Comm_size(communicator, &size) == MPI_SUCCESS ? size : 0;
}

// Do all ranks have the same number?
bool is_common(std::uint64_t mine, MPI_Comm communicator) {
    const std::array<std::uint64_t, 2> both = {mine, ~mine};
    std::array<std::uint64_t, 2> any{};
    return mpi.Allreduce(both.data(), any.data(), 2, MPI_UINT64_T, MPI_BOR, communicator) == MPI_SUCCESS &&
           (any[0] & any[1]) == 0;
}

// May all ranks open memory that the first has made? The same on all.
bool can_share_memory(MPI_Comm communicator) {
    int rank = 0;
    SharedSegment segment;
    SegmentAddress address;
    int problem = mpi.Comm_rank(communicator, &rank);
    if (rank == 0 && problem == 0) problem = segment.create(SharedSegment::reserved);
    if (rank == 0 && problem == 0) address = segment.address();
    constexpr int numbers = sizeof address / sizeof(std::uint64_t);
    if (mpi.Bcast(&address, numbers, MPI_UINT64_T, 0, communicator) != MPI_SUCCESS || address.bytes == 0) problem = EIO;
    if (rank != 0 && problem == 0) problem = segment.open(address);
    // The first one's is there until all have looked.
    return !is_true_anywhere(problem != 0, communicator);
}

}  // namespace

MPI_Comm join_ranks_of_host(MPI_Comm communicator, MPI_Comm node) {
    const int node_size = size_of(node);
    if (!is_true_anywhere(node_size < size_of(communicator), communicator)) return node;

    std::uint64_t mine = 0;
    (void)has_memory_for([&] { mine = host_of_process(); });
    int rank = 0;
    const bool is_known = mpi.Comm_rank(communicator, &rank) == MPI_SUCCESS && mine != 0;
    // Another host may have the same color, but not the same number.
    constexpr std::uint64_t colors = 0x7fffffff;
    const int color = is_known ? static_cast<int>(mine & colors) : MPI_UNDEFINED;
    MPI_Comm host = MPI_COMM_NULL;
    const bool failed = mpi.Comm_split(communicator, color, rank, &host) != MPI_SUCCESS;
    if (is_true_anywhere(failed, communicator))
        return node;  // where some rank has none, freeing it could wait for ever

    // A node of the MPI library is a part of the host as a whole, or not at all: so first all of its ranks agree, then all of the host's.
    const bool has_host = host != MPI_COMM_NULL && is_common(mine, host);
    bool is_refused = is_true_anywhere(!has_host, node) || !is_common(mine, node);
    if (host == MPI_COMM_NULL) return node;
    is_refused = is_true_anywhere(is_refused, host);
    if (is_refused || !is_true_anywhere(node_size < size_of(host), host) || !can_share_memory(host)) {
        mpi.Comm_free(&host);
        return node;
    }
    mpi.Comm_free(&node);
    return host;
}

}  // namespace hcoll
