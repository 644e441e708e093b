// SPDX-License-Identifier: BSD-3-Clause
// Finds the placement of each communicator: once for all of MPI_COMM_WORLD, from which those of communicators within it follow;
// by gathering it for communicators that reach beyond (sessions, spawned processes, merged inter-communicators). Communicators
// whose ranks sit alike share one: a duplicate has none of its own. Where MPI_COMM_WORLD's is a table of all ranks, the processes
// of a node share that.
//
// In the same step it finds out where this process runs, and the cores that the ranks of this host share.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "intercept/process/gather_places.hpp"
#include "intercept/process/world_ranks.hpp"
#include "progress/network/vendor.hpp"
#include "topology/placement.hpp"
#include "topology/virtual_layout.hpp"

namespace hcoll {

class PlacementFinder {
public:
    // In MPI_Init, once, on all ranks of MPI_COMM_WORLD, which agree on `layout`.
    void start_world(int rank, int size, const VirtualLayout& layout);

    struct Request {
        MPI_Comm communicator;  // its errors return
        int rank;
        int size;
        // nullptr where its ranks are not all known to be within MPI_COMM_WORLD, whose start they have seen.
        const WorldRanks* world_ranks;
        const VirtualLayout& layout;  // agreed upon by its ranks
    };
    // All ranks of the communicator are in the same call, in which they talk on it unless they are within MPI_COMM_WORLD; threads may
    // be in it for different communicators at a time. What cannot be found is taken for one node, on all ranks alike; nullptr where this rank alone failed.
    std::shared_ptr<const Placement> find(const Request& request);
    // How many ranks of MPI_COMM_WORLD share this process's host, 0 where that is not known.
    int ranks_here() const { return ranks_here_; }
    // The cores that they share; without a world, those of this process.
    const HostCores& cores_here() const {
        const Host* host = host_.load(std::memory_order_acquire);
        return host != nullptr ? host->cores : local_cores();
    }

private:
    // Without a message; nullptr where ranks have to be asked.
    std::shared_ptr<const Placement> find_locally(const Request& request);
    Placement gather(MPI_Comm communicator, MPI_Comm node, int rank, int size);
    const Place& place() const {
        const Host* host = host_.load(std::memory_order_acquire);
        return host != nullptr ? host->place : local_place();
    }

    // Complete when MPI_Init returns.
    std::shared_ptr<const Placement> world_;
    // Another thread may be in a call on a session's communicator meanwhile. Never freed.
    std::atomic<const Host*> host_{nullptr};
    std::atomic<int> ranks_here_{0};
    std::atomic<bool> has_warned_{false};
};

}  // namespace hcoll
