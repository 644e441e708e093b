// SPDX-License-Identifier: BSD-3-Clause
// The calls of one rank that are simulated: the library's, or SimGrid's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/catalog.hpp"
#include "progress/network/vendor.hpp"

namespace hcoll::simulation {

class Calls {
public:
    // By the rank, after MPI_Init. An operation of the program is the sum, unless `predefined_op` (MPI_SUM), whose time SimGrid's own
    // algorithms do not charge.
    Calls(bool is_own, bool predefined_op);

    // Elements of reductions are doubles; floats where a message has half an element.
    int run(Collective collective, const std::byte* send, std::byte* receive, std::uint64_t bytes, int root,
            MPI_Comm communicator) const;
    static bool has_doubles(std::uint64_t bytes) { return bytes % sizeof(double) == 0; }
    MPI_Op op() const { return op_; }

private:
    bool is_own_;
    MPI_Op op_ = MPI_SUM;
};

}  // namespace hcoll::simulation
