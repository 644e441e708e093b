// SPDX-License-Identifier: BSD-3-Clause
// A clock that the ranks of a communicator have in common, as far as their messages can tell (Hunold and Carpen-Amarie, Cluster 2018: HCA).
//
// The ranks of a node read one clock. The nodes' leaders compare theirs along a binomial tree, whose root's clock is the common one: a leader
// that knows the common time answers ten times, and of what the other one sees the answer that came back soonest counts.
//
//   leaders   0 1 2 3 4 5 6 7      4 asks 0, then 2 asks 0 and 6 asks 4, then 1, 3, 5, 7 ask 0, 2, 4, 6
//
// ceil(log2 nodes) steps of ten messages there and back. Clocks drift apart, by some microseconds in a second: from the second comparison on
// the drift between the last two is gone on with.
#pragma once

#include <cstdint>

#include "progress/network/vendor.hpp"
#include "topology/placement.hpp"

namespace hcoll {

class CommonClock {
public:
    // In nanoseconds, of no particular beginning.
    std::uint64_t now() const {
        const std::uint64_t raw = raw_now();
        if (offset_ == 0 && drift_ == 0) [[likely]]
            return raw;
        return raw + static_cast<std::uint64_t>(offset_) +
               static_cast<std::uint64_t>(static_cast<std::int64_t>(drift_ * static_cast<double>(raw - compared_at_)));
    }

    // By all ranks of `communicator`, which sit as `placement` says, by messages with `tag`: no other one with it may be under way there. Returns an MPI error
    // code; the clock is as it was, then.
    int compare(MPI_Comm communicator, int tag, const Placement& placement, int rank);
    // Was it compared so long ago that it should be again?
    bool is_old() const;

    // Of this process alone.
    static std::uint64_t raw_now();

private:
    std::int64_t offset_ = 0;  // of the common clock to this node's, when they were compared
    std::uint64_t compared_at_ = 0;
    double drift_ = 0;  // nanoseconds per nanosecond since
    bool is_compared_ = false;
};

}  // namespace hcoll
