// SPDX-License-Identifier: BSD-3-Clause
// What the caches of the node need at the least, with no algorithm and no MPI at all. Two things, over shared memory:
//
//   exchange of flags   for a call in which every rank depends on every other one: each raises a flag in a line of its own, and
//                       waits until it has seen those of all others
//   copy                for a broadcast of a long message: the root has just written it, and each of the others copies it to
//                       its own buffer out of the root's caches, or wherever the lines are by then
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi.hpp"
#include "operation.hpp"

namespace hcoll::bench {

class NodeBound {
public:
    // Called by all ranks, for messages of up to `most_bytes`. There is none where they do not share memory.
    NodeBound(const World& world, std::size_t most_bytes);
    ~NodeBound();
    NodeBound(const NodeBound&) = delete;
    NodeBound& operator=(const NodeBound&) = delete;

    bool exists() const { return flags_ != nullptr; }
    // Returns when all ranks have called it. Those that wait long sleep: where ranks share cores, they leave at nearly the same
    // time, which they do not after a barrier of an MPI library that spins.
    void meet();
    // Seconds for one of `iterations` in a row, on this rank; the ranks have just met.
    double exchange_seconds(int iterations);
    // The same for the copy alone, without what the root does before; 0 on the root. Overwrites the output buffer.
    double copy_seconds(std::size_t bytes, int root, int iterations, const Buffers& buffers);

private:
    struct Flag;
    template <typename GiveWay>
    void exchange(GiveWay&& give_way);

    World world_;
    MPI_Win window_ = MPI_WIN_NULL;
    Flag* flags_ = nullptr;         // by rank
    std::byte* message_ = nullptr;  // behind them
    std::uint64_t exchanges_ = 0;
};

}  // namespace hcoll::bench
